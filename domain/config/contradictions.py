"""Finds values of a configuration that contradict each other or have no effect."""

from collections.abc import Collection, Iterator, Mapping

from pydantic import JsonValue

from domain.config.configuration import Configuration
from domain.config.deploy import find_deploy_mistakes
from domain.config.gates import find_gate_mistakes
from domain.config.limits import ErrorRateBreaker
from domain.config.mistakes import Contradiction
from domain.config.notify import find_notify_mistakes, find_unheard_targets
from domain.config.review import Linter


def find_contradictions(configuration: Configuration) -> Iterator[Contradiction]:
    """Finds contradictions between valid values."""
    for name, gate in configuration.gates.items():
        yield from find_gate_mistakes(name, gate)
    yield from _check_linters(configuration.review.linters)
    yield from _check_error_rate(configuration.breakers.error_rate)
    yield from find_deploy_mistakes(configuration.deploy)
    yield from find_notify_mistakes(configuration.notify)


_NO_MODEL = "a deployment asks no model"
_IDLE: Mapping[tuple[str, ...], str] = {
    ("budgets", "phase", "deployment"): _NO_MODEL,
    ("breakers", "iteration", "deployment"): _NO_MODEL,
}
"""Keys that this version validates but does not use."""


def find_idle_keys(values: Mapping[str, JsonValue], targets: Collection[str] | None = None) -> Iterator[Contradiction]:
    """Finds valid keys without effect in this version of Forge, or as its operator set it up.

    :param values: the file's own values.
    :param targets: of notices that the operator allows the repository; None: not known.
    """
    for path, why in _IDLE.items():
        if _get_value(values, path) is not None:
            yield Contradiction(path, f"has no effect in this version of Forge: {why}", "")
    yield from _find_missing_agent(values)
    yield from find_unheard_targets(values, targets)


_OWN_COMMANDS = [("commands", name) for name in ("setup", "test", "lint", "typecheck", "build")]


def _find_missing_agent(values: Mapping[str, JsonValue]) -> Iterator[Contradiction]:
    """A mode without an agent or a command for it, and such an agent without the mode."""
    is_interactive = _get_value(values, ("execution", "mode")) == "interactive"
    has_agent = _get_value(values, ("agents", "implementer", "command")) is not None
    named = [_get_value(values, path) for path in (("execution", "commands"), *_OWN_COMMANDS)]
    if is_interactive and not has_agent and not any(named):
        what = "needs `execution.commands`; without them Forge's agent works as with `deterministic`"
        yield Contradiction(("execution", "mode"), what, "")
    for name in ("checkpoint_seconds", "checkpoint_changes"):
        if not has_agent and _get_value(values, ("execution", name)) is not None:
            what = "has no effect without `agents.implementer.command`: edits of Forge's agent are kept anyway"
            yield Contradiction(("execution", name), what, "")
    if has_agent and not is_interactive:
        what = "has no effect without `execution.mode: interactive`, or `/forge run interactive`"
        yield Contradiction(("agents", "implementer", "command"), what, "")


def _get_value(values: Mapping[str, JsonValue], path: tuple[str, ...]) -> JsonValue:
    value: JsonValue = dict(values)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _check_linters(linters: tuple[Linter, ...]) -> Iterator[Contradiction]:
    seen: set[str] = set()
    for index, linter in enumerate(linters):
        if linter.name in seen:
            yield Contradiction(("review", "linters", index, "name"), "is the name of another linter", "a name once")
        seen.add(linter.name)


def _check_error_rate(rates: ErrorRateBreaker) -> Iterator[Contradiction]:
    path = ("breakers", "error_rate")
    if rates.warn > rates.trip:
        yield Contradiction((*path, "warn"), f"is above `trip` ({rates.trip:g})", "a share up to `trip`")
    if rates.min_events > rates.max_events:
        what = f"is above `max_events` ({rates.max_events})"
        yield Contradiction((*path, "min_events"), what, "a number up to `max_events`")
