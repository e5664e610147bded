"""Keeps how far GitHub's log of deliveries was read, which process reads it, and which deliveries failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import CursorResult, Update, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from memory.db.engine import Database, insert_new
from memory.db.tables.deliveries import DeliveryLogRow, DoubtfulDeliveryRow
from safety.github_limits import DoubtfulDelivery

LEASE = timedelta(minutes=2)  # a request to GitHub hardly ever takes longer; then another process may take the turn
_BATCH = 200  # rows per transaction; webhooks must not wait for a long one


@dataclass(frozen=True)
class LogLease:
    """A process's turn to read the log of an App; ``holder`` is new at each start."""

    app_id: int
    holder: str


async def acquire(database: Database, turn: LogLease, now: datetime, due: datetime) -> bool:
    """Take the turn, unless another process has it or the log was read after ``due``."""
    row = await database.get(DeliveryLogRow, turn.app_id)  # usually there is nothing to take, so nothing is written
    if row is not None and (row.lease_until > now or (row.read_at is not None and row.read_at > due)):
        return False
    first = {"app_id": turn.app_id, "holder": "", "lease_until": now, "read_at": None, "read_to": None}
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, DeliveryLogRow, first))
        is_free = DeliveryLogRow.lease_until <= now
        is_due = or_(DeliveryLogRow.read_at.is_(None), DeliveryLogRow.read_at <= due)
        taken = update(DeliveryLogRow).where(DeliveryLogRow.app_id == turn.app_id, is_free, is_due)
        return await _changes_row(session, taken.values(holder=turn.holder, lease_until=now + LEASE))


async def renew(database: Database, turn: LogLease, now: datetime) -> bool:
    """Extend the turn; returns whether this process still had it."""
    async with database.transaction() as session:
        return await _changes_row(session, _update_own(turn).values(lease_until=now + LEASE))


async def release(database: Database, turn: LogLease, now: datetime) -> None:
    """End the turn: the log was read, or could not be, and is due again later."""
    await database.execute(_update_own(turn).values(holder="", lease_until=now, read_at=now))


async def get_read_to(database: Database, app_id: int) -> datetime | None:
    """Up to which time attempts were read; None if none ever were."""
    row = await database.get(DeliveryLogRow, app_id)
    return None if row is None else row.read_to


async def set_read_to(database: Database, turn: LogLease, moment: datetime) -> None:
    """Record that all attempts up to this time were read, and the doubtful ones stored."""
    await database.execute(_update_own(turn).values(read_to=moment))


async def list_doubtful(database: Database) -> Sequence[DoubtfulDelivery]:
    """The doubtful deliveries."""
    rows = await database.scalars(select(DoubtfulDeliveryRow))
    return [
        DoubtfulDelivery(each.guid, each.attempt_id, each.event, each.first_at, each.last_at, each.asked)
        for each in rows
    ]


async def save_doubtful(database: Database, deliveries: Sequence[DoubtfulDelivery]) -> None:
    """Store doubtful deliveries as they are now."""
    for part in _split(deliveries):
        rows = [
            {
                "guid": each.guid,
                "attempt_id": each.attempt_id,
                "event": each.event,
                "first_at": each.first_at,
                "last_at": each.last_at,
                "asked": each.asked,
            }
            for each in part
        ]
        async with database.transaction() as session:
            await session.execute(delete(DoubtfulDeliveryRow).where(DoubtfulDeliveryRow.guid.in_(_guids(part))))
            await session.execute(insert_new(database.dialect, DoubtfulDeliveryRow).values(rows))


async def remove_doubtful(database: Database, deliveries: Sequence[DoubtfulDelivery]) -> None:
    """Delete doubtful deliveries."""
    for part in _split(deliveries):
        await database.execute(delete(DoubtfulDeliveryRow).where(DoubtfulDeliveryRow.guid.in_(_guids(part))))


async def claim(database: Database, turn: LogLease, delivery: DoubtfulDelivery, now: datetime) -> bool:
    """Count a request for a delivery before it is made; False if another process has the turn by now."""
    async with database.transaction() as session:
        if not await _changes_row(session, _update_own(turn).values(lease_until=now + LEASE)):
            return False
        await session.execute(
            update(DoubtfulDeliveryRow)
            .where(DoubtfulDeliveryRow.guid == delivery.guid)
            .values(asked=DoubtfulDeliveryRow.asked + 1, last_at=now)
        )
        return True


def _update_own(turn: LogLease) -> Update:
    return update(DeliveryLogRow).where(DeliveryLogRow.app_id == turn.app_id, DeliveryLogRow.holder == turn.holder)


async def _changes_row(session: AsyncSession, statement: Update) -> bool:
    result = await session.execute(statement)
    return isinstance(result, CursorResult) and result.rowcount == 1


def _split(deliveries: Sequence[DoubtfulDelivery]) -> Sequence[Sequence[DoubtfulDelivery]]:
    return [deliveries[start : start + _BATCH] for start in range(0, len(deliveries), _BATCH)]


def _guids(deliveries: Sequence[DoubtfulDelivery]) -> list[str]:
    return [each.guid for each in deliveries]
