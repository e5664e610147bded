"""What people say about findings of giving up in disguise: right, a false alarm, or to be looked at by others.

What is a false alarm in one file, or in the whole repository, can be put on a whitelist for a time.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from domain.review.avoidance import find_version
from domain.review.findings import Finding

WHITELIST_TIME = timedelta(days=90)
"""A whitelist ends after so long, and what it covered is raised again (docs/gates.md)."""


class JudgementKind(StrEnum):
    """What somebody said about a finding."""

    reported = "reported"  # who may not decide it says it is wrong, so that others do
    needs_review = "needs_review"  # who may decide it wants somebody else to
    legitimate = "legitimate"
    violation = "violation"

    @property
    def is_open(self) -> bool:
        """Whether people are still to decide."""
        return self in {JudgementKind.reported, JudgementKind.needs_review}


class WhitelistScope(StrEnum):
    """Where a whitelist holds."""

    file = "file"
    repository = "repository"


class FindingJudgement(BaseModel):
    """What one person said about one finding.

    :param number: of the pull request.
    :param name: of the finding, ``F-…``.
    :param words: why.
    :param role: of the person, at that time.
    :param head_sha: the head that the finding was about when it was judged.
    :param shown: a digest of the finding as people saw it.
    :param asked_at: when the finding was first raised.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    name: str
    fingerprint: str
    rule: str
    path: str
    kind: JudgementKind
    words: str
    by_id: int
    by_login: str
    role: str
    head_sha: str
    shown: str
    asked_at: datetime
    at: datetime


class Lapse(StrEnum):
    """Why a whitelist no longer holds."""

    time = "time"
    file = "file"  # the file that it was for is gone
    version = "version"  # the detector works differently now
    undone = "undone"  # somebody took it back


class Whitelisting(BaseModel):
    """What may pass for a time, because somebody said that the detector is wrong there.

    :param path: the only file it holds in; empty: the whole repository.
    :param version: of the detector; see :func:`domain.review.avoidance.find_version`.
    :param ended: why it ended; None while it may hold.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    number: int
    name: str
    rule: str
    path: str
    version: int
    words: str
    by_id: int
    by_login: str
    at: datetime
    until: datetime
    ended: Lapse | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether it is about such a finding, if it still holds."""
        return finding.rule == self.rule and self.path in {"", finding.path}

    def find_lapse(self, now: datetime) -> Lapse | None:
        """Why it does not hold any more; None if it does."""
        if self.ended is not None:
            return self.ended
        if self.version != find_version(self.rule):
            return Lapse.version
        return Lapse.time if now >= self.until else None


def find_whitelisting(finding: Finding, known: Sequence[Whitelisting], now: datetime) -> Whitelisting | None:
    """The whitelist by which a finding passes; None if there is none."""
    return next((each for each in known if each.covers(finding) and each.find_lapse(now) is None), None)


def find_lapsed(finding: Finding, known: Sequence[Whitelisting], now: datetime) -> tuple[Whitelisting, Lapse] | None:
    """The newest whitelist by which a finding would have passed, and why it does not any more."""
    for each in reversed(known):
        lapse = each.find_lapse(now)
        if each.covers(finding) and lapse is not None and lapse is not Lapse.undone:
            return each, lapse
    return None
