"""Checks that a change seems to have lost, and the tests in which they may stand now."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from domain.review.avoidance import CERTAIN, HARDLY_BELIEVED, LEGITIMATE, AvoidanceKind
from domain.review.findings import Finding, Severity

SOUGHT = frozenset({AvoidanceKind.test_removed, AvoidanceKind.assertion_removed, AvoidanceKind.assertion_weakened})
"""The kinds of which the same check may stand elsewhere, where no rule finds it."""
_SHOWN_ONLY = HARDLY_BELIEVED - 0.05


class TestSpan(BaseModel):
    """The lines of a test.

    :param start: its first line, from 1; ``end`` its last one.
    """

    __test__ = False
    model_config = ConfigDict(frozen=True)

    path: str
    start: int
    end: int


class LostCheck(BaseModel):
    """A test or an assertion that rules find nowhere any more.

    :param rule: of the finding that says so, with its ``path``, ``line`` and the sentence that it begins with.
    :param before: its test at the merge base, under the path that its file has at head: not always ``path``.
    :param names: what that test names; who checks the same names some of it.
    """

    model_config = ConfigDict(frozen=True)

    rule: str
    path: str
    line: int | None
    what: str
    before: TestSpan
    names: tuple[str, ...]

    def is_about(self, finding: Finding) -> bool:
        """Whether this finding says so."""
        is_there = (self.rule, self.path, self.line) == (finding.rule, finding.path, finding.line)
        return is_there and finding.message.startswith(self.what)


class LostChecks(BaseModel):
    """What a change seems to have lost.

    :param standing: tests of the changed files, at head, that run and demand something.
    """

    model_config = ConfigDict(frozen=True)

    lost: tuple[LostCheck, ...] = ()
    standing: tuple[TestSpan, ...] = ()


NOTHING_LOST = LostChecks()


class FoundCheck(BaseModel):
    """Where a check stands that seemed lost.

    :param fingerprint: of the finding that called it lost.
    """

    model_config = ConfigDict(frozen=True)

    fingerprint: str
    path: str
    line: int


def list_sought(findings: Sequence[Finding], checks: LostChecks) -> list[tuple[Finding, LostCheck]]:
    """The certain findings about checks that may stand elsewhere, each with what is known of the check."""
    pairs = ((each, next((lost for lost in checks.lost if lost.is_about(each)), None)) for each in findings)
    return [(each, lost) for each, lost in pairs if lost is not None and each.confidence >= CERTAIN]


def apply_found(findings: Sequence[Finding], found: Sequence[FoundCheck]) -> tuple[Finding, ...]:
    """The findings; those whose check was found are only shown, with where it stands, and nobody is asked."""
    places = {each.fingerprint: each for each in found}
    return tuple(_show_place(each, places.get(each.fingerprint)) for each in findings)


def _show_place(finding: Finding, found: FoundCheck | None) -> Finding:
    if found is None:
        return finding
    advice = next((text for kind, text in LEGITIMATE.items() if kind.rule == finding.rule), "")
    gone = finding.message.removesuffix(advice).rstrip()
    said = f"{gone} A test that runs checks the same now, as a model says: {found.path}:{found.line}."
    shown = {"message": said, "confidence": _SHOWN_ONLY, "severity": Severity.info, "is_doubted": False}
    return finding.model_copy(update=shown)
