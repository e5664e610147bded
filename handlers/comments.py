"""What the three kinds of comments share: the author, whether it may command, and its commands."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from agents.syntax.quotes import find_mentions, split_quotes
from domain.commands import ExecuteComment, Ignored, ReadRemark
from domain.github.conversation import CommentRef
from domain.slash import LONGEST_WORDS
from domain.text.escaping import strip_invisible
from handlers import slash
from handlers.markdown import MOST_READ
from handlers.payloads import AccountView, Id, PullSubject, RepositoryEvent, Subject, View

NodeId = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]  # opaque


class Author(AccountView):
    """GitHub shows deleted accounts as the user ``ghost``; a person has the type ``User``."""

    @property
    def is_person(self) -> bool:
        return self.type == "User"


NO_COMMAND = "no_command"
_MOST_QUOTES, _MOST_MENTIONS = 5, 20  # of a comment that are kept


class CommentView(View):
    """A comment of any kind. ``performed_via_github_app`` is set if an App wrote in a person's name."""

    id: Id
    node_id: NodeId
    body: str | None
    user: Author | None
    performed_via_github_app: dict[str, Any] | None = None


class PullRequest(PullSubject):
    """A pull request in a comment's event."""

    user: AccountView | None = None


def ignore_comment(event: RepositoryEvent, written: CommentView, action: str) -> Ignored | None:
    """Why a comment may not command, whatever it says (T-P3, T-P4); None if it may.

    :param action: the event's action when such a comment is created.
    """
    if event.action == "edited":
        return Ignored(reason="comment_edited")
    if event.action != action:
        return Ignored(reason="action_not_used")
    author = written.user
    if author is None or not author.is_person or event.sender.type != "User":
        return Ignored(reason="sent_by_an_app")
    if written.performed_via_github_app is not None:
        return Ignored(reason="sent_by_an_app")
    return None if author.id == event.sender.id else Ignored(reason="sender_is_not_the_author")


def build_command(
    event: RepositoryEvent,
    written: CommentView,
    comment: CommentRef,
    *,
    written_at: datetime,
    subject: Subject,
    opened_by: AccountView | None,
    head_sha: str | None,
    is_pull_request: bool = True,
    path: str = "",
    line: int | None = None,
) -> ExecuteComment | Ignored:
    """The commands in a comment, as one request."""
    asked = slash.read(written.body or "", in_thread=comment.thread is not None)
    if not asked:
        return Ignored(reason=NO_COMMAND)
    return ExecuteComment(
        repository=event.to_ref(),
        number=subject.number,
        is_pull_request=is_pull_request,
        comment=comment,
        written_at=written_at,
        head_sha=head_sha,
        opened_by=opened_by.id if opened_by else None,
        sender=event.sender.as_sender(),
        asked=asked,
        seen=subject.to_seen(),
        path=path,
        line=line,
    )


def build_remark(
    event: RepositoryEvent, written: CommentView, comment: CommentRef, subject: Subject, *, is_pull_request: bool = True
) -> ReadRemark | None:
    """The words of a comment that quotes or mentions somebody, who may be Forge; None if it does neither."""
    quoted, words = split_quotes(strip_invisible((written.body or "")[:MOST_READ]))
    mentioned = find_mentions(words)
    if not words or not (quoted or mentioned):
        return None
    return ReadRemark(
        repository=event.to_ref(),
        number=subject.number,
        is_pull_request=is_pull_request,
        comment=comment,
        words=words[:LONGEST_WORDS],
        quoted=tuple(passage[:LONGEST_WORDS] for passage in quoted[:_MOST_QUOTES]),
        mentioned=mentioned[:_MOST_MENTIONS],
        sender=event.sender.as_sender(),
        seen=subject.to_seen(),
    )
