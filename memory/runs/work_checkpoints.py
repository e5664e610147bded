"""Keeps the checkpoints of agents' work: chains that only grow, one for each piece of work of a run."""

import asyncio
import zlib
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer

from domain.errors import ForgeError, ToolError
from domain.events import EventType
from domain.runs.patches import ChangeSet
from domain.runs.run import Phase
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, Link, WorkCheckpoint, WorkKey, make_digest
from domain.value import new_id, shorten_id
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.runs import EventRow, RunRow, WorkCheckpointRow
from safety.checkpoint_limits import KeepingFacts

_DESCRIBED = select(WorkCheckpointRow).options(defer(WorkCheckpointRow.content))  # contents are large
_MOST_BYTES = 32 << 20  # of one checkpoint, before it is compressed
_MOST_OF_RUN = 64 << 20  # bytes of all checkpoints of a run, compressed


class CheckpointTooLarge(ToolError):
    """There is no room for a checkpoint; those before it stay."""


_LESS = "Let the agent change less at once."


class ChainMoved(ForgeError):
    """Somebody else added a checkpoint meanwhile."""


async def add(
    database: Database,
    key: WorkKey,
    newest: WorkCheckpoint | None,
    cause: CheckpointCause,
    delta: ChangeSet,
    details: CheckpointDetails,
    now: datetime,
) -> WorkCheckpoint:
    """Add what an agent changed.

    :param newest: the checkpoint that this one follows; None if it is the first.
    :param delta: the change since then.
    :raises ChainMoved: it is not the newest any more.
    :raises CheckpointTooLarge: it is too large, or those of the run are together.
    """
    content = await asyncio.to_thread(lambda: delta.model_dump_json().encode())
    if len(content) > _MOST_BYTES:
        raise CheckpointTooLarge(f"What changed since the last checkpoint has more than {_MOST_BYTES:,} bytes.", _LESS)
    made = _follow(key, newest, cause, now, content).model_copy(update=dict(details))
    return await _save(database, made, await asyncio.to_thread(zlib.compress, content))


async def roll_back(
    database: Database,
    newest: WorkCheckpoint,
    to: WorkCheckpoint,
    paths: Sequence[str],
    by: str,
    now: datetime,
    *,
    request: str = "",
    files: int = 0,
    changed: int = 0,
) -> WorkCheckpoint:
    """Add that the work was taken back to an earlier checkpoint of the same chain.

    :param paths: the only files that are restored; all if there are none.
    :param request: names the request for it.
    :param files: that differ from the base then; ``changed``: from the state before.
    :raises ChainMoved: ``newest`` is not the newest any more.
    """
    made = _follow(newest.key, newest, CheckpointCause.rollback, now, b"", to.id, tuple(paths))
    details = {"by": by, "request": request, "files": files, "changed": changed}
    return await _save(database, made.model_copy(update=details), b"")


async def record_failure(database: Database, run_id: str, why: str, seconds: float, now: datetime) -> None:
    """Record that a checkpoint could not be made.

    :param why: one sentence.
    :param seconds: that it took.
    """
    async with database.transaction() as session:
        ledger.record(
            session,
            run_id,
            EventType.checkpoint_failed,
            now,
            phase=Phase.implementation,
            payload={"why": why},
            duration=seconds,
        )


def _follow(
    key: WorkKey,
    newest: WorkCheckpoint | None,
    cause: CheckpointCause,
    now: datetime,
    content: bytes,
    restores: str | None = None,
    paths: tuple[str, ...] = (),
) -> WorkCheckpoint:
    before, number = ("", 1) if newest is None else (newest.digest, newest.number + 1)
    digest = make_digest(before, content, restores, paths)
    return WorkCheckpoint(
        id=new_id(), key=key, number=number, cause=cause, digest=digest, at=now, restores=restores, paths=paths
    )


async def _save(database: Database, made: WorkCheckpoint, content: bytes) -> WorkCheckpoint:
    details = made.model_dump(mode="json", exclude={"id", "key", "number", "cause", "digest", "at"})
    row = WorkCheckpointRow(
        id=made.id,
        run_id=made.key.run_id,
        work=made.key.work,
        base=made.key.base,
        number=made.number,
        cause=made.cause.value,
        digest=made.digest,
        content=content,
        details=details,
        time=made.at,
    )
    size = select(func.sum(func.length(WorkCheckpointRow.content))).where(WorkCheckpointRow.run_id == made.key.run_id)
    try:
        async with database.transaction() as session:
            if content and (await session.scalar(size) or 0) + len(content) > _MOST_OF_RUN:
                raise CheckpointTooLarge(f"The checkpoints of the run have more than {_MOST_OF_RUN:,} bytes.", _LESS)
            session.add(row)
            await session.flush()
            ledger.record(
                session,
                made.key.run_id,
                EventType.checkpoint_created,
                made.at,
                source="pipeline" if made.restores is None else "person",
                phase=Phase.implementation,
                payload=_describe_event(made),
                duration=made.seconds or None,
            )
    except IntegrityError:
        raise ChainMoved(f"Another checkpoint came before {made.short_id}.", "Look at the newest one.") from None
    return made


def _describe_event(made: WorkCheckpoint) -> dict[str, object]:
    facts = {"id": made.short_id, "cause": made.cause.value, "files": made.files, "by": made.by}
    if made.restores is None:
        return {**facts, "paused_seconds": made.paused_seconds}
    return {**facts, "restores": shorten_id("C", made.restores), "paths": list(made.paths)}


async def load_chain(database: Database, key: WorkKey) -> Sequence[Link]:
    """All checkpoints of one piece of work with what they store, in order."""
    query = select(WorkCheckpointRow).where(*_is_of(key)).order_by(WorkCheckpointRow.number)
    return [_parse(row) for row in await database.scalars(query)]


async def find_newest(database: Database, key: WorkKey) -> WorkCheckpoint | None:
    """The newest checkpoint of a piece of work."""
    query = _DESCRIBED.where(*_is_of(key)).order_by(WorkCheckpointRow.number.desc()).limit(1)
    row = await database.scalar(query)
    return None if row is None else _describe(row)


async def list_of_run(database: Database, run_id: str) -> Sequence[WorkCheckpoint]:
    """All checkpoints of a run, in the order they were made."""
    query = _DESCRIBED.where(WorkCheckpointRow.run_id == run_id).order_by(WorkCheckpointRow.id)
    return [_describe(row) for row in await database.scalars(query)]


async def find_by_short_id(database: Database, shown: str, repository_id: int) -> Sequence[WorkCheckpoint]:
    """The checkpoints of a repository whose id ends like this: ``C-`` and six characters, or a whole id."""
    query = _DESCRIBED.where(
        WorkCheckpointRow.id.endswith(shown.removeprefix("C-").upper(), autoescape=True),
        WorkCheckpointRow.run_id.in_(select(RunRow.id).where(RunRow.repository_id == repository_id)),
    )
    return [_describe(row) for row in await database.scalars(query.order_by(WorkCheckpointRow.id))]


async def load_facts(database: Database, run_id: str) -> KeepingFacts:
    """How the work of a run's agents was kept so far."""
    made = [each for each in await list_of_run(database, run_id) if each.restores is None]
    failed = select(EventRow.payload).where(EventRow.trace == run_id, EventRow.type == EventType.checkpoint_failed)
    failures = [str(payload.get("why", "")) for payload in await database.scalars(failed.order_by(EventRow.id))]
    return KeepingFacts([each.seconds for each in made], [each.paused_seconds for each in made], failures)


async def count_since(database: Database, run_id: str, since: datetime) -> int:
    """How many checkpoints of a run were made since a moment."""
    query = select(func.count()).where(WorkCheckpointRow.run_id == run_id, WorkCheckpointRow.time >= since)
    return await database.scalar(query) or 0


def _is_of(key: WorkKey):
    row = WorkCheckpointRow
    return row.run_id == key.run_id, row.work == key.work, row.base == key.base


def _parse(row: WorkCheckpointRow) -> Link:
    return Link(_describe(row), _unpack(row.content) if row.content else b"")


def _unpack(content: bytes) -> bytes:
    """What was stored; something else if that cannot be unpacked, so that its digest is wrong."""
    try:
        return zlib.decompressobj().decompress(content, _MOST_BYTES)
    except zlib.error:
        return b"broken"


def _describe(row: WorkCheckpointRow) -> WorkCheckpoint:
    key = WorkKey(run_id=row.run_id, work=row.work, base=row.base)
    return WorkCheckpoint(
        id=row.id,
        key=key,
        number=row.number,
        cause=CheckpointCause(row.cause),
        digest=row.digest,
        at=row.time,
        **row.details,
    )
