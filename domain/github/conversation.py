"""Issues, comments and review threads on GitHub."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum

from domain.github.commits import AN_APP
from domain.value import Value


class Issue(Value):
    """An issue or pull request as GitHub shows it now.

    :param body: may be empty.
    :param author_id: None if the account was deleted.
    :param node_id: its GraphQL id.
    :param is_app: an App wrote it, even on behalf of a person.
    :param closed_at: None if it is open.
    """

    number: int
    node_id: str
    title: str
    body: str
    is_open: bool
    author_id: int | None
    author_login: str
    is_app: bool
    author_association: str
    labels: tuple[str, ...]
    is_pull_request: bool
    updated_at: datetime | None = None  # to the second
    closed_at: datetime | None = None
    wording: str = ""  # see :func:`digest_wording`; empty: not known


class IssueComment(Value):
    """A comment below an issue or pull request.

    :param author_id: None if the account was deleted.
    :param node_id: its GraphQL id.
    :param is_app: an App wrote it, even on behalf of a person.
    :param is_edited: it was edited, not necessarily by its author.
    """

    id: int
    node_id: str
    author_id: int | None
    author_login: str
    is_app: bool
    author_association: str
    body: str
    created_at: datetime
    is_edited: bool


class TextEdit(Value):
    """Somebody edited an issue or a comment, or wrote it.

    :param by_id: None if GitHub does not say: the account was deleted, or is no person's.
    :param is_app: an App did.
    :param at: to the second.
    """

    by_id: int | None
    is_app: bool = False
    at: datetime

    @property
    def writer(self) -> int:
        """Whose words it may have brought: :data:`domain.github.commits.AN_APP` where nobody knows."""
        return AN_APP if self.is_app or self.by_id is None else self.by_id


class AskedIssue(Value):
    """The words of an issue when somebody asked for it to be solved, as they are kept.

    :param asked_at: to the second; None if it is not known.
    """

    title: str
    body: str
    asked_at: datetime | None = None


def digest_wording(title: str, body: str | None) -> str:
    """A digest of an issue's text, to notice edits without storing the text."""
    return hashlib.sha256(json.dumps([title, body or ""]).encode()).hexdigest()


class CommentKind(StrEnum):
    """The three kinds of comments on GitHub; each has its own endpoints."""

    issue_comment = "issue_comment"  # below an issue or a pull request
    review_comment = "review_comment"  # on a line of the diff, or a reply there
    review = "review"  # the body of a review


class CommentRef(Value):
    """A comment that exists on GitHub.

    :param node_id: its GraphQL id, needed to react to the body of a review.
    :param thread: for a reply to a review comment: the id of the thread's first comment.
    """

    kind: CommentKind
    id: int
    node_id: str
    thread: int | None = None


class Reaction(StrEnum):
    """The reactions Forge gives, by GitHub's names."""

    seen = "eyes"
    done = "+1"
    confused = "confused"


class Thumb(StrEnum):
    """A thumb on a comment, by GitHub's names."""

    up = "+1"
    down = "-1"


class ThumbGiven(Value):
    """A thumb on a review comment. ``is_person`` is False for Apps."""

    comment_id: int
    account_id: int
    login: str
    is_person: bool
    thumb: Thumb


class ThreadComment(Value):
    """A comment of a review thread. ``author_id`` is None for a deleted account; ``is_person`` is False for Apps."""

    id: int
    author_id: int | None
    body: str = ""
    is_person: bool = False


class Remark(Value):
    """A comment, or the body of a review.

    :param node_id: its GraphQL id.
    :param author_id: None if the account was deleted; :data:`domain.github.commits.AN_APP` of another App.
    :param is_own: the App itself wrote it.
    """

    id: int
    node_id: str
    author_id: int | None
    body: str
    is_own: bool


class ReviewThread(Value):
    """A review thread.

    :param id: its node id, by which it is resolved.
    :param comments: in order.
    :param is_whole: False if it has more comments than GitHub shows at once.
    :param resolved_by: the id of the account that resolved it; None if unknown.
    :param path: the file on whose diff it stands, and ``line`` its line at the head; None if that is gone.
    """

    id: str
    is_resolved: bool
    comments: tuple[ThreadComment, ...]
    is_whole: bool = True
    resolved_by: int | None = None
    path: str = ""
    line: int | None = None


class CommentEdit(Value):
    """A new text for a comment below an issue.

    :param body: at most 65,536 characters.
    """

    comment_id: int
    body: str
