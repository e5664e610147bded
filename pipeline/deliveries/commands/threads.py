"""Executes ``address``: the open review threads of people become instructions, one after the other."""

from collections.abc import Sequence

from pydantic import BaseModel

from domain.commands import WrittenComment
from domain.github.conversation import CommentKind, CommentRef, ReviewThread
from domain.slash.commands import AddressThreads
from messages import addressing as texts
from messages import commands as command_texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.instruction import admit_instruction
from pipeline.publishing.instructions import Instruction

MOST = 20
"""Threads that are worked off at once."""


class AddressedThreads(BaseModel):
    """The threads that are worked off; in journals.

    :param run_ids: of their instructions, in order.
    :param places: ``path:line`` of each.
    :param answered: how many others Forge answered last.
    :param left: how many others are too many.
    :param refused: why nothing is done, as an answer; empty if something is.
    """

    run_ids: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    answered: int = 0
    left: int = 0
    refused: str = ""


async def address(context: CommandContext, asked: AddressThreads) -> str:
    """``/forge address``: do what the open threads of people ask for."""
    if not context.comment.is_pull_request:
        return command_texts.only_on_pull_requests(asked.verb)
    found = await context.step_with_permission(asked.verb, asked, _admit, context, asked)
    for run_id in found.run_ids:
        await enqueue_instruction(run_id, context.repository.id, context.number)
    return found.refused or texts.report_begun(found.places, found.answered, found.left)


async def _admit(context: CommandContext, asked: AddressThreads) -> AddressedThreads:
    """Admit an instruction for each thread; may be repeated."""
    listed = await context.services.host.review_threads(context.repository, context.number)
    opened = [each for each in listed if each.comments and each.comments[0].is_person and not each.is_resolved]
    waiting = sorted((each for each in opened if each.comments[-1].is_person), key=lambda each: each.comments[0].id)
    run_ids: list[str] = []
    for thread in waiting[:MOST]:
        instruction = _build_instruction(context, asked, thread)
        queued = await admit_instruction(context.services, instruction, context.actor, instruction.key)
        if queued.run_id is None:
            return AddressedThreads(refused=queued.refused)
        run_ids.append(queued.run_id)
    return AddressedThreads(
        run_ids=tuple(run_ids),
        places=_list_places(waiting[:MOST]),
        answered=len(opened) - len(waiting),
        left=len(waiting) - len(run_ids),
    )


def _build_instruction(context: CommandContext, asked: AddressThreads, thread: ReviewThread) -> Instruction:
    """What whoever wrote the command asks for in a thread of others, and is answered there."""
    root, comment = thread.comments[0].id, context.comment
    place = CommentRef(kind=CommentKind.review_comment, id=thread.comments[-1].id, node_id="", thread=root)
    there = WrittenComment(repository=comment.repository, number=comment.number, comment=place, sender=comment.sender)
    key = f"{context.guid}.{comment.asked.index(asked)}.{root}"
    return Instruction(comment=there, asked=asked, key=key, path=thread.path, line=thread.line)


def _list_places(threads: Sequence[ReviewThread]) -> tuple[str, ...]:
    return tuple(each.path if each.line is None else f"{each.path}:{each.line}" for each in threads)
