"""Executes what takes a model, such as ``ask``, ``do`` and ``address``: checks it at once, and queues it."""

import asyncio

from agents.llm.models import ModelTier, Unusable
from domain.commands import WrittenComment
from domain.errors import HostFailure
from domain.github.conversation import CommentKind, CommentRef, ReviewThread
from domain.review.findings import Finding
from domain.review.identity import find_again
from domain.slash import (
    AboutFinding,
    AddressThreads,
    AskFix,
    Describe,
    Mend,
    TakeBaseIn,
    TextCommand,
    Walkthrough,
    WriteChangelog,
    WriteTests,
)
from domain.value import Value
from domain.verbs import Verb
from memory.learned import feedback
from memory.runs import checkpoints
from messages import commands as command_texts
from messages import commands as texts
from messages import updates as addressing_texts
from messages.commands import EarlierHead
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import require_meant
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.instruction import admit_instruction
from pipeline.feedback.answers.request import AnswerRequest, QueuedAnswer, find_open_question, find_run, make_key
from pipeline.publishing.instructions import Instruction
from pipeline.verdicts.suppression import load_heads
from safety.authorization import authorise

_Answered = TextCommand | Describe | Walkthrough


async def ask(context: CommandContext, asked: _Answered) -> str:
    """``/forge ask``: answer a question from the code."""
    request = AnswerRequest(comment=context.comment, asked=asked, index=context.comment.asked.index(asked))
    whose = (context.comment, context.actor, asked.verb, request.make_key(context.guid))
    queued = await context.step_with_permission(asked.verb, asked, find_run, context.services, *whose)
    if queued.run_id is None:
        return queued.refused
    await request.enqueue(queued.run_id, context.guid)
    return texts.NO_ANSWER


async def read_change(context: CommandContext, asked: Describe | Walkthrough) -> str:
    """``/forge describe`` and ``/forge walkthrough``: say what a pull request changes."""
    return await ask(context, asked) if context.comment.is_pull_request else texts.only_on_pull_requests(asked.verb)


Work = TextCommand | TakeBaseIn | Mend | AskFix | WriteTests | WriteChangelog


async def carry_out(context: CommandContext, asked: Work) -> str:
    """``/forge do``, ``update``, ``mend``, ``fix``, ``tests`` and ``changelog``: work on a pull request's branch."""
    if not context.comment.is_pull_request:
        return texts.only_on_pull_requests(asked.verb)
    return await enqueue(context, await context.step_with_permission(asked.verb, asked, _admit, context, asked))


async def enqueue(context: CommandContext, queued: QueuedAnswer) -> str:
    """Queue an instruction that was admitted; it answers itself. Why it was not, if it was not."""
    if queued.run_id is None:
        return queued.refused
    await enqueue_instruction(queued.run_id, context.repository.id, context.number)
    return texts.NO_ANSWER


async def _admit(context: CommandContext, asked: Work) -> QueuedAnswer:
    comment = context.comment
    key = make_key(context.guid, comment.asked.index(asked))
    if isinstance(asked, AskFix) and not asked.everything:
        meant = await require_meant(context, asked)
        asked = asked.model_copy(update={"finding": meant[0].id})
    instruction = Instruction.of(comment, asked, key, comment.path, comment.line)
    if isinstance(asked, Mend) and asked.text:
        where = (context.database, context.repository, context.number)
        found = await find_open_question(*where, verb=Verb.mend)
        instruction = (instruction if found is None else found.instruction).go_on(
            "" if found is None else found.text, asked.text, comment, key
        )
    return await admit_instruction(context.services, instruction, context.actor, key)


MOST = 20
"""Threads that are worked off at once."""


class AddressedThreads(Value):
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
    found = await context.step_with_permission(asked.verb, asked, _admit_thread, context, asked)
    for run_id in found.run_ids:
        await enqueue_instruction(run_id, context.repository.id, context.number)
    return found.refused or addressing_texts.report_begun(found.places, found.answered, found.left)


async def _admit_thread(context: CommandContext, asked: AddressThreads) -> AddressedThreads:
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
        places=tuple(each.path if each.line is None else f"{each.path}:{each.line}" for each in waiting[:MOST]),
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


class _Explanation(Value):
    """The answer, or the question to a model that finds it; in journals.

    :param run_id: the run for which the model is asked.
    """

    text: str = ""
    question: AnswerRequest | None = None
    run_id: str = ""


async def explain(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge explain``: a model is asked where the finding is open and the sender may ask it."""
    told = await context.step_with_permission(asked.verb, asked, _explain, context, asked)
    if told.question is None:
        return told.text
    await told.question.enqueue(told.run_id, context.guid)
    return texts.NO_ANSWER


async def _explain(context: CommandContext, asked: AboutFinding) -> _Explanation:
    finding = (await require_meant(context, asked))[0]
    known = await feedback.find_dismissed(context.database, *context.place, [finding.fingerprint])
    if finding.fingerprint in known:
        return _Explanation(text=texts.explain_finding(finding, known[finding.fingerprint]))
    earlier = await _find_earlier_head(context, finding)
    if earlier is not None:
        return _Explanation(text=texts.explain_finding(finding, earlier=earlier))
    question = TextCommand(verb=Verb.ask, text=texts.ask_to_explain(finding))
    model = context.services.models.choose(ModelTier.fast)
    if isinstance(model, Unusable) or authorise(question, context.actor.facts) is not None:
        return _Explanation(text=texts.explain_finding(finding))
    request = AnswerRequest(comment=context.comment, asked=question, index=context.comment.asked.index(asked))
    key = request.make_key(context.guid)
    queued = await find_run(context.services, context.comment, context.actor, asked.verb, key)
    if queued.run_id is None:
        return _Explanation(text=texts.explain_finding(finding))
    return _Explanation(question=request, run_id=queued.run_id)


async def _find_earlier_head(context: CommandContext, finding: Finding) -> EarlierHead | None:
    """The head that a finding is about, where that is not the newest one; None where it is."""
    where = (context.repository, context.number)
    review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
    heads = await load_heads(context.database, *where, finding)
    if review is None or heads is None:
        return None
    live = review.head_sha if context.actor.pull_request is None else context.actor.pull_request.head_sha
    is_reviewed = review.head_sha == live
    if is_reviewed and finding.fingerprint in review.fingerprints:
        return None
    is_kept = await _keeps_lines(context, finding, live)
    return EarlierHead(found_at=heads[1], newest=live, is_reviewed=is_reviewed, is_kept=is_kept)


async def _keeps_lines(context: CommandContext, finding: Finding, newest: str) -> bool | None:
    """Whether the statement of a finding still stands in its file; None if GitHub does not show that."""
    if finding.line is None:
        return None
    try:
        content = await context.services.host.file_content(context.repository, finding.path, newest)
    except HostFailure:
        return None
    lines = (content or b"").decode(errors="replace").split("\n")
    return await asyncio.to_thread(find_again, finding, lines) is not None
