"""Handles a delivery in a short durable workflow, and records how it ended in the deliveries table."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

import structlog
from dbos import DBOS
from dbos._error import DBOSUnexpectedStepError  # not exported
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from domain.commands import (
    COMMAND,
    AnyCommand,
    DecideGate,
    EndInstallation,
    EndIssue,
    EndPullRequest,
    ExecuteComment,
    LabelledIssue,
    ResumeInstallation,
    ReviewCheckedHead,
    ReviewPullRequest,
    SteerDeployment,
)
from domain.errors import OWN_MISTAKE, Forbidden, ForgeError, NotAllowed, NotFound
from domain.runs.run import NotStarted, RunStart
from memory.deliveries import deliveries
from memory.reports.retention import DELIVERY_RETENTION
from messages import commands as command_texts
from messages import deliveries as texts
from pipeline.context import Services
from pipeline.deliveries import buttons, labels, reviews, steering
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.commands.executor import CommandExecutor, is_read_only
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.news import handle_news
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import is_restart
from pipeline.publishing import comments, trouble

log = structlog.get_logger(__name__)

Outcome = str | RunStart | Sequence[RunStart]


async def dispatch(services: Services, guid: str, repeats: str | None = None) -> str:
    """Handle a stored delivery; how it ended. This is the work of the delivery's workflow.

    :param repeats: the GUID under which the command was stored, if this delivery repeats another one.
    """
    row = await deliveries.find(services.database, repeats or guid)
    if row is None:
        return texts.UNKNOWN
    try:
        command = COMMAND.validate_python(row.command)
    except ValidationError:
        return await _finish(services, guid, texts.OTHER_VERSION)
    is_from_github = row.guid == guid == deliveries.strip_replay_mark(guid)  # not from `forge replay`
    if is_from_github and isinstance(command, ExecuteComment) and _is_too_old(command, row.received_at):
        return await _finish(services, guid, texts.TOO_OLD)
    # Pauses may be long: GitHub will not send it again.
    tell = partial(trouble.tell, services, guid, command)
    pauses, told = services.long_pauses, partial(tell, is_repeated=True)
    journal = WorkflowJournal(services, DBOS.workflow_id or guid, pauses=pauses, failing=told)
    context = DeliveryContext(services, journal, guid)
    with bound_contextvars(delivery=guid):
        outcome = await _try_handle(context, command, tell)
        # No steps: they come last, and repeating them changes nothing.
        if await _is_in_vain(context, command, outcome):
            await deliveries.allow_repeat(services.database, guid)
        return await _finish(services, guid, _describe(outcome))


def _is_too_old(comment: ExecuteComment, received_at: datetime) -> bool:
    return received_at - comment.written_at > DELIVERY_RETENTION


async def _finish(services: Services, guid: str, outcome: str) -> str:
    await deliveries.finish(services.database, guid, outcome, services.clock.now())
    return outcome


async def _try_handle(
    context: DeliveryContext, command: AnyCommand, tell: Callable[[ForgeError], Awaitable[None]]
) -> Outcome:
    """The outcome; one that people would not see is told them. No step: it comes last, and is told once."""
    try:
        outcome = await _handle(context, command)
        if context.journal.is_failure_told:
            await trouble.withdraw(context.services, context.guid, command)
        return outcome
    except NotAllowed as refused:
        return refused.message
    except (Forbidden, NotFound) as error:  # uninstalled, suspended, deleted: there is nobody to answer
        log.warning("delivery.ignored", guid=context.guid, error=str(error))
        await tell(error)
        return texts.describe_ignored(error.message)
    except ForgeError as error:
        log.warning("delivery.failed", guid=context.guid, error=str(error))
        await tell(error)
        return texts.describe_failure(error.message)
    except DBOSUnexpectedStepError:
        raise
    except Exception:
        log.exception("delivery.unexpected", guid=context.guid)
        await tell(ForgeError(OWN_MISTAKE))
        return texts.MISTAKE


async def _handle(context: DeliveryContext, command: AnyCommand) -> Outcome:
    match command:
        case ReviewPullRequest():
            return await reviews.handle_review(context, command)
        case ReviewCheckedHead():
            return await reviews.review_again(context, command)
        case LabelledIssue():
            return await labels.handle_label(context, command)
        case EndPullRequest() | EndIssue() | EndInstallation() | ResumeInstallation():
            return await Cancellation(context).carry_out(command)
        case ExecuteComment() if is_restart(context.journal.workflow_id) and not is_read_only(command):
            return await _ask_to_repeat(context, command)
        case ExecuteComment():
            return await CommandExecutor(context, command).execute()
        case DecideGate():
            return await buttons.handle_button(context, command)
        case SteerDeployment():
            return await steering.handle_button(context, command)
        case _:
            return await handle_news(context, command)


async def _ask_to_repeat(context: DeliveryContext, comment: ExecuteComment) -> str:
    """Its commands may be executed already. Executing them again hours later could undo newer ones."""
    await context.journal.step("reply", _reply_to_repeat, context, comment)
    return texts.RESTARTED


async def _reply_to_repeat(context: DeliveryContext, comment: ExecuteComment) -> None:
    answers = [command_texts.Answer("", command_texts.ASK_TO_REPEAT)]
    await comments.answer(context.services, comment, context.guid, answers)


async def _is_in_vain(context: DeliveryContext, command: AnyCommand, outcome: Outcome) -> bool:
    """Whether a pressed button did nothing. GitHub reports the next press in the same words, so that one must count."""
    match command:
        case ReviewCheckedHead():
            return isinstance(outcome, str) or all(isinstance(each, NotStarted) for each in _list_starts(outcome))
        case DecideGate():
            return await buttons.is_in_vain(context, command)
        case _:
            return False


def _list_starts(outcome: RunStart | Sequence[RunStart]) -> Sequence[RunStart]:
    return outcome if isinstance(outcome, Sequence) else [outcome]


def _describe(outcome: Outcome) -> str:
    return outcome if isinstance(outcome, str) else texts.describe_starts(_list_starts(outcome))
