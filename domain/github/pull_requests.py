"""Pull requests, branches and reviews on GitHub."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class MergedPull:
    """A pull request that was merged, as a commit leads to it.

    :param head_sha: its last head.
    """

    number: int
    title: str
    head_sha: str


class PullRequest(BaseModel):
    """A pull request as GitHub shows it now."""

    model_config = ConfigDict(frozen=True)

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
    changed_files: int
    is_merged: bool = False
    default_branch: str = ""  # of the repository it is opened in; empty: not known
    updated_at: datetime | None = None  # to the second
    merge_sha: str = ""  # the commit that its merge made; empty if it is not merged
    merged_at: datetime | None = None  # None: it is not, or GitHub does not say
    has_conflicts: bool = False  # with its base, as far as GitHub worked that out already

    def is_from_fork(self, repository_id: int) -> bool:
        """Whether its head is in another repository, or in a deleted one."""
        return self.head_repository_id != repository_id


class Branch(BaseModel):
    """A branch and the commit it points to."""

    model_config = ConfigDict(frozen=True)

    name: str
    head_sha: str


class InlineComment(BaseModel):
    """A review comment on lines of the head; ``start_line`` equals ``line`` for a single line."""

    model_config = ConfigDict(frozen=True)

    path: str
    start_line: int
    line: int
    body: str


class ReviewEvent(StrEnum):
    """What a review is to GitHub."""

    comment = "COMMENT"
    approve = "APPROVE"
    request_changes = "REQUEST_CHANGES"


class DraftReview(BaseModel):
    """One pull-request review with its inline comments, to be created at once."""

    model_config = ConfigDict(frozen=True)

    head_sha: str
    body: str
    comments: tuple[InlineComment, ...]
    event: ReviewEvent = ReviewEvent.comment


class ChangeRequest(BaseModel):
    """A person's review that requests changes on a head.

    :param editors: who changed its body or a comment of it, perhaps somebody else.
    :param comments: (path, line or None, text) of each inline comment.
    """

    model_config = ConfigDict(frozen=True)

    login: str
    account_id: int
    body: str
    editors: frozenset[int] = frozenset()
    comments: tuple[tuple[str, int | None, str], ...] = ()


class Approval(BaseModel):
    """An approving review by the App. Forge does not repeat one that a person dismissed."""

    model_config = ConfigDict(frozen=True)

    id: int
    head_sha: str
    body: str
    is_dismissed: bool
