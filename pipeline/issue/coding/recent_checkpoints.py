"""Describes the newest checkpoints of a piece of work, for a question about the agent that works on it."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import pairwise

from domain.runs.patches import NO_CHANGES
from domain.runs.work_checkpoint import BrokenCheckpoint, Link, load_states
from memory.db.engine import Database
from memory.runs import work_checkpoints
from messages import checkpoints as texts


async def describe_recent(database: Database, run_id: str, work: str) -> str:
    """The newest checkpoints of this piece of work, as Markdown; empty if there are none."""
    of_work = [each for each in await work_checkpoints.list_of_run(database, run_id) if each.key.work == work]
    if not of_work:
        return ""
    chain = await work_checkpoints.load_chain(database, of_work[-1].key)
    paths = await asyncio.to_thread(list_changed_paths, chain)
    return texts.render_recent([link.checkpoint for link in chain], paths)


def list_changed_paths(chain: Sequence[Link]) -> Mapping[str, Sequence[str]]:
    """By the id of a checkpoint: the files that changed since the one before; nothing if that cannot be told.

    :param chain: all checkpoints of one piece of work, in order.
    """
    try:
        states = load_states(chain)
    except BrokenCheckpoint:
        return {}
    reached = [NO_CHANGES, *(states[link.checkpoint.id] for link in chain)]
    changed = [[file.path for file in now.since(before).files] for before, now in pairwise(reached)]
    return {link.checkpoint.id: paths for link, paths in zip(chain, changed, strict=True)}
