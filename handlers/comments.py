"""Comments, reviews and their threads: the commands in them, words that may be for Forge, and requested changes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from agents.syntax.quotes import find_mentions, split_quotes
from domain import commands
from domain.commands import AnyCommand, Ignored, WrittenComment
from domain.github.conversation import CommentKind, CommentRef
from domain.slash import LONGEST_WORDS
from domain.text.escaping import strip_invisible
from handlers import slash
from handlers.payloads import AccountView, Id, IssueSubject, PullSubject, RepositoryEvent, Subject, View
from handlers.slash import MOST_READ

NodeId = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]  # opaque

_NO_COMMAND = Ignored(reason="no_command")
_MOST_QUOTES, _MOST_MENTIONS = 5, 20  # of a comment that are kept


class _Comment(View):
    """A comment of any kind. ``performed_via_github_app`` is set if an App wrote in a person's name.

    GitHub shows deleted accounts as the user ``ghost``; a person has the type ``User``.
    """

    id: Id
    node_id: NodeId
    body: str | None
    user: AccountView | None
    performed_via_github_app: dict[str, Any] | None = None


class _PullRequest(PullSubject):
    user: AccountView | None = None


class _Issue(IssueSubject):
    user: AccountView | None = None
    pull_request: dict[str, Any] | None = None


class _IssueComment(_Comment):
    created_at: datetime


class _IssueCommentEvent(RepositoryEvent):
    issue: _Issue
    comment: _IssueComment


def handle_issue_comment(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """A comment on an issue, or in the conversation of a pull request; see :func:`handlers.translate`."""
    event = _IssueCommentEvent.model_validate(payload)
    comment, issue = event.comment, event.issue
    ignored = _ignore(event, comment, "created")
    if ignored is not None:
        return ignored
    written = WrittenComment(
        repository=event.to_ref(),
        number=issue.number,
        is_pull_request=issue.pull_request is not None,
        comment=CommentRef(kind=CommentKind.issue_comment, id=comment.id, node_id=comment.node_id),
        sender=event.sender.as_sender(),
    )
    return (
        _find_command(written, comment.body, comment.created_at, issue, issue.user)
        or _find_remark(written, comment.body, issue)
        or _NO_COMMAND
    )


class _Review(_Comment):
    submitted_at: datetime
    state: str = ""


class _ReviewEvent(RepositoryEvent):
    pull_request: _PullRequest
    review: _Review


def handle_review(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """A review of a pull request, which may request changes; see :func:`handlers.translate`."""
    event = _ReviewEvent.model_validate(payload)
    review, pull_request = event.review, event.pull_request
    ignored = _ignore(event, review, "submitted")
    if ignored is not None:
        return ignored
    written = WrittenComment(
        repository=event.to_ref(),
        number=pull_request.number,
        comment=CommentRef(kind=CommentKind.review, id=review.id, node_id=review.node_id),
        sender=event.sender.as_sender(),
    )
    asked = _find_command(written, review.body, review.submitted_at, pull_request, pull_request.user)
    if asked is not None:
        return asked
    remark = _find_remark(written, review.body, pull_request)
    if review.state != "changes_requested":
        return remark or _NO_COMMAND
    return commands.ChangesRequested(
        repository=written.repository,
        number=pull_request.number,
        head_sha=pull_request.head.sha,
        sender=written.sender,
        seen=pull_request.to_seen(),
        remark=remark,
    )


class _ReviewComment(_Comment):
    created_at: datetime
    in_reply_to_id: Id | None = None
    path: str
    line: Id | None = None


class _ReviewCommentEvent(RepositoryEvent):
    pull_request: _PullRequest
    comment: _ReviewComment


def handle_review_comment(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """A comment on the diff of a pull request, or a reply in its thread; see :func:`handlers.translate`."""
    event = _ReviewCommentEvent.model_validate(payload)
    comment, pull_request = event.comment, event.pull_request
    ignored = _ignore(event, comment, "created")
    if ignored is not None:
        return ignored
    reference = CommentRef(
        kind=CommentKind.review_comment, id=comment.id, node_id=comment.node_id, thread=comment.in_reply_to_id
    )
    written = WrittenComment(
        repository=event.to_ref(), number=pull_request.number, comment=reference, sender=event.sender.as_sender()
    )
    where = (pull_request, pull_request.user, comment.path, comment.line)
    asked = _find_command(written, comment.body, comment.created_at, *where)
    if asked is not None:
        return asked
    if not strip_invisible(comment.body or "").strip():
        return _NO_COMMAND
    return commands.ReadReply(
        repository=written.repository,
        number=written.number,
        comment=reference,
        words=(comment.body or "")[:LONGEST_WORDS],
        path=comment.path,
        line=comment.line,
        head_sha=pull_request.head.sha,
        opened_by=pull_request.user.id if pull_request.user else None,
        sender=written.sender,
    )


class _ThreadAuthor(View):
    type: str | None = None


class _ThreadComment(View):
    id: Id
    in_reply_to_id: Id | None = None
    user: _ThreadAuthor | None = None


class _Thread(View):
    node_id: NodeId
    comments: Annotated[tuple[_ThreadComment, ...], Field(min_length=1)]


class _ThreadEvent(RepositoryEvent):
    pull_request: _PullRequest
    thread: _Thread
    updated_at: str | None = None


_THREAD_ACTIONS = {"resolved": True, "unresolved": False}


def handle_thread(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """A review thread that a person resolves or reopens. Only the database knows whether it is Forge's own."""
    event = _ThreadEvent.model_validate(payload)
    if event.action not in _THREAD_ACTIONS:
        return Ignored(reason="action_not_used")
    if event.sender.type != "User":
        return Ignored(reason="sent_by_an_app")
    root = event.thread.comments[0]
    if root.user is None or root.user.type not in {"Bot", None}:
        return Ignored(reason="thread_of_a_person")
    return commands.RecordThread(
        repository=event.to_ref(),
        number=event.pull_request.number,
        root=root.in_reply_to_id or root.id,
        thread=event.thread.node_id,
        is_resolved=_THREAD_ACTIONS[event.action],
        head_sha=event.pull_request.head.sha,
        sender=event.sender.as_sender(),
        is_dated=event.updated_at is not None,
    )


def _ignore(event: RepositoryEvent, comment: _Comment, action: str) -> Ignored | None:
    """Why a comment may not command, whatever it says (T-P3, T-P4); None if it may.

    :param action: the event's action when such a comment is created.
    """
    if event.action == "edited":
        return Ignored(reason="comment_edited")
    if event.action != action:
        return Ignored(reason="action_not_used")
    author = comment.user
    if author is None or author.type != "User" or event.sender.type != "User":
        return Ignored(reason="sent_by_an_app")
    if comment.performed_via_github_app is not None:
        return Ignored(reason="sent_by_an_app")
    return None if author.id == event.sender.id else Ignored(reason="sender_is_not_the_author")


def _find_command(
    written: WrittenComment,
    body: str | None,
    written_at: datetime,
    subject: Subject,
    opened_by: AccountView | None,
    path: str = "",
    line: int | None = None,
) -> commands.ExecuteComment | None:
    """The commands in a comment, as one request; None if it holds none."""
    asked = slash.read(body or "", in_thread=written.comment.thread is not None)
    if not asked:
        return None
    return commands.ExecuteComment(
        repository=written.repository,
        number=written.number,
        is_pull_request=written.is_pull_request,
        comment=written.comment,
        written_at=written_at,
        head_sha=subject.head.sha if isinstance(subject, PullSubject) else None,
        opened_by=opened_by.id if opened_by else None,
        sender=written.sender,
        asked=asked,
        seen=subject.to_seen(),
        path=path,
        line=line,
    )


def _find_remark(written: WrittenComment, body: str | None, subject: Subject) -> commands.ReadRemark | None:
    """The words of a comment that quotes or mentions somebody, who may be Forge; None if it does neither."""
    quoted, words = split_quotes(strip_invisible((body or "")[:MOST_READ]))
    mentioned = find_mentions(words)
    if not words or not (quoted or mentioned):
        return None
    return commands.ReadRemark(
        repository=written.repository,
        number=written.number,
        is_pull_request=written.is_pull_request,
        comment=written.comment,
        words=words[:LONGEST_WORDS],
        quoted=tuple(passage[:LONGEST_WORDS] for passage in quoted[:_MOST_QUOTES]),
        mentioned=mentioned[:_MOST_MENTIONS],
        sender=written.sender,
        seen=subject.to_seen(),
    )
