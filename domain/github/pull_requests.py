"""Pull requests on GitHub: branches and reviews, changed dependencies, and what a merge requires and results in."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from domain.value import Value


@dataclass(frozen=True)
class MergedPull:
    """A pull request that was merged, as a commit leads to it.

    :param head_sha: its last head.
    """

    number: int
    title: str
    head_sha: str


class PullRequest(Value):
    """A pull request as GitHub shows it now."""

    number: int
    title: str
    is_open: bool
    is_draft: bool
    head_sha: str
    head_ref: str
    head_repository_id: int | None  # None: the fork was deleted
    head_owner_id: int | None = None  # the account whose repository that is
    base_sha: str  # what GitHub wrote down when it was opened; the branch moves on: see pipeline.checkout
    base_ref: str
    author_id: int
    author_login: str
    author_is_bot: bool
    author_association: str
    is_merged: bool = False
    default_branch: str = ""  # of the repository it is opened in; empty: not known
    updated_at: datetime | None = None  # to the second
    merge_sha: str = ""  # the commit that its merge made; empty if it is not merged
    merged_at: datetime | None = None  # None: it is not, or GitHub does not say
    has_conflicts: bool = False  # with its base, as far as GitHub worked that out already

    def is_from_fork(self, repository_id: int) -> bool:
        """Whether its head is in another repository, or in a deleted one."""
        return self.head_repository_id != repository_id


class Branch(Value):
    """A branch and the commit it points to."""

    name: str
    head_sha: str


class InlineComment(Value):
    """A review comment on lines of the head; ``start_line`` equals ``line`` for a single line."""

    path: str
    start_line: int
    line: int
    body: str


class ReviewEvent(StrEnum):
    """What a review is to GitHub."""

    comment = "COMMENT"
    approve = "APPROVE"
    request_changes = "REQUEST_CHANGES"


class DraftReview(Value):
    """One pull-request review with its inline comments, to be created at once."""

    head_sha: str
    body: str
    comments: tuple[InlineComment, ...]
    event: ReviewEvent = ReviewEvent.comment


class ChangeRequest(Value):
    """A person's review that requests changes on a head.

    :param editors: who changed its body or a comment of it, perhaps somebody else, or an App: see
        :data:`domain.github.commits.AN_APP`.
    :param comments: (path, line or None, text) of each inline comment.
    """

    login: str
    account_id: int
    body: str
    editors: frozenset[int] = frozenset()
    comments: tuple[tuple[str, int | None, str], ...] = ()


class Approval(Value):
    """An approving review by the App. Forge does not repeat one that a person dismissed."""

    id: int
    head_sha: str
    body: str
    is_dismissed: bool


class MergeMethod(StrEnum):
    """How a pull request becomes part of its base branch."""

    merge = "merge"
    squash = "squash"
    rebase = "rebase"


class MergeObstacle(StrEnum):
    """Why GitHub did not merge."""

    head_moved = "head_moved"  # the pull request's head is not the one to be merged (any more)
    base_moved = "base_moved"  # something else was merged at the same moment; the same again may succeed
    not_mergeable = "not_mergeable"  # it conflicts, is a draft or closed
    method = "method"  # the repository and its rules allow no merge method
    protected = "protected"  # the branch, or its merge queue, asks for checks or reviews that are missing
    queued = "queued"  # somebody put it into the merge queue
    not_allowed = "not_allowed"  # the App may not merge here
    withdrawn = "withdrawn"  # a condition changed while the merge waited for its turn


class Merged(Value):
    """The pull request is merged, now or already: ``sha`` is what the base branch got."""

    sha: str


class Queued(Value):
    """The pull request is in the merge queue that its base branch requires: that merges it, or takes it out."""


class NotMerged(Value):
    """Nothing happened; ``said`` is GitHub's reason in its own words, one line."""

    obstacle: MergeObstacle
    said: str


class ReportedCheck(Value):
    """The latest result of a check run or a commit status.

    :param app_id: the App of the check run; None for a commit status.
    :param conclusion: a check run's conclusion, or a status's state; ``pending`` if there is none yet.
    """

    name: str
    app_id: int | None
    conclusion: str

    @property
    def is_green(self) -> bool:
        """Whether it satisfies a required check.

        https://docs.github.com/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks
        """
        return self.conclusion in {"success", "neutral", "skipped"}


class RequiredCheck(Value):
    """A required check of a branch; ``app_id`` None: any App may report it."""

    name: str
    app_id: int | None = None

    def is_met_by(self, results: Iterable[ReportedCheck]) -> bool:
        """Whether it was reported, and all reports under its name are green."""
        reported = [one for one in results if one.name == self.name and (self.app_id is None or self._fits(one))]
        return bool(reported) and all(one.is_green for one in reported)

    def _fits(self, result: ReportedCheck) -> bool:
        return result.app_id in (None, self.app_id)


class Vulnerability(Value):
    """A known vulnerability of a dependency, as GitHub's advisory database names it."""

    severity: Literal["low", "moderate", "high", "critical"]
    advisory_ghsa_id: str
    advisory_summary: str
    advisory_url: str


class DependencyChange(Value):
    """One dependency that a pull request adds or removes."""

    change_type: Literal["added", "removed"]
    manifest: str
    ecosystem: str
    name: str
    version: str
    vulnerabilities: tuple[Vulnerability, ...] = ()
