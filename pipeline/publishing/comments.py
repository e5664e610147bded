"""Posts comments: answers to people, remarks below an issue or pull request, replies in threads, reactions."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import structlog

from domain.commands import WrittenComment
from domain.errors import CodeHostError, Halted, NotFound
from domain.github.conversation import CommentKind, CommentRef, Reaction
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from memory.runs import outbox
from messages import commands as command_texts
from messages.commands import Answer
from pipeline.context import Services
from pipeline.publishing.publisher import answer_once, write_once
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)


async def ensure_comment(services: Services, run: Run, step: str, marker: str, text: str) -> tuple[int, bool]:
    """The id of a comment below the issue or pull request of a run, and whether this call created it.

    :param step: names its creation.
    :param marker: by which the comment is found; part of ``text``.
    """
    is_new = False
    find = partial(services.host.find_comment, run.repository, run.number, marker)

    async def create() -> int:
        nonlocal is_new
        comment_id = await services.host.create_comment(run.repository, run.number, redact_outgoing(text))
        is_new = True
        return comment_id

    return await write_once(services, run, step, "comment", create, find=find), is_new


async def answer(services: Services, command: WrittenComment, guid: str, answers: Sequence[Answer]) -> None:
    """Answer a comment once: in its thread, or below the issue or pull request."""
    marker = services.markers.make("answer", guid)
    text = redact_outgoing(command_texts.compose(answers, marker))
    if command.comment.kind is CommentKind.review_comment:
        root = command.comment.thread or command.comment.id
        await _reply_once(services, command.repository, command.number, root, guid, text, marker)
    else:
        await _answer_below(services, command.repository, command.number, guid, text, marker)


async def change_answer(services: Services, command: WrittenComment, guid: str, answers: Sequence[Answer]) -> None:
    """Change the answer to a comment, unless there is none or somebody deleted it; may be repeated."""
    known = await outbox.find_remote_id(services.database, guid, "answer", "comment")
    if known is None:
        return
    text = redact_outgoing(command_texts.compose(answers, services.markers.make("answer", guid)))
    is_in_thread = command.comment.kind is CommentKind.review_comment
    edit = services.host.edit_review_comment if is_in_thread else services.host.edit_comment
    with suppress(NotFound):
        await edit(command.repository, known, text)


async def answer_below(services: Services, repository: RepositoryRef, number: int, key: str, text: str) -> None:
    """Comment below an issue or pull request, once for this key."""
    marker = services.markers.make("answer", key)
    await _answer_below(services, repository, number, key, redact_outgoing(f"{text}\n\n{marker}"), marker)


async def keep_comment(
    services: Services, repository: RepositoryRef, number: int, key: str, marker: str, text: str
) -> bool:
    """Keep one comment up to date that belongs to no run; False if somebody deleted it, as it stays deleted.

    :param key: names it among all of them.
    :param marker: by which it is found; part of ``text``.
    """
    known = await outbox.find_remote_id(services.database, key, "answer", "comment")
    if known is None:
        await _answer_below(services, repository, number, key, redact_outgoing(text), marker)
        return True
    try:
        await edit_comment(services, repository, known, text)
    except NotFound:
        log.info("comment.gone", key=key)
        return False
    return True


async def edit_comment(services: Services, repository: RepositoryRef, comment_id: int, text: str) -> None:
    """Change a comment below an issue or pull request; may be repeated.

    :raises NotFound: if a person deleted it.
    """
    await services.host.edit_comment(repository, comment_id, redact_outgoing(text))


async def reply_in_thread(
    services: Services, repository: RepositoryRef, number: int, root: int, guid: str, text: str
) -> None:
    """Reply in a review thread, once per delivery.

    :param root: the id of the thread's first comment.
    """
    marker = services.markers.make("answer", guid)
    await _reply_once(services, repository, number, root, guid, f"{text}\n\n{marker}", marker)


async def react(services: Services, repository: RepositoryRef, comment: CommentRef, reaction: Reaction) -> None:
    """React to a comment of a person; may be repeated."""
    with use_importance(Importance.informing):
        await services.host.react(repository, comment, reaction)


async def show_seen(services: Services, command: WrittenComment) -> None:
    """React to a comment that Forge takes for its own; may be repeated.

    Nothing waits for it, not even while Forge is halted: a decision may have a deadline. GitHub takes no reaction in a
    locked conversation, or if the comment is gone or not there yet.
    """
    with suppress(Halted, CodeHostError):
        await react(services, command.repository, command.comment, Reaction.seen)


async def _answer_below(
    services: Services, repository: RepositoryRef, number: int, key: str, text: str, marker: str
) -> None:
    find = partial(services.host.find_comment, repository, number, marker)
    create = partial(services.host.create_comment, repository, number, text)
    await answer_once(services, key, create, find=find)


async def _reply_once(
    services: Services, repository: RepositoryRef, number: int, root: int, key: str, text: str, marker: str
) -> None:
    find = partial(services.host.find_reply, repository, number, root, marker)
    create = partial(services.host.create_reply, repository, number, root, text)
    await answer_once(services, key, create, find=find)
