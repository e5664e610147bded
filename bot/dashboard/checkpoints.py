"""The pages of what agents kept of their work: all of a run, one checkpoint with its diff, two compared."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from bot.dashboard.runs import load_run
from bot.dashboard.visit import NotHere, Page, Shown, Visit
from domain.runs.patches import NO_CHANGES
from domain.runs.work_checkpoint import BrokenCheckpoint, Link, WorkCheckpoint, load_states
from memory.runs import work_checkpoints
from messages.checkpoints import DiffRoom, ShownDiff, describe_cause, describe_exceeded, fit_diff, name_change
from safety.notices import find_exceeded

LEAST = "write"
"""What an agent drafted may hold what was never proposed, so readers of a public repository do not see it."""
MOST = 500
"""Checkpoints on one page, the newest ones."""
NAMED = 20
"""Files of one checkpoint that are named."""
_BROKEN = (
    "What this checkpoint holds is not as it was written, so it is not shown and cannot be restored. Write /forge run "
    "on GitHub to begin anew."
)


async def list_checkpoints(visit: Visit) -> Shown:
    """All that a run's agents kept, by piece of work."""
    run = (await load_run(visit)).run
    made = await work_checkpoints.list_of_run(visit.database, run.id)
    exceeded = find_exceeded(await work_checkpoints.load_facts(visit.database, run.id))
    shown = {
        "run": run,
        "works": _group(made[-MOST:]),
        "left": max(0, len(made) - MOST),
        "remark": describe_exceeded(exceeded),
        "causes": _describe_causes(made),
    }
    return Page("checkpoints.html", f"Checkpoints of #{run.number}", shown)


async def show_checkpoint(visit: Visit) -> Shown:
    """One checkpoint, with the diff since the base, or since the one in the query."""
    run = (await load_run(visit)).run
    made = await work_checkpoints.list_of_run(visit.database, run.id)
    checkpoint = _find(made, visit.parts["checkpoint"])
    chain = [each for each in made if each.key == checkpoint.key]
    since = _find(chain, visit.query["since"]) if visit.query.get("since") else None
    links = await work_checkpoints.load_chain(visit.database, checkpoint.key)
    title = checkpoint.short_id + ("" if since is None else f" compared with {since.short_id}")
    shown = {
        "run": run,
        "checkpoint": checkpoint,
        "chain": chain,
        "since": since,
        "cause": _describe_causes(chain)[checkpoint.id],
        "work": await asyncio.to_thread(_compare, links, since, checkpoint),
        "broken": _BROKEN,
    }
    return Page("checkpoint.html", f"Checkpoint {title}", shown)


@dataclass(frozen=True)
class ComparedWork:
    """What differs between two moments of a piece of work.

    :param changed: names of the files that changed since the checkpoint before.
    :param files: that differ.
    """

    changed: Sequence[str]
    files: int
    diff: ShownDiff


def _compare(links: Sequence[Link], since: WorkCheckpoint | None, shown: WorkCheckpoint) -> ComparedWork | None:
    """None: what they hold is not as it was written."""
    try:
        states = load_states(links)
    except BrokenCheckpoint:
        return None
    before = next((link.checkpoint.id for link in links if link.checkpoint.number == shown.number - 1), "")
    changed = states[shown.id].since(states.get(before, NO_CHANGES)).files
    files = states[shown.id].since(NO_CHANGES if since is None else states[since.id]).files
    more = [f"and {len(changed) - NAMED:,} more"] if len(changed) > NAMED else []
    diff = fit_diff(sorted(files, key=lambda file: file.path), DiffRoom())
    return ComparedWork([*map(name_change, changed[:NAMED]), *more], len(files), diff)


def _find(made: Sequence[WorkCheckpoint], shown: str) -> WorkCheckpoint:
    """The checkpoint with this id, short or whole.

    :raises NotHere: there is none, or more than one.
    """
    wanted = shown.removeprefix("C-").upper()
    found = [each for each in made if wanted and wanted in {each.id, each.short_id.removeprefix("C-")}]
    if len(found) != 1:
        raise NotHere
    return found[0]


def _group(made: Sequence[WorkCheckpoint]) -> Sequence[tuple[str, str, Sequence[WorkCheckpoint]]]:
    """Name, base and checkpoints of each piece of work, in the order of their first ones."""
    keys = list(dict.fromkeys(each.key for each in made))
    in_order = sorted(made, key=lambda each: (keys.index(each.key), each.number))
    return [(key.work, key.base, list(chain)) for key, chain in groupby(in_order, lambda each: each.key)]


def _describe_causes(made: Sequence[WorkCheckpoint]) -> Mapping[str, str]:
    known = {each.id: each for each in made}
    return {each.id: describe_cause(each, known.get(each.restores or "")) for each in made}
