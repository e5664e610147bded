"""Answers one command that asks a model, or words that ask for the same, in a workflow of its own."""

from functools import partial

import structlog

from agents.syntax.quotes import REVIEWER
from domain.config.configuration import Configuration
from domain.errors import ForgeError, Superseded
from domain.github.conversation import CommentKind
from domain.runs.run import Run
from domain.slash import Describe, TextCommand, Walkthrough
from messages import descriptions
from pipeline.config.loading import load_configuration
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.description import DescriptionAnswer
from pipeline.feedback.answers.instruction import RequestInWords, admit_words
from pipeline.feedback.answers.question import AskedQuestion, answer_question
from pipeline.feedback.answers.remark import Understood, load_subject, understand_words
from pipeline.feedback.answers.request import AnswerRequest, RepliedTo
from pipeline.feedback.answers.walkthrough import walk_through
from pipeline.run_context import RunContext

log = structlog.get_logger(__name__)


async def answer_request(services: Services, run: Run, queued: str, guid: str, workflow_id: str) -> str:
    """Find the answer and post it; the outcome in a few words. Whoever asked gets an answer in any case.

    :param queued: an :class:`AnswerRequest` as JSON.
    """
    request = AnswerRequest.model_validate_json(queued)
    context = RunContext(services, run, WorkflowJournal(services, workflow_id))
    try:
        text = await _find_answer(context, request, guid)
    except Superseded:
        text = descriptions.HEAD_MOVED
    except ForgeError as error:
        log.warning("answer.failed", run=run.id, error=str(error))
        text = descriptions.report_failure(request.asked.verb, str(error))
    return await _post(context, request, guid, text) if text else "nothing to answer"


async def _find_answer(context: RunContext, request: AnswerRequest, guid: str) -> str:
    """The answer; empty for words that ask nothing, and where it stands elsewhere."""
    match request.asked:
        case TextCommand():
            return await _answer_question(context, request, guid, request.asked.text)
        case Describe():
            return await DescriptionAnswer(context, request, request.make_key(guid), request.asked.apply).find_answer()
        case Walkthrough():
            return await walk_through(context, request, request.make_key(guid))


async def _answer_question(context: RunContext, request: AnswerRequest, guid: str, words: str) -> str:
    services, key = context.services, request.make_key(guid)
    configuration = await context.journal.step("what is configured", _load_configuration, context)
    if request.replied_to is not None:
        understood = await understand_words(context, key, words, request.replied_to, configuration)
        if understood.is_answer or (understood.is_request and request.replied_to.is_mention):
            return await _hand_over(context, request, key, words, understood)
        if not understood.is_question:
            return understood.told
    about = await context.journal.step("what it is about", load_subject, services, context.run, request)
    may_still_ask = partial(request.may_still_ask, services)
    asked = AskedQuestion(key, words, about, may_still_ask)
    answer = await answer_question(context, asked, configuration)
    is_below = request.comment.comment.kind is not CommentKind.review_comment
    asked = words.strip().removeprefix(REVIEWER).lstrip(" ,:;\n").replace(REVIEWER, "Forge")
    return descriptions.quote_question(asked, answer) if is_below else answer


async def _hand_over(context: RunContext, request: AnswerRequest, key: str, words: str, understood: Understood) -> str:
    """Carry out what words ask for, or go on with what they answer; the answer, if there is one already."""
    place, named = request.replied_to or RepliedTo(), understood.command
    if understood.describes:
        described = await DescriptionAnswer(
            context, request.model_copy(update={"asked": Describe()}), key, applies=False
        ).find_answer()
        return f"{understood.told}\n\n{described}"
    asked = RequestInWords(
        comment=request.comment,
        words=words,
        key=key if named is None else f"{key}.{named}",
        path=place.path,
        line=place.line,
        question=place.question if understood.is_answer else None,
        named=named,
    )
    queued = await context.journal.step("admit it", admit_words, context.services, asked)
    if queued.run_id is None:
        return queued.refused
    await enqueue_instruction(queued.run_id, context.run.repository.id, context.run.number)
    return "" if named is None else understood.told


async def _load_configuration(context: RunContext) -> Configuration:
    return await load_configuration(context.services, context.run.repository)


async def _post(context: RunContext, request: AnswerRequest, guid: str, text: str) -> str:
    try:
        await context.journal.step("answer", request.answer, context.services, guid, text)
    except ForgeError as error:  # such as a locked conversation
        log.warning("answer.unposted", run=context.run.id, error=str(error))
        return f"not posted: {error.message}"
    return "answered"
