"""Grades a finding by its consequence: what breaks, and who meets that. The kind of mistake says nothing of it."""

from enum import StrEnum

from domain.review.findings import Severity


class Harm(StrEnum):
    """What breaks."""

    wrong_result = "wrong_result"
    crash = "crash"
    data_loss = "data_loss"
    security_hole = "security_hole"
    waste = "waste"  # of time, memory or money
    none = "none"


class MetBy(StrEnum):
    """Who meets it."""

    caller = "caller"  # ordinary use of the repository as it stands, or an attacker of it
    condition = "condition"  # only what comes about under conditions that are named
    nobody = "nobody"


_GRAVE = frozenset({Harm.wrong_result, Harm.crash, Harm.data_loss, Harm.security_hole})


def grade(harm: Harm, met_by: MetBy) -> Severity:
    """The severity of a finding: an error breaks something for a caller, a warning may break or waste something."""
    if harm is Harm.none or met_by is MetBy.nobody:
        return Severity.info
    return Severity.error if harm in _GRAVE and met_by is MetBy.caller else Severity.warning
