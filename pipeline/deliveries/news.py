"""Handles the events that ask for nothing: each goes to the module that its news is for."""

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
from messages.deliveries import NOT_PROPOSED
from pipeline.deliveries.change_requests import forward_change_request
from pipeline.deliveries.checks_ended import wake_owners
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.merge_queue import report_dequeued, report_merge_group
from pipeline.deliveries.pushes import follow_push
from pipeline.deliveries.repositories import follow_repository
from pipeline.deliveries.threads import handle_thread
from pipeline.deliveries.welcome import welcome_repositories
from pipeline.feedback.replies.intake import handle_reply
from pipeline.feedback.replies.remarks import handle_remark

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
