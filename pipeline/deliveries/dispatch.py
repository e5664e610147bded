"""Handles a delivery in a short durable workflow, and records how it ended in the deliveries table."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from dbos import DBOS
from dbos._error import DBOSUnexpectedStepError  # not exported
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from domain import commands
from domain.commands import COMMAND, AnyCommand, Command
from domain.errors import OWN_MISTAKE, Forbidden, ForgeError, NotAllowed, NotFound
from domain.runs.run import NotStarted, RunStart
from memory.deliveries import deliveries
from memory.reports.retention import DELIVERY_RETENTION
from messages import commands as command_texts
from messages import deliveries as texts
from pipeline.automation.welcome import welcome_repositories
from pipeline.context import DeliveryContext, Services
from pipeline.deliveries import buttons, cancellation, repositories, starts
from pipeline.deliveries.commands.executor import CommandExecutor, is_read_only
from pipeline.deliveries.proposals import forward_change_request, wake_owners
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import is_restart
from pipeline.feedback.replies import remarks
from pipeline.feedback.threads import handle_thread
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
    if (
        is_from_github
        and isinstance(command, commands.ExecuteComment)
        and row.received_at - command.written_at > DELIVERY_RETENTION
    ):
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
        ended = outcome if isinstance(outcome, str) else texts.describe_starts(_list_starts(outcome))
        return await _finish(services, guid, ended)


async def _finish(services: Services, guid: str, outcome: str) -> str:
    await deliveries.finish(services.database, guid, outcome, services.clock.now())
    return outcome


async def _try_handle(
    context: DeliveryContext, command: AnyCommand, tell: Callable[[ForgeError], Awaitable[None]]
) -> Outcome:
    """The outcome; one that people would not see is told them. No step: it comes last, and is told once."""
    try:
        outcome = await HANDLERS[type(command)](context, command)
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


async def _execute_comment(context: DeliveryContext, command: commands.ExecuteComment) -> str:
    if not is_restart(context.journal.workflow_id) or is_read_only(command):
        return await CommandExecutor(context, command).execute()
    # Its commands may be executed already. Executing them again hours later could undo newer ones.
    answers = [command_texts.Answer("", command_texts.ASK_TO_REPEAT)]
    await context.journal.step("reply", comments.answer, context.services, command, context.guid, answers)
    return texts.RESTARTED


async def _handle_change_request(context: DeliveryContext, command: commands.ChangesRequested) -> str:
    forwarded = await forward_change_request(context, command)
    if command.remark is None or forwarded != texts.NOT_PROPOSED:
        return forwarded
    return await remarks.handle_remark(context, command.remark)


HANDLERS: Mapping[type[Command], Callable[[DeliveryContext, Any], Awaitable[Outcome]]] = {
    commands.ReviewPullRequest: starts.handle_review,
    commands.ReviewCheckedHead: starts.review_again,
    commands.LabelledIssue: starts.handle_label,
    commands.EndPullRequest: cancellation.end_pull_request,
    commands.EndIssue: cancellation.end_issue,
    commands.EndInstallation: cancellation.end_installation,
    commands.ResumeInstallation: cancellation.close_open_checks,
    commands.ExecuteComment: _execute_comment,
    commands.DecideGate: buttons.press_gate,
    commands.SteerDeployment: buttons.press_deployment,
    commands.RecordThread: handle_thread,
    commands.ChangesRequested: _handle_change_request,
    commands.ReadReply: remarks.handle_reply,
    commands.ReadRemark: remarks.handle_remark,
    commands.ReportMergeGroup: repositories.report_merge_group,
    commands.LeftMergeQueue: repositories.report_dequeued,
    commands.FollowRepository: repositories.follow_repository,
    commands.FollowForcedPush: repositories.follow_push,
    commands.ChecksEnded: wake_owners,
    commands.WelcomeRepositories: welcome_repositories,
}
"""What becomes of each command; how that ended."""


async def _is_in_vain(context: DeliveryContext, command: AnyCommand, outcome: Outcome) -> bool:
    """Whether a pressed button did nothing. GitHub reports the next press in the same words, so that one must count."""
    match command:
        case commands.ReviewCheckedHead():
            return isinstance(outcome, str) or all(isinstance(each, NotStarted) for each in _list_starts(outcome))
        case commands.DecideGate():
            return await buttons.is_gate_press_in_vain(context, command)
        case _:
            return False


def _list_starts(outcome: RunStart | Sequence[RunStart]) -> Sequence[RunStart]:
    return outcome if isinstance(outcome, Sequence) else [outcome]
