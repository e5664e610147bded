"""Shows what agents kept of their work, what changed between two moments of it, and takes the work back."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from bot.cli.lookup import find_run
from bot.cli.output import print_lines
from bot.cli.process import operator_name
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError, UnknownName
from domain.runs.patches import NO_CHANGES, ChangeSet
from domain.runs.work_checkpoint import Link, RollbackProblem, RollbackRefusal, WorkCheckpoint, WorkKey, load_states
from domain.text.escaping import flatten_redacted
from memory.db.engine import Database
from memory.runs import work_checkpoints
from messages import checkpoints as texts
from messages.checkpoints import name_change, render_diff
from pipeline.issue.coding.rollback import RollbackRequest, find_checkpoint, take_back
from safety.notices import find_exceeded

_WORDS = 300  # characters of an agent's words


async def show_timeline(settings: Installation, run: str) -> None:
    """Print everything that a run's agents kept, by piece of work.

    :param run: its id, or the last 6 characters.
    :raises ForgeError: if there is no such run, or more than one.
    """
    async with open_database(settings) as database:
        run_id = await find_run(database, run)
        made = await work_checkpoints.list_of_run(database, run_id)
        exceeded = find_exceeded(await work_checkpoints.load_facts(database, run_id))
    remark = [flatten_redacted(texts.describe_exceeded(exceeded))] if exceeded is not None else []
    none = f"Run {run_id} has no checkpoints of an agent's work."
    print_lines(*([*render_timeline(made), *remark] or [none]))


async def show_one(settings: Installation, shown: str, since: str | None = None) -> None:
    """Print a checkpoint, and the diff that leads to it.

    :param shown: its short or whole id.
    :param since: the checkpoint of the same work that the diff begins at; None: the base.
    :raises ForgeError: if there is none, or more than one, or they cannot be compared or read.
    """
    async with open_database(settings) as database:
        checkpoint, earlier = await find_pair(database, shown, since)
        chain = await work_checkpoints.load_chain(database, checkpoint.key)
    states = await asyncio.to_thread(load_states, chain)
    lines = render_one(checkpoint, chain, states)
    diff = await asyncio.to_thread(_render_change, checkpoint, earlier, states)
    print_lines(*lines, "", *diff)


async def roll_back(settings: Installation, shown: str, paths: Sequence[str]) -> None:
    """Take the work of an agent back, as `/forge rollback` does.

    :param shown: the short or whole id of a checkpoint.
    :param paths: the only files that are taken back; all if there are none.
    :raises ForgeError: if it would have no effect; the message says why.
    """
    request = RollbackRequest(shown, paths, f"operator {operator_name()}".rstrip())
    async with open_database(settings) as database:
        done = await take_back(database, SystemClock(), request)
    if isinstance(done, RollbackRefusal):
        raise _refuse(done)
    print_lines(texts.confirm_rollback(done))


async def find_pair(database: Database, shown: str, since: str | None) -> tuple[WorkCheckpoint, WorkCheckpoint | None]:
    """The checkpoint that somebody names, and the one that it is compared with, if any.

    :raises ForgeError: if there is none, or more than one, or they are of different pieces of work.
    """
    checkpoint = await _find(database, shown)
    earlier = None if since is None else await _find(database, since)
    if earlier is not None and earlier.key != checkpoint.key:
        raise ForgeError(
            f"{earlier.short_id} and {checkpoint.short_id} are of different pieces of work.",
            "`forge runs --checkpoints RUN` shows which belong together.",
        )
    return checkpoint, earlier


async def _find(database: Database, shown: str) -> WorkCheckpoint:
    found = await find_checkpoint(database, shown)
    if isinstance(found, RollbackRefusal):
        raise _refuse(found)
    return found


def _refuse(refusal: RollbackRefusal) -> ForgeError:
    if refusal.problem is not RollbackProblem.unknown:
        return ForgeError(texts.refuse_rollback(refusal))
    shown = flatten_redacted(refusal.asked)
    return UnknownName(f"There is no checkpoint {shown}.", "`forge runs --checkpoints RUN` lists those of a run.")


# --- text ---------------------------------------------------------------------------------------------------------


def render_timeline(made: Sequence[WorkCheckpoint]) -> list[str]:
    """The checkpoints of a run by piece of work, in order.

    :param made: in the order in which they were made.
    """
    keys = list(dict.fromkeys(each.key for each in made))
    in_order = sorted(made, key=lambda each: (keys.index(each.key), each.number))
    return [line for key, chain in groupby(in_order, lambda each: each.key) for line in _render_chain(key, list(chain))]


def _render_chain(key: WorkKey, chain: Sequence[WorkCheckpoint]) -> Iterator[str]:
    yield f"{flatten_redacted(key.work)}, on {key.base[:7]}"
    for each in chain:
        restored = next((other for other in chain if other.id == each.restores), None)
        yield f"  {_describe(each, restored)}"
        yield from _render_words(each, 6)


def _describe(checkpoint: WorkCheckpoint, restored: WorkCheckpoint | None) -> str:
    """One line: when, why, how much, and what it took."""
    parts = [
        f"{checkpoint.short_id}  {checkpoint.at:%Y-%m-%d %H:%M:%S}",
        flatten_redacted(texts.describe_cause(checkpoint, restored)),
        f"files {checkpoint.files}, changed {checkpoint.changed}",
    ]
    if checkpoint.restores is None:
        paused = f", paused {checkpoint.paused_seconds:.3f} s" if checkpoint.paused_seconds else ""
        parts += [f"spent {checkpoint.spent_usd:.2f} USD", f"took {checkpoint.seconds:.3f} s{paused}"]
    return "  ".join(parts)


def _render_words(checkpoint: WorkCheckpoint, indent: int) -> Iterator[str]:
    if checkpoint.said.strip():
        yield f"{' ' * indent}said: “{flatten_redacted(checkpoint.said)[:_WORDS]}”"
    for each in checkpoint.refused:
        yield f"{' ' * indent}not kept: {flatten_redacted(each)}"


def render_one(checkpoint: WorkCheckpoint, chain: Sequence[Link], states: Mapping[str, ChangeSet]) -> list[str]:
    """A checkpoint, and which files changed since the one before.

    :param chain: all checkpoints of its piece of work, in order, whose states are ``states``.
    """
    known = {link.checkpoint.number: link.checkpoint for link in chain}
    restored = next((each for each in known.values() if each.id == checkpoint.restores), None)
    before = known.get(checkpoint.number - 1)
    earlier = NO_CHANGES if before is None else states[before.id]
    changed = states[checkpoint.id].since(earlier).files
    since = "the base" if before is None else f"{before.short_id}, the one before"
    work = flatten_redacted(checkpoint.key.work)
    return [
        _describe(checkpoint, restored),
        f"  C-{checkpoint.id}, number {checkpoint.number} of {work}, on {checkpoint.key.base}",
        *_render_words(checkpoint, 2),
        f"  changed since {since}: {', '.join(map(name_change, changed)) or 'nothing'}",
    ]


def _render_change(
    checkpoint: WorkCheckpoint, earlier: WorkCheckpoint | None, states: Mapping[str, ChangeSet]
) -> list[str]:
    begins_at = NO_CHANGES if earlier is None else states[earlier.id]
    since = f"the base {checkpoint.key.base[:7]}" if earlier is None else earlier.short_id
    files = states[checkpoint.id].since(begins_at).files
    if not files:
        return [f"Nothing differs from {since}."]
    return [f"Since {since}:", *render_diff(sorted(files, key=lambda file: file.path))]
