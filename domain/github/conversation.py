"""Comments and review threads on GitHub, as Forge refers to them."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class CommentKind(StrEnum):
    """The three places on GitHub where people write; each has its own endpoints."""

    issue_comment = "issue_comment"  # below an issue or a pull request
    review_comment = "review_comment"  # on a line of the diff, or a reply there
    review = "review"  # the body of a review


class CommentRef(BaseModel):
    """A comment that exists on GitHub.

    :param node_id: its id in GraphQL, which alone can react to the body of a review.
    :param thread: for a review comment that is a reply: the id of the comment its thread began with.
    """

    model_config = ConfigDict(frozen=True)

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
    """What people may think of a comment without words, by GitHub's names."""

    up = "+1"
    down = "-1"


class ThumbGiven(BaseModel):
    """A thumb that somebody gave to a review comment. ``is_person`` is False for Apps."""

    model_config = ConfigDict(frozen=True)

    comment_id: int
    account_id: int
    login: str
    is_person: bool
    thumb: Thumb


class ThreadComment(BaseModel):
    """A comment of a review thread. ``author_id`` is None where GitHub does not know the author any more."""

    model_config = ConfigDict(frozen=True)

    id: int
    author_id: int | None
    body: str = ""


class ReviewThread(BaseModel):
    """A review thread at this moment.

    :param id: its node id, by which it is resolved.
    :param comments: in order, the one it began with first.
    :param is_whole: False if it has more comments than GitHub shows at once.
    :param resolved_by: the id of the account that resolved it; None where GitHub names none.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    is_resolved: bool
    is_outdated: bool
    comments: tuple[ThreadComment, ...]
    is_whole: bool = True
    resolved_by: int | None = None


class CommentEdit(BaseModel):
    """A new text for a comment below an issue.

    :param body: at most 65,536 characters.
    """

    model_config = ConfigDict(frozen=True)

    comment_id: int
    body: str
