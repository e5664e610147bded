"""Loads the page of a checkpoint of an agent's work, for the terminal and for the dashboard."""

import asyncio

from domain.runs.work_checkpoint import WorkCheckpoint, load_states
from memory.db.engine import Database
from memory.runs import runs, work_checkpoints
from messages.work_page import PageRoom, RunFacts, WorkPage, view_checkpoint
from pipeline.verdicts.settings import find_mode


async def load_run_facts(database: Database, run_id: str) -> RunFacts:
    """The run that a page is about."""
    run = await runs.get(database, run_id)
    return RunFacts(run_id, run, None if run is None else await find_mode(database, run))


async def load_checkpoint_page(
    database: Database, checkpoint: WorkCheckpoint, since: WorkCheckpoint | None, room: PageRoom
) -> WorkPage:
    """The page of one checkpoint and the diff that leads to it.

    :param since: the checkpoint of the same work that the diff begins at; None: the base.
    :raises BrokenCheckpoint: what they hold is not as it was written.
    """
    chain = await work_checkpoints.load_chain(database, checkpoint.key)
    run = await load_run_facts(database, checkpoint.key.run_id)
    states = await asyncio.to_thread(load_states, chain)
    made = [link.checkpoint for link in chain]
    return await asyncio.to_thread(view_checkpoint, made, states, run, checkpoint, since, room)
