"""Builds the requests of built-in gates, as the repository configured them."""

from collections.abc import Sequence

from domain.config.configuration import Configuration
from domain.config.gates import GateSettings
from domain.config.values import parse_duration
from domain.gates import STANDARD_GATES, GateRequest, Option
from domain.money import NO_EXTENSION, BudgetExtension
from domain.runs.run import Phase
from domain.verdicts import Reason

_NOTE = "the run continues; your words are kept with the decision"
_STRICTER = ("write", "maintain", "admin")


def build_request(
    name: str,
    phase: Phase,
    subject: str,
    prompt: str,
    reasons: Sequence[Reason],
    configuration: Configuration,
    *,
    role: str | None = None,
    options: Sequence[Option] = (),
    grants: BudgetExtension = NO_EXTENSION,
    shows: str = "",
    has_follower: bool = True,
) -> GateRequest:
    """Builds the request of a built-in gate, as the repository configured it.

    :param role: a higher role than usual.
    :param options: the possible answers; approve and reject with their usual meaning by default.
    :param shows, has_follower: see :class:`GateRequest`.
    """
    standard, configured = STANDARD_GATES[name], configuration.gates.get(name, GateSettings())
    timeout = standard.timeout if configured.timeout is None else parse_duration(configured.timeout)
    return GateRequest(
        name=name,
        phase=phase,
        subject=subject,
        prompt=prompt,
        reasons=tuple(reasons),
        role=strictest_role(standard.role, role, configured.role),
        not_author=standard.not_author,
        not_requester=standard.not_requester,
        seconds=timeout.total_seconds(),
        options=tuple(options) or default_options(name, has_follower=has_follower),
        escalate=configured.escalate,
        grants=grants,
        shows=shows,
        has_follower=has_follower,
    )


def default_options(
    name: str, rejected: str = "the run ends, and the check fails", *, has_follower: bool = True
) -> tuple[Option, ...]:
    """The answers to every gate.

    :param rejected: what a rejection does; :param has_follower: see :class:`GateRequest`.
    """
    conditions = "the run continues and keeps to the conditions" if has_follower else _NOTE
    words = "conditions" if has_follower else "note"
    return (
        Option(command=f"/forge approve {name}", effect="the run continues"),
        Option(command=f"/forge approve {name} with: {words}", effect=conditions),
        Option(command=f"/forge reject {name} reason", effect=rejected),
        Option(command=f"/forge delegate {name} @account", effect="asks someone else with permission to decide"),
    )


def strictest_role(*roles: str | None) -> str:
    """The highest of these roles."""
    return max((role for role in roles if role is not None), key=_STRICTER.index)
