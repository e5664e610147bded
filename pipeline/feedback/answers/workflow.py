"""Answers one command that asks a model, in a workflow of its own."""

import structlog

from domain.errors import ForgeError, Superseded
from domain.runs.run import Run
from domain.slash.commands import AboutFinding, TextCommand
from messages import fixes as texts
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.feedback.answers.fix import FixAnswer
from pipeline.feedback.answers.question import QuestionAnswerer
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.run_context import RunContext

log = structlog.get_logger(__name__)


async def answer_request(services: Services, run: Run, request: AnswerRequest, guid: str, workflow_id: str) -> str:
    """Find the answer and post it; the outcome in a few words. Whoever asked gets an answer in any case."""
    context = RunContext(services, run, WorkflowJournal(services, workflow_id))
    try:
        text = await _find_answer(context, request, guid)
    except Superseded:
        text = texts.report_moved_head()
    except ForgeError as error:
        log.warning("answer.failed", run=run.id, error=str(error))
        text = texts.report_failure(request.asked.verb, str(error))
    return await _post(context, request, guid, text)


async def _find_answer(context: RunContext, request: AnswerRequest, guid: str) -> str:
    match request.asked:
        case TextCommand():
            return await QuestionAnswerer(context, request, guid, request.asked.text).find_answer()
        case AboutFinding():
            return await FixAnswer(context, request, guid, request.asked).find_answer()


async def _post(context: RunContext, request: AnswerRequest, guid: str, text: str) -> str:
    try:
        await context.journal.step("answer", request.answer, context.services, guid, text)
    except ForgeError as error:  # such as a locked conversation
        log.warning("answer.unposted", run=context.run.id, error=str(error))
        return f"not posted: {error.message}"
    return "answered"
