"""What people say about findings (dismissed, disputed, confirmed), and how findings went without a word."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from domain.commands import Sender
from domain.review.avoidance import find_version
from domain.review.findings import Anchor, Finding, Severity
from domain.value import shorten_id

SCOPE_TIME = timedelta(days=90)
"""So long such findings pass; then what passed is raised again (docs/gates.md)."""


class Word(StrEnum):
    """What somebody said about a finding."""

    dismissed = "dismissed"  # it is wrong or not wanted
    disputed = "disputed"  # who may not dismiss it says that it is wrong, so that others decide
    confirmed = "confirmed"  # it is right


class DismissalScope(StrEnum):
    """Where else a dismissal holds."""

    file = "file"
    repository = "repository"


class Lapse(StrEnum):
    """Why a scope no longer holds."""

    time = "time"
    version = "version"  # the detector works differently now


@dataclass(frozen=True)
class FeedbackStatement:
    """Who says something about findings, and why.

    :param role: of the person on GitHub, now.
    :param head_sha: the head that they say it about.
    :param cause: the command behind it, so that a repeated step says it once.
    :param is_waived: the person wrote the change, and may only because nobody else has the role; the audit says so.
    """

    sender: Sender
    reason: str
    at: datetime
    role: str = ""
    head_sha: str = ""
    cause: str = ""
    scope: DismissalScope | None = None
    is_waived: bool = False


@dataclass(frozen=True)
class FindingFeedback:
    """What one person said about one finding, as far as it was not taken back.

    :param number: of the pull request.
    :param name: of the finding, ``F-…``.
    :param by_id: the person's numeric id; ``role`` is their role at that moment, empty if unknown.
    :param place: see :func:`domain.review.findings.compute_location_key`; empty for findings of tools.
    :param memory_id: the memory it taught; may be empty.
    :param until: when the scope ends.
    :param version: of the detector; see :func:`domain.review.avoidance.find_version`.
    :param severity: of the finding as it was then.
    :param spot: of a model's finding; None if unknown.
    """

    id: str
    number: int
    name: str
    rule: str
    path: str
    fingerprint: str
    by: str
    by_id: int
    reason: str
    at: datetime
    word: Word = Word.dismissed
    role: str = ""
    place: str = ""
    memory_id: str = ""
    scope: DismissalScope | None = None
    until: datetime | None = None
    version: int = 0
    cause: str = ""
    severity: Severity = Severity.warning
    spot: Anchor | None = None

    @property
    def short_memory_id(self) -> str:
        """The short id of the memory it taught; may be empty."""
        return shorten_id("M", self.memory_id) if self.memory_id else ""

    def covers(self, finding: Finding) -> bool:
        """Whether its scope is about such a finding, if it still holds."""
        is_there = self.scope is DismissalScope.repository or (
            self.scope is DismissalScope.file and finding.path == self.path
        )
        return is_there and finding.rule == self.rule

    def find_lapse(self, now: datetime) -> Lapse | None:
        """Why its scope does not hold any more; None if it does."""
        if self.version != find_version(self.rule):
            return Lapse.version
        return Lapse.time if self.until is None or now >= self.until else None


def drop_graver(dismissed: Mapping[str, FindingFeedback], found: Iterable[Finding]) -> dict[str, FindingFeedback]:
    """The dismissals, by fingerprint, without those of findings that are graver by now: nobody spoke of these."""
    graver = {
        each.fingerprint
        for each in found
        if each.fingerprint in dismissed and each.severity.rank > dismissed[each.fingerprint].severity.rank
    }
    return {fingerprint: said for fingerprint, said in dismissed.items() if fingerprint not in graver}


def find_passing(finding: Finding, known: Sequence[FindingFeedback], now: datetime) -> FindingFeedback | None:
    """The dismissal by whose scope a finding passes; None if there is none."""
    return next((each for each in known if each.covers(finding) and each.find_lapse(now) is None), None)


def find_lapsed(
    finding: Finding, known: Sequence[FindingFeedback], now: datetime
) -> tuple[FindingFeedback, Lapse] | None:
    """The newest dismissal by whose scope a finding would have passed, and why it does not any more."""
    for each in reversed(known):
        lapse = each.find_lapse(now)
        if each.covers(finding) and lapse is not None:
            return each, lapse
    return None


class Uptake(StrEnum):
    """How a commented finding disappeared."""

    applied = "applied"  # its suggestion was applied
    otherwise = "otherwise"  # it had a suggestion, but was fixed otherwise
    fixed = "fixed"  # it had none


def classify_uptake(finding: Finding, content: str) -> Uptake:
    """Classifies how a finding disappeared.

    :param content: of its file now; empty if the file is gone.
    """
    if finding.fix is None:
        return Uptake.fixed
    replacement = [line.strip() for line in finding.fix.replacement.split("\n") if line.strip()]
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    starts = range(len(lines) - len(replacement) + 1)
    stands = any(lines[start : start + len(replacement)] == replacement for start in starts)
    return Uptake.applied if stands else Uptake.otherwise
