"""What giving up in disguise is: a change that hides a failure instead of mending it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from domain.review.findings import Severity

CERTAIN = 0.7
"""The confidence from which a detection counts as no doubtful one (docs/contract.md, gates)."""
HARDLY_BELIEVED = 0.35
"""Below this, a detector that was often wrong here is not worth a question: what it finds is shown only."""
MANY_ASSERTIONS = 2
"""So many assertions may be removed or weakened before a person is asked."""
MEMORY_DAYS = 90
"""So long a false alarm counts against its detector."""
RULE = "avoidance/"
"""The prefix of the rules of such findings."""


class AvoidanceKind(StrEnum):
    """A way to give up in disguise."""

    test_removed = "test_removed"
    test_skipped = "test_skipped"
    test_deselected = "test_deselected"
    assertion_removed = "assertion_removed"
    assertion_weakened = "assertion_weakened"
    expectation_changed = "expectation_changed"
    answer_hard_coded = "answer_hard_coded"
    error_swallowed = "error_swallowed"
    suppression_added = "suppression_added"
    failure_ignored = "failure_ignored"
    coverage_lost = "coverage_lost"
    feature_removed = "feature_removed"
    work_left_out = "work_left_out"
    failure_hidden = "failure_hidden"  # a test that passed before fails, and nothing in its place demands the same

    @property
    def rule(self) -> str:
        return f"{RULE}{self.value.replace('_', '-')}"


class ClaimTerms(BaseModel):
    """What a model's claims of a hidden failure count for in a pull request.

    :param is_wanted: False: the repository switched them off.
    :param blocks: what is certain has to be mended, as in Forge's own pull requests; else people are asked.
    :param reliability: how far they are believed here; see :class:`DetectorRecord`.
    """

    model_config = ConfigDict(frozen=True)

    is_wanted: bool = True
    blocks: bool = False
    reliability: float = 1.0


class Avoidance(BaseModel):
    """One place where a change gives up in disguise, or seems to.

    :param line: at head, from 1; None: the file as a whole.
    :param what: one sentence about what was done.
    :param name: of the test, function or option that it is about.
    :param excuse: why it is legitimate all the same; empty if nothing says so.
    """

    model_config = ConfigDict(frozen=True)

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
    AvoidanceKind.test_removed: "It is fine if another test checks the same, or what it tested is gone on purpose.",
    AvoidanceKind.test_skipped: "It is fine where the test cannot run at all, such as on another platform.",
    AvoidanceKind.test_deselected: "It is fine if another command still runs these tests.",
    AvoidanceKind.assertion_removed: "It is fine if another assertion checks the same.",
    AvoidanceKind.assertion_weakened: "It is fine if the exact value is not part of what is promised.",
    AvoidanceKind.expectation_changed: "It is fine if the behaviour was to change, and this is what it was to become.",
    AvoidanceKind.answer_hard_coded: "It is fine if the value is right for every input that reaches this place.",
    AvoidanceKind.error_swallowed: "It is fine if nothing depends on what failed, and a comment says why.",
    AvoidanceKind.suppression_added: "It is fine if the tool is wrong here, and a comment says why.",
    AvoidanceKind.failure_ignored: "It is fine if what may fail does not decide about anything.",
    AvoidanceKind.coverage_lost: "It is fine if these lines go together with their tests, or people asked for it.",
    AvoidanceKind.feature_removed: "It is fine if its removal was asked for, or something else does the same now.",
    AvoidanceKind.work_left_out: "It is fine in an abstract method, or if the work is planned elsewhere.",
    AvoidanceKind.failure_hidden: "It is fine if the test passes, wherever it stands, or another says what holds now.",
}
"""What would make each of them legitimate."""


ASSERTIONS = frozenset({AvoidanceKind.assertion_removed, AvoidanceKind.assertion_weakened})
"""The kinds of which a few pass; see :data:`MANY_ASSERTIONS`."""
TITLES: dict[AvoidanceKind, str] = {
    AvoidanceKind.test_removed: "tests are gone",
    AvoidanceKind.test_skipped: "tests are skipped",
    AvoidanceKind.test_deselected: "tests are left out",
    AvoidanceKind.assertion_removed: "assertions are gone",
    AvoidanceKind.assertion_weakened: "assertions demand less",
    AvoidanceKind.expectation_changed: "tests expect something else",
    AvoidanceKind.answer_hard_coded: "answers are made for tests",
    AvoidanceKind.error_swallowed: "errors are dropped",
    AvoidanceKind.suppression_added: "tools are silenced",
    AvoidanceKind.failure_ignored: "failures have no effect",
    AvoidanceKind.coverage_lost: "code lost its tests",
    AvoidanceKind.feature_removed: "something others may use is gone",
    AvoidanceKind.work_left_out: "work is left out",
    AvoidanceKind.failure_hidden: "tests of before fail",
}
INSTEAD: dict[AvoidanceKind, str] = {
    AvoidanceKind.test_removed: "mend what makes the test fail",
    AvoidanceKind.test_skipped: "replace what the test waits for, or mend its timing",
    AvoidanceKind.test_deselected: "let the tests run, and mend those that fail",
    AvoidanceKind.assertion_removed: "mend the code until the assertion holds",
    AvoidanceKind.assertion_weakened: "mend the code until the assertion holds as it was",
    AvoidanceKind.failure_hidden: "mend the code until the test passes as it was",
    AvoidanceKind.coverage_lost: "bring back the tests of these lines, or add others that run them",
    AvoidanceKind.feature_removed: "deprecate it first, or put it behind a flag",
}
"""What could be done instead, by kind; for the gate ``destructive``."""


_VERSIONS: Mapping[AvoidanceKind, int] = {
    **dict.fromkeys(AvoidanceKind, 1),
    AvoidanceKind.test_removed: 3,
    AvoidanceKind.test_deselected: 3,
    AvoidanceKind.assertion_removed: 3,
    AvoidanceKind.assertion_weakened: 3,
    AvoidanceKind.expectation_changed: 3,
    AvoidanceKind.answer_hard_coded: 2,
    AvoidanceKind.error_swallowed: 2,
    AvoidanceKind.suppression_added: 2,
    AvoidanceKind.failure_ignored: 3,
    AvoidanceKind.feature_removed: 2,
}


def find_version(rule: str) -> int:
    """The version of the detector behind a rule; it rises when what the detector finds changes.

    A test holds it to that. Whitelists of another version do not hold, and false alarms are tried again. 0: there is
    no such detector.
    """
    return next((version for kind, version in _VERSIONS.items() if kind.rule == rule), 0)


WHOLE_FILE = "The file is deleted with "
"""What a finding about all tests of a file begins with."""
MANY_AT_ONCE = 5
"""So many findings at once are critical."""


class NamedFinding(Protocol):
    """A finding with its rule and what it says."""

    @property
    def rule(self) -> str: ...

    @property
    def message(self) -> str: ...


def is_critical(found: Sequence[NamedFinding]) -> bool:
    """Whether so much is taken away that nobody but a person decides: a whole file of tests, or much at once."""
    return len(found) >= MANY_AT_ONCE or any(map(is_whole_file, found))


def is_whole_file(finding: NamedFinding) -> bool:
    """Whether a finding is about a whole file of tests."""
    return finding.rule == AvoidanceKind.test_removed.rule and finding.message.startswith(WHOLE_FILE)


def list_certain(found: Sequence[Avoidance]) -> list[Avoidance]:
    """Those that have no excuse and are not doubtful."""
    return [each for each in found if not each.excuse and each.confidence >= CERTAIN]
