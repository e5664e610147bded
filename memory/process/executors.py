"""Keeps the lease each process holds on its executor id, so that no two processes run the same workflows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, or_, select, update

from domain.ports import Clock
from memory.db.engine import Database, insert_new, upsert
from memory.db.tables.deliveries import ExecutorRow

LEASE = timedelta(seconds=30)
DOOR = "door "
"""How the ids of processes begin that only take webhooks."""
TAKEOVER_PERIOD = timedelta(days=1)
"""How long after its lease ran out an executor's work is taken over again and again: a frozen process may still accept
some work before it dies for good."""


@dataclass(frozen=True)
class Holder:
    """A process: ``instance`` is new at each start, ``host`` and ``pid`` say where it runs."""

    executor_id: str
    instance: str
    host: str
    pid: int


async def take(database: Database, holder: Holder, now: datetime, *, force: bool = False) -> Holder | None:
    """Take the lease of an executor id; None if this process has it now, else the process that holds it.

    :param force: take it from a holder that is known to be dead.
    """
    values = _values(holder, now)
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, ExecutorRow, values))
        free = or_(ExecutorRow.instance == holder.instance, ExecutorRow.lease_until <= now)
        await session.execute(
            update(ExecutorRow).where(ExecutorRow.id == holder.executor_id, *([] if force else [free])).values(**values)
        )
        row = await session.get_one(ExecutorRow, holder.executor_id)
        if row.instance == holder.instance:
            return None
        return Holder(row.id, row.instance, row.host, row.pid)


async def renew(database: Database, holder: Holder, now: datetime) -> bool:
    """Renew a lease, also one that ran out meanwhile; False if another process has it, or it was forgotten."""
    own = update(ExecutorRow).where(ExecutorRow.id == holder.executor_id, ExecutorRow.instance == holder.instance)
    return bool(await database.rows(own.values(lease_until=now + LEASE).returning(ExecutorRow.id)))


async def restore(database: Database, holder: Holder, now: datetime) -> bool:
    """Take a lease again that was forgotten; False if its row is there, so another process has or had it."""
    values = _values(holder, now)
    return bool(await database.rows(insert_new(database.dialect, ExecutorRow, values).returning(ExecutorRow.id)))


async def adopt(database: Database, executor_id: str, adopter: Holder, now: datetime) -> bool:
    """Take a lease that ran out away from its process, before its work is taken over; whether it had run out.

    It stays free for a process that starts under this id. The one that had it cannot renew it, and ends.

    :param adopter: who takes the work over.
    """
    lapsed = update(ExecutorRow).where(ExecutorRow.id == executor_id, ExecutorRow.lease_until <= now)
    values = {"instance": adopter.instance, "host": adopter.host, "pid": adopter.pid}
    return bool(await database.rows(lapsed.values(**values).returning(ExecutorRow.id)))


async def keep_door_open(database: Database, door: Holder, now: datetime) -> None:
    """Say that a process is there that only takes webhooks. The write also proves that the database works.

    :raises DatabaseUnavailable: it does not.
    """
    values = _values(door, now)
    await database.execute(upsert(database.dialect, ExecutorRow, values, {}))


async def is_any_door_open(database: Database, clock: Clock) -> bool:
    """Whether such a process is there."""
    opened = select(ExecutorRow.id).where(ExecutorRow.id.startswith(DOOR), ExecutorRow.lease_until > clock.now())
    return await database.scalar(opened.limit(1)) is not None


async def find(database: Database, executor_id: str) -> Holder | None:
    """The process that has or had a lease last."""
    row = await database.get(ExecutorRow, executor_id)
    return None if row is None else Holder(row.id, row.instance, row.host, row.pid)


async def release(database: Database, holder: Holder, now: datetime) -> None:
    """Give the lease back at a clean stop."""
    await database.execute(
        update(ExecutorRow)
        .where(ExecutorRow.id == holder.executor_id, ExecutorRow.instance == holder.instance)
        .values(lease_until=now)
    )


async def list_others(database: Database, own: str, now: datetime) -> Sequence[Holder]:
    """The processes, other than our own, whose lease counts."""
    rows = await database.scalars(select(ExecutorRow).where(ExecutorRow.id != own, ExecutorRow.lease_until > now))
    return [Holder(row.id, row.instance, row.host, row.pid) for row in rows]


async def list_lapsed(database: Database, own: str, now: datetime) -> Sequence[str]:
    """Executor ids, other than our own, whose lease ran out."""
    return await database.scalars(select(ExecutorRow.id).where(ExecutorRow.id != own, ExecutorRow.lease_until <= now))


async def forget(database: Database, executor_id: str, now: datetime) -> None:
    """Delete an executor whose lease ran out long ago and whose work was taken over, unless it came back."""
    given_up = ExecutorRow.lease_until <= now - TAKEOVER_PERIOD
    await database.execute(delete(ExecutorRow).where(ExecutorRow.id == executor_id, given_up))


def _values(holder: Holder, now: datetime) -> dict[str, str | int | datetime]:
    return {
        "id": holder.executor_id,
        "instance": holder.instance,
        "host": holder.host,
        "pid": holder.pid,
        "lease_until": now + LEASE,
    }
