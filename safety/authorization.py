"""Decides whether somebody may do what they ask, by command, button or page, from facts of this moment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from domain.gates import STANDARD_GATES
from domain.slash.commands import Deploy, Level, Rollback, SlashCommand
from domain.slash.verbs import VERBS, Verb

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""The roles of a repository, each including the ones before."""


class RefusalCode(StrEnum):
    """Why somebody may not do what they ask."""

    app = "app"  # Apps never command
    edited = "edited"  # edited text never commands
    role = "role"  # their role is too low
    author = "author"  # the author of a change does not judge it
    requester = "requester"  # the person who asked for something does not approve it


class CommandRefusal(BaseModel):
    """A refusal.

    :param needed: the role they would need; ``held`` is the one they have now.
    :param fork: the head comes from a fork, which needs a higher role.
    """

    model_config = ConfigDict(frozen=True)

    code: RefusalCode
    verb: Verb
    needed: str
    held: str
    fork: bool = False


@dataclass(frozen=True)
class GateRule:
    """Who decides a gate: the least role, and whether who wrote the change or asked for it is left out."""

    role: str
    not_author: bool = False
    not_requester: bool = False


GATES: Mapping[str, GateRule] = {
    name: GateRule(standard.role, standard.not_author, standard.not_requester)
    for name, standard in STANDARD_GATES.items()
}
"""docs/contract.md, gates. A critical change asks for ``maintain`` at ``human_review``."""

STRICTEST = GateRule("maintain", not_author=True, not_requester=True)
"""What holds for a gate nobody described."""


@dataclass(frozen=True)
class Push:
    """A person pushed a head to a pull request; ``at`` as GitHub says."""

    head_sha: str
    by_id: int
    at: datetime


@dataclass(frozen=True)
class HeadApproval:
    """Somebody approved a head at a gate that is not for its author."""

    head_sha: str
    by_id: int


@dataclass(frozen=True)
class Authorship:
    """Who wrote a pull request.

    :param pushes: oldest first. What Forge pushed is nobody's.
    """

    opener: int
    pushes: tuple[Push, ...] = ()
    accepted: tuple[HeadApproval, ...] = ()

    def includes(self, account: int) -> bool:
        """Whether an account wrote part of what nobody else has accepted yet: it opened it, or pushed since then."""
        if account == self.opener:
            return True
        heads = {one.head_sha for one in self.accepted if one.by_id != account}
        seen = max((push.at for push in self.pushes if push.head_sha in heads), default=None)
        mine = [push for push in self.pushes if push.by_id == account and push.head_sha not in heads]
        return any(seen is None or push.at >= seen for push in mine)

    def leaves_nobody_but(self, account: int, others: Collection[int]) -> bool:
        """Whether only this account is left to decide: nobody else has the role, or all who have it wrote it, too.

        Of several who wrote it and have the role, whoever pushed last is not left: the others can look at that.

        :param others: who else has the role.
        """
        if any(not self.includes(other) for other in others):
            return False
        may = {account, *others}
        last = next((push.by_id for push in reversed(self.pushes) if push.by_id in may), self.opener)
        return not others or account != last


@dataclass(frozen=True)
class AuthorizationFacts:
    """What is known about who asks, and about what.

    :param role: the live role GitHub gave a moment ago.
    :param is_app: the sender is an App, or an App wrote in their name.
    :param is_edited: the text was edited after it was written.
    :param is_author: they opened the pull request, or pushed to it what nobody else has accepted.
    :param is_requester: they asked for what the gate is about.
    :param needs_ok: the head comes from a fork, and nobody with write permission has let this head be run yet.
    :param is_production: the environment it is about is production.
    :param is_alone: nobody else is left with the role; then nobody is left out for being author or requester.
    """

    role: str
    is_app: bool = False
    is_edited: bool = False
    is_author: bool = False
    is_requester: bool = False
    needs_ok: bool = False
    is_production: bool = True
    is_alone: bool = False


def authorise(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule = STRICTEST) -> CommandRefusal | None:
    """Why they may not; None if they may.

    A button and a page ask for the command that says the same.

    :param gate: the gate a decision is about.
    """
    rule = _find_rule(asked, facts, gate)
    code = _find_refusal(facts, rule)
    if code is None:
        return None
    is_fork = bool(VERBS[asked.verb].role.on_fork) and facts.needs_ok and code is RefusalCode.role
    return CommandRefusal(code=code, verb=asked.verb, needed=rule.role, held=facts.role, fork=is_fork)


def is_waived(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule = STRICTEST) -> bool:
    """Whether they may only because nobody else has the role; the audit says so."""
    rule = _find_rule(asked, facts, gate)
    return facts.is_alone and ((rule.not_author and facts.is_author) or (rule.not_requester and facts.is_requester))


def refuse_role(role: str, minimum: str) -> str | None:
    """Why someone with this role may not do what needs the minimum; None if they may.

    A role this list does not know counts as none.
    """
    if role in ROLES and ROLES.index(role) >= ROLES.index(minimum):
        return None
    return f"refused: it needs the role {minimum}, the sender has {role}"


def _find_refusal(facts: AuthorizationFacts, rule: GateRule) -> RefusalCode | None:
    if facts.is_app:
        return RefusalCode.app
    if facts.is_edited:
        return RefusalCode.edited
    if refuse_role(facts.role, rule.role) is not None:
        return RefusalCode.role
    if rule.not_author and facts.is_author and not facts.is_alone:
        return RefusalCode.author
    if rule.not_requester and facts.is_requester and not facts.is_alone:
        return RefusalCode.requester
    return None


def _find_rule(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule) -> GateRule:
    """Apply the verb's row (docs/contract.md, roles) to what is asked."""
    needed = VERBS[asked.verb].role
    if needed.is_gates:
        return gate
    if isinstance(asked, Level) and asked.level is not None:
        return GateRule(needed.to_set)
    if isinstance(asked, Deploy | Rollback) and facts.is_production and asked.environment is not None:
        return GateRule(needed.in_production)
    if needed.on_fork and facts.needs_ok:
        return GateRule(needed.on_fork)
    return GateRule(needed.least, not_author=needed.not_author)
