"""What giving up in disguise is: a change that hides a failure instead of mending it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from domain.review.findings import Severity
from domain.value import Value

CERTAIN = 0.7
"""The confidence from which a detection counts as no doubtful one (docs/gates.md)."""
HARDLY_BELIEVED = 0.35
"""Below this, a detector that was often wrong here is not worth a question: what it finds is shown only."""
MEMORY_DAYS = 90
"""So long a false alarm counts against its detector."""
RULE = "avoidance/"
"""The prefix of the rules of such findings."""


class AvoidanceKind(StrEnum):
    """A way to give up in disguise."""

    failure_hidden = "failure_hidden"  # a test of before fails on the new code, or a model says so
    test_skipped = "test_skipped"
    failure_ignored = "failure_ignored"
    assertion_vacuous = "assertion_vacuous"
    test_detected = "test_detected"
    threshold_lowered = "threshold_lowered"
    checker_disabled = "checker_disabled"
    coverage_lost = "coverage_lost"

    @property
    def rule(self) -> str:
        return f"{RULE}{self.value.replace('_', '-')}"


class Avoidance(Value):
    """One place where a change gives up in disguise, or seems to.

    :param line: at head, from 1; None: the file as a whole.
    :param what: one sentence about what was done.
    :param name: of the test, function or option that it is about.
    :param excuse: why it is legitimate all the same; empty if nothing says so.
    """

    kind: AvoidanceKind
    path: str
    line: int | None = None
    what: str
    confidence: float = Field(ge=0, le=1)
    severity: Severity = Severity.warning
    name: str = ""
    excuse: str = ""


@dataclass(frozen=True)
class DetectorRecord:
    """How a detector did in one repository.

    :param found: in how many pull requests it found something.
    :param dismissed: in how many of them people dismissed that.
    :param confirmed: in how many people said it to be right; each makes up for a false alarm.
    """

    found: int
    dismissed: int
    confirmed: int = 0

    @property
    def reliability(self) -> float:
        """How far it is to be believed here: 1 without a false alarm. It begins as if it had been right four times."""
        known = self.found + _BEGINS_WITH
        return (known - max(0, self.dismissed - self.confirmed)) / known

    @property
    def is_unreliable(self) -> bool:
        """Whether more than a tenth of what it found was wrong, of enough to tell, so that the operator is told."""
        return self.found >= _ENOUGH and self.dismissed > self.found * _TOO_OFTEN


_BEGINS_WITH = 4
_ENOUGH = 20  # findings by which a detector can be told to be wrong too often
_TOO_OFTEN = 0.1


def apply_records(found: Sequence[Avoidance], records: Mapping[str, DetectorRecord]) -> list[Avoidance]:
    """The detections with the confidence that their detectors have earned in this repository.

    :param records: rule → its record.
    """
    return [
        each.model_copy(update={"confidence": round(each.confidence * records[each.kind.rule].reliability, 3)})
        if each.kind.rule in records
        else each
        for each in found
    ]


LEGITIMATE: dict[AvoidanceKind, str] = {
    AvoidanceKind.failure_hidden: "It is fine if the behaviour was to change, and this is what it was to become.",
    AvoidanceKind.test_skipped: "It is fine where the test cannot run at all, such as on another platform.",
    AvoidanceKind.failure_ignored: "It is fine if what may fail does not decide about anything.",
    AvoidanceKind.assertion_vacuous: "It is fine if the test only has to get this far.",
    AvoidanceKind.test_detected: "It is fine if what is tested is the same in either case.",
    AvoidanceKind.threshold_lowered: "It is fine if the tool counts in another way now, or people asked for it.",
    AvoidanceKind.checker_disabled: "It is fine if another tool checks the same.",
    AvoidanceKind.coverage_lost: "It is fine if these lines go together with their tests, or people asked for it.",
}
"""What would make each of them legitimate."""

TITLES: dict[AvoidanceKind, str] = {
    AvoidanceKind.failure_hidden: "a failure is hidden",
    AvoidanceKind.test_skipped: "tests are skipped",
    AvoidanceKind.failure_ignored: "failures have no effect",
    AvoidanceKind.assertion_vacuous: "assertions cannot fail",
    AvoidanceKind.test_detected: "code asks whether a test runs it",
    AvoidanceKind.threshold_lowered: "less is demanded",
    AvoidanceKind.checker_disabled: "a checker is switched off",
    AvoidanceKind.coverage_lost: "code lost its tests",
}
INSTEAD: dict[AvoidanceKind, str] = {
    AvoidanceKind.failure_hidden: "fix the code until the test passes as it was",
    AvoidanceKind.test_skipped: "fix what makes the test fail, or let the other tests run, too",
    AvoidanceKind.failure_ignored: "fix what fails",
    AvoidanceKind.assertion_vacuous: "compare what the code answers",
    AvoidanceKind.test_detected: "hand in what differs, so that tests run the same code as users",
    AvoidanceKind.threshold_lowered: "bring back what was demanded",
    AvoidanceKind.checker_disabled: "fix what the checker reports",
    AvoidanceKind.coverage_lost: "bring back the tests of these lines, or add others that run them",
}
"""What could be done instead, by kind; for the gate ``destructive``."""


_VERSIONS: Mapping[AvoidanceKind, int] = {
    **dict.fromkeys(AvoidanceKind, 1),
    AvoidanceKind.failure_hidden: 2,
    AvoidanceKind.test_skipped: 2,
    AvoidanceKind.failure_ignored: 4,
}


def find_version(rule: str) -> int:
    """The version of the detector behind a rule; it rises when what the detector finds changes.

    Scopes of another version do not hold. 0: there is no such detector.
    """
    return next((version for kind, version in _VERSIONS.items() if kind.rule == rule), 0)


MANY_AT_ONCE = 5
"""So many findings at once are critical."""


def is_critical(found: Sequence[object]) -> bool:
    """Whether so much is found at once that nobody but a person decides."""
    return len(found) >= MANY_AT_ONCE


def list_certain(found: Sequence[Avoidance]) -> list[Avoidance]:
    """Those that have no excuse and are not doubtful."""
    return [each for each in found if not each.excuse and each.confidence >= CERTAIN]
