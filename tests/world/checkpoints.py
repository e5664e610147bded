"""Checkpoints of an agent's work, written by hand."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from domain.runs.patches import NO_CHANGES, ChangedFile, ChangeSet
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, WorkCheckpoint, WorkKey
from memory.db.engine import Database
from memory.runs import work_checkpoints

STATES: Sequence[Mapping[str, str]] = (
    {"shop/cart.py": "A = 1\n"},
    {"shop/cart.py": "A = 2\n", "tests/test_cart.py": "def test(): ...\n"},
    {"shop/cart.py": "oops\n", "tests/test_cart.py": "def test(): ...\n", "notes.md": "Hm.\n"},
)


def build_change(files: Mapping[str, str | bytes | None]) -> ChangeSet:
    """New files with this content, and files that were there and are deleted (None)."""
    return ChangeSet(files=tuple(_build_file(path, after) for path, after in files.items()))


def _build_file(path: str, after: str | bytes | None) -> ChangedFile:
    data = after.encode() if isinstance(after, str) else after
    return ChangedFile(path=path, before=b"gone\n" if data is None else None, after=data)


async def add_chain(
    database: Database,
    key: WorkKey,
    at: datetime,
    *,
    states: Sequence[Mapping[str, str | bytes | None]] = STATES,
    last: CheckpointCause = CheckpointCause.stopped,
    said: str = "I am stuck.",
) -> list[WorkCheckpoint]:
    """A chain with these states of the work, one every half minute.

    :param last: the cause of the newest; the others were made because time had passed.
    """
    made: list[WorkCheckpoint] = []
    earlier = NO_CHANGES
    for number, files in enumerate(states):
        state, is_last = build_change(files), number == len(states) - 1
        delta = state.since(earlier)
        details = CheckpointDetails(
            files=len(state.files),
            changed=len(delta.files),
            said=said if is_last else "",
            spent_usd=0.25 * (number + 1),
            seconds=0.2,
            paused_seconds=0.0 if is_last else 0.05,
        )
        cause, newest = last if is_last else CheckpointCause.time, made[-1] if made else None
        moment = at + timedelta(seconds=30 * number)
        made.append(await work_checkpoints.add(database, key, newest, cause, delta, details, moment))
        earlier = state
    return made
