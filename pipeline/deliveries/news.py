"""Handles the events that ask for nothing, threads that people resolve or reopen among them."""

from functools import partial

from domain.commands import (
    ChangesRequested,
    ChecksEnded,
    FollowForcedPush,
    FollowRepository,
    LeftMergeQueue,
    ReadMemoryFile,
    ReadRemark,
    ReadReply,
    RecordThread,
    ReportMergeGroup,
    WelcomeRepositories,
)
from domain.verbs import VERBS, Verb
from messages.deliveries import NOT_PROPOSED
from pipeline.consistent_reads import read_when_visible
from pipeline.deliveries.change_requests import forward_change_request
from pipeline.deliveries.checks_ended import wake_owners
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.follow_up import follow_up
from pipeline.deliveries.repositories import follow_push, follow_repository, report_dequeued, report_merge_group
from pipeline.deliveries.welcome import welcome_repositories
from pipeline.feedback.replies.intake import handle_reply
from pipeline.feedback.replies.remarks import handle_remark
from pipeline.verdicts.thread_decisions import record_resolution


async def handle_thread(context: DeliveryContext, command: RecordThread) -> str:
    """Record the resolution and do what follows, as after ``/forge dismiss``; how that ended."""
    record = partial(_record, context, command)
    outcome = await read_when_visible(context.services, context.journal, "note the thread", record, command.root)

    async def show() -> str:
        return outcome  # the thread shows it already

    return await follow_up(context, command.repository, command.number, VERBS[Verb.dismiss].effects, show)


async def _record(context: DeliveryContext, command: RecordThread, root: int | None) -> str:
    return await record_resolution(context.services, context.guid, command, is_early=root is not None)


News = (
    RecordThread
    | ChangesRequested
    | ReadReply
    | ReadRemark
    | ReportMergeGroup
    | LeftMergeQueue
    | FollowRepository
    | ReadMemoryFile
    | FollowForcedPush
    | ChecksEnded
    | WelcomeRepositories
)


async def handle_news(context: DeliveryContext, command: News) -> str:
    """Handle what happened without a command."""
    match command:
        case RecordThread():
            return await handle_thread(context, command)
        case ChangesRequested():
            forwarded = await forward_change_request(context, command)
            if command.remark is None or forwarded != NOT_PROPOSED:
                return forwarded
            return await handle_remark(context.services, context.journal, command.remark, context.guid)
        case ReadReply():
            return await handle_reply(context.services, context.journal, command, context.guid)
        case ReadRemark():
            return await handle_remark(context.services, context.journal, command, context.guid)
        case ReportMergeGroup():
            return await report_merge_group(context, command)
        case LeftMergeQueue():
            return await report_dequeued(context, command)
        case FollowRepository():
            return await follow_repository(context, command)
        case ReadMemoryFile() | FollowForcedPush():
            return await follow_push(context, command)
        case ChecksEnded():
            return await wake_owners(context, command)
        case WelcomeRepositories():
            return await welcome_repositories(context, command)
