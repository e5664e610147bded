"""Decides whether what a branch requires before a merge is met: what is not known for certain is never green."""

from collections.abc import Sequence
from enum import StrEnum

from domain.github.pull_requests import ReportedCheck, RequiredCheck
from domain.runs.run import REVIEW_CHECK
from domain.value import Value


def check_name(base_ref: str, default_branch: str, required: Sequence[RequiredCheck] | None) -> str:
    """Under which name the verdict on a merge into a branch is said.

    GitHub ties a check to the head alone, so what passes for a branch anybody may make would pass for the default one.

    :param default_branch: of the repository; empty: not known.
    :param required: what the branch requires, if it is not the default one; None where that is not known for certain.
    """
    if base_ref == default_branch or any(check.name == REVIEW_CHECK for check in required or ()):
        return REVIEW_CHECK
    return name_own_check(base_ref)


def name_own_check(base_ref: str) -> str:
    """The name under which a verdict counts for one base branch only."""
    return f"{REVIEW_CHECK}: {base_ref}"


def is_required(name: str, required: Sequence[RequiredCheck] | None) -> bool:
    """Whether a check has to pass before a merge: what is not known counts as required.

    GitHub lets `neutral` pass a required check, so there it must not stand for what nobody read.
    """
    return required is None or any(check.name == name for check in required)


class ChecksState(StrEnum):
    """How the required checks stand together."""

    green = "green"
    pending = "pending"  # at least one has not ended or was not reported yet, and none failed
    failing = "failing"
    unknown = "unknown"  # GitHub does not say what is required


class RequiredChecks(Value):
    """How the checks stand, and which of them led to that.

    :param checks: the names behind it; for green, all that count.
    :param are_required: the branch requires any; otherwise more may be reported at any moment.
    """

    light: ChecksState
    checks: tuple[str, ...] = ()
    are_required: bool = False

    @property
    def text(self) -> str:
        names = ", ".join(self.checks[:5])
        match self.light:
            case ChecksState.green:
                return f"green: {names}" if names else "green: none is required"
            case ChecksState.pending:
                return f"not finished: {names}"
            case ChecksState.failing:
                return f"not green: {names}"
            case ChecksState.unknown:
                return "GitHub does not say which checks are required"


_OWN = "Forge / "
"""The beginning of the names of Forge's own checks, which count only where they are required."""


def evaluate_checks(required: Sequence[RequiredCheck] | None, results: Sequence[ReportedCheck]) -> RequiredChecks:
    """How the checks of a head stand.

    Where nothing is required, everything that others reported counts as required: a red check is a reason to wait for
    a person, whatever the settings of the branch say.

    :param required: None where that cannot be known for certain.
    :param results: everything reported on the head.
    """
    if required is None:
        return RequiredChecks(light=ChecksState.unknown)
    relevant = list(required) or [
        RequiredCheck(name=name) for name in dict.fromkeys(one.name for one in results if not one.name.startswith(_OWN))
    ]
    lights = {check.name: _evaluate(check, results) for check in relevant}
    for light in (ChecksState.failing, ChecksState.pending):
        named = tuple(name for name, each in lights.items() if each is light)
        if named:
            return RequiredChecks(light=light, checks=named, are_required=bool(required))
    return RequiredChecks(light=ChecksState.green, checks=tuple(lights), are_required=bool(required))


def _evaluate(check: RequiredCheck, results: Sequence[ReportedCheck]) -> ChecksState:
    if check.is_met_by(results):
        return ChecksState.green
    reported = [one for one in results if one.name == check.name]
    is_red = any(not one.is_green and one.conclusion != "pending" for one in reported)
    return ChecksState.failing if is_red else ChecksState.pending
