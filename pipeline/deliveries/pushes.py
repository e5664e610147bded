"""Handles pushes: what goes into a rewritten branch is compared anew, as a verdict is about one base."""

from domain.commands import FollowForcedPush, ReadMemoryFile, ReviewPullRequest
from domain.runs.run import Run, Trigger
from memory.runs import runs
from messages import deliveries as texts
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.repositories import read_memory_file
from pipeline.deliveries.run_starter import RunStarter

_MOST = 50  # pull requests, the newest


async def follow_push(context: DeliveryContext, command: ReadMemoryFile | FollowForcedPush) -> str:
    """Read the memory file of the default branch, and review what goes into a rewritten branch.

    The same merge base asks for nothing.
    """
    if isinstance(command, ReadMemoryFile):
        return await read_memory_file(context, command)
    found = await context.journal.step("what goes into it", _list_into, context, command)
    for run in found:
        review = ReviewPullRequest(
            repository=command.repository,
            number=run.number,
            head_sha=run.head_sha,
            trigger=Trigger.pull_request,
            sender=command.sender,
        )
        await RunStarter(context).start_review(review)
    if command.is_default:
        read = ReadMemoryFile(repository=command.repository, sender=command.sender, head_sha=command.head_sha)
        await read_memory_file(context, read)
    return texts.describe_rewritten([run.number for run in found])


async def _list_into(context: DeliveryContext, command: FollowForcedPush) -> list[Run]:
    return [*await runs.list_into(context.services.database, command.repository.id, command.branch, _MOST)]
