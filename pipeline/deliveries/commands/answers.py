"""Executes ``fix`` and ``ask``: checks what can be checked at once, and queues what takes a model."""

from pydantic import BaseModel

from domain.slash.commands import AboutFinding, TextCommand
from memory.repositories import permits
from memory.runs import runs
from messages import commands as texts
from messages import fixes as fix_texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.feedback.answers.request import AnswerRequest
from safety.eligibility import needs_ok


class QueuedAnswer(BaseModel):
    """The run for which a command is answered; in journals.

    :param run_id: None if it is not queued.
    :param refused: then, the answer.
    """

    run_id: str | None = None
    refused: str = ""


async def fix(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge fix``: propose a change that fixes a finding."""
    if not context.comment.is_pull_request:
        return texts.only_on_pull_requests(asked.verb)
    queued = await context.step_with_permission(asked.verb, asked, _prepare_fix, context, asked)
    return await _enqueue(context, asked, queued)


async def ask(context: CommandContext, asked: TextCommand) -> str:
    """``/forge ask``: answer a question from the code."""
    if not context.comment.is_pull_request:
        return texts.only_on_pull_requests(asked.verb)
    queued = await context.step_with_permission(asked.verb, asked, _find_run, context, asked)
    return await _enqueue(context, asked, queued)


async def _enqueue(context: CommandContext, asked: AboutFinding | TextCommand, queued: QueuedAnswer) -> str:
    if queued.run_id is None:
        return queued.refused
    request = AnswerRequest(comment=context.comment, asked=asked, index=context.comment.asked.index(asked))
    await request.enqueue(queued.run_id, context.guid)
    return texts.NO_ANSWER


async def _prepare_fix(context: CommandContext, asked: AboutFinding) -> QueuedAnswer:
    if not await find_meant(context, asked.finding):
        return QueuedAnswer(refused=await answer_no_finding(context, asked))
    return await _find_run(context, asked)


async def _find_run(context: CommandContext, asked: AboutFinding | TextCommand) -> QueuedAnswer:
    """The newest run, if it is about the live head and Forge may work on that."""
    pull, repository = context.actor.pull_request, context.repository
    if pull is None or not pull.is_open:
        return QueuedAnswer(refused=texts.nothing_to_review())
    paused_by = await permits.find_pauser(context.database, repository)
    if paused_by is not None:
        return QueuedAnswer(refused=texts.already_paused(paused_by))
    services = context.services
    loaded = await loading.load(services.host, context.database, repository, services.ceilings.of_configuration)
    if not context.actor.has_ok and needs_ok(pull, loaded.configuration.review, repository.id) is not None:
        return QueuedAnswer(refused=fix_texts.refuse_without_ok(asked.verb))
    past = await runs.list_for_pull_request(context.database, repository.id, context.number)
    if not past or past[0].run.head_sha != pull.head_sha:
        return QueuedAnswer(refused=fix_texts.report_unread_head(asked.verb, pull.head_sha))
    return QueuedAnswer(run_id=past[0].run.id)
