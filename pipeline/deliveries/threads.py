"""Handles review threads that people resolve or reopen: that dismisses a finding, or takes the dismissal back."""

from functools import partial

from domain.commands import RecordThread
from domain.slash.verbs import VERBS, Verb
from pipeline.consistent_reads import read_when_visible
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.follow_up import follow_up
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
