"""Executes what takes a model, such as ``ask`` and ``do``: checks what can be checked at once, and queues it."""

from domain.slash.commands import (
    AskFix,
    Describe,
    Mend,
    TakeBaseIn,
    TextCommand,
    Walkthrough,
    WriteChangelog,
    WriteTests,
)
from domain.slash.verbs import Verb
from messages import commands as texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.instruction import admit_instruction
from pipeline.feedback.answers.request import AnswerRequest, QueuedAnswer, find_open_question, find_run, make_key
from pipeline.publishing.instructions import Instruction

_Answered = TextCommand | Describe | Walkthrough


async def ask(context: CommandContext, asked: TextCommand | Describe | Walkthrough) -> str:
    """``/forge ask``: answer a question from the code."""
    queued = await context.step_with_permission(asked.verb, asked, _find_run, context, asked)
    return await _enqueue(context, asked, queued)


async def read_change(context: CommandContext, asked: Describe | Walkthrough) -> str:
    """``/forge describe`` and ``/forge walkthrough``: say what a pull request changes."""
    return await ask(context, asked) if context.comment.is_pull_request else texts.only_on_pull_requests(asked.verb)


Work = TextCommand | TakeBaseIn | Mend | AskFix | WriteTests | WriteChangelog


async def carry_out(context: CommandContext, asked: Work) -> str:
    """``/forge do``, ``update``, ``mend``, ``fix``, ``tests`` and ``changelog``: work on a pull request's branch."""
    if not context.comment.is_pull_request:
        return texts.only_on_pull_requests(asked.verb)
    queued = await context.step_with_permission(asked.verb, asked, _admit, context, asked)
    if queued.run_id is None:
        return queued.refused
    await enqueue_instruction(queued.run_id, context.repository.id, context.number)
    return texts.NO_ANSWER


async def _admit(context: CommandContext, asked: Work) -> QueuedAnswer:
    comment = context.comment
    key = make_key(context.guid, comment.asked.index(asked))
    if isinstance(asked, AskFix) and not asked.everything:
        meant = await find_meant(context, asked.finding)
        if not meant:
            return QueuedAnswer(refused=await answer_no_finding(context, asked))
        asked = asked.model_copy(update={"finding": meant[0].id})
    instruction = Instruction.of(comment, asked, key, comment.path, comment.line)
    if isinstance(asked, Mend) and asked.text:
        where = (context.database, context.repository, context.number)
        found = await find_open_question(*where, verb=Verb.mend)
        instruction = (instruction if found is None else found.instruction).go_on(
            "" if found is None else found.text, asked.text, comment, key
        )
    return await admit_instruction(context.services, instruction, context.actor, key)


async def _enqueue(context: CommandContext, asked: _Answered, queued: QueuedAnswer) -> str:
    if queued.run_id is None:
        return queued.refused
    await _build_request(context, asked).enqueue(queued.run_id, context.guid)
    return texts.NO_ANSWER


async def _find_run(context: CommandContext, asked: _Answered) -> QueuedAnswer:
    key = _build_request(context, asked).make_key(context.guid)
    return await find_run(context.services, context.comment, context.actor, asked.verb, key)


def _build_request(context: CommandContext, asked: _Answered) -> AnswerRequest:
    return AnswerRequest(comment=context.comment, asked=asked, index=context.comment.asked.index(asked))
