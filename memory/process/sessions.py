"""Keeps who is signed in to the dashboard, and lets each sign-in count once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.runs.run import RepositoryRef
from memory.db.engine import Database, insert_new
from memory.db.tables.deliveries import SessionRow, SignInRow
from safety.authorization import (
    IDLE,
    LONGEST,
    MOST_SESSIONS,
    NOTED_AFTER,
    SIGN_IN_LASTS,
    SIGN_IN_WINDOW,
    is_session_over,
    may_sign_in,
)

_KNOWN = "known "


@dataclass(frozen=True)
class DashboardSession:
    """Somebody who is signed in.

    :param digest: of the id in their cookie.
    :param candidates: the repositories that GitHub listed at the sign-in, a renamed one under each of its names, the
        latest last; it says nothing about now.
    """

    digest: str
    account_id: int
    login: str
    candidates: Sequence[RepositoryRef] = ()


async def claim_sign_in(database: Database, digest: str, now: datetime, known: str = "") -> bool | None:
    """Let a sign-in count.

    :param digest: of its state.
    :param known: digest of what the browser was given when somebody signed in there before; empty: nothing. With it a
        browser comes back once while the row is kept, whatever others do.
    :returns: whether it did not count before; None if too many came back in the last minute.
    """
    recent = select(func.count()).where(SignInRow.at > now - SIGN_IN_WINDOW, SignInRow.digest.not_like(f"{_KNOWN}%"))

    async def is_new(session: AsyncSession, key: str) -> bool:
        new = insert_new(database.dialect, SignInRow, {"digest": key, "at": now}).returning(SignInRow.digest)
        return await session.scalar(new) is not None

    async with database.transaction() as session:
        await session.execute(delete(SignInRow).where(SignInRow.at <= now - SIGN_IN_LASTS))
        is_known = bool(known) and await is_new(session, _KNOWN + known)
        if not is_known and not may_sign_in(await session.scalar(recent) or 0):
            return None
        return await is_new(session, digest)


async def begin(database: Database, begun: DashboardSession, now: datetime) -> None:
    """Keep a session; the oldest ones of the same account end if it has too many."""
    row = SessionRow(
        digest=begun.digest,
        account_id=begun.account_id,
        login=begun.login,
        candidates=[each.model_dump(mode="json") for each in begun.candidates],
        created_at=now,
        seen_at=now,
    )
    async with database.transaction() as session:
        session.add(row)
        await session.flush()
        await _end_oldest(session, begun.account_id)


async def find(database: Database, digest: str, now: datetime) -> DashboardSession | None:
    """The session with this digest, if it is not over; notes that it was used."""
    row = await database.get(SessionRow, digest)
    if row is None or is_session_over(row.created_at, row.seen_at, now):
        return None
    found = DashboardSession(
        row.digest, row.account_id, row.login, [RepositoryRef.model_validate(each) for each in row.candidates]
    )
    is_noted = now - row.seen_at < NOTED_AFTER
    if not is_noted:
        await database.execute(update(SessionRow).where(SessionRow.digest == digest).values(seen_at=now))
    return found


async def add_name(database: Database, digest: str, present: RepositoryRef) -> None:
    """Let a session list a repository also under the name that it has now, after those that it had."""
    named = present.model_dump(mode="json")
    async with database.transaction() as session:
        row = await session.get(SessionRow, digest)
        if row is not None and named not in row.candidates and any(each["id"] == present.id for each in row.candidates):
            row.candidates = [*row.candidates, named]


async def end(database: Database, digest: str) -> None:
    """Sign somebody out."""
    await database.execute(delete(SessionRow).where(SessionRow.digest == digest))


async def remove_old(database: Database, now: datetime) -> int:
    """Delete the sessions and sign-ins that are over for good; returns how many sessions."""
    async with database.transaction() as session:
        await session.execute(delete(SignInRow).where(SignInRow.at <= now - SIGN_IN_LASTS))
        is_over = or_(SessionRow.created_at <= now - LONGEST, SessionRow.seen_at <= now - IDLE)
        return len((await session.execute(delete(SessionRow).where(is_over).returning(SessionRow.digest))).all())


async def _end_oldest(session: AsyncSession, account_id: int) -> None:
    kept = (
        select(SessionRow.digest)
        .where(SessionRow.account_id == account_id)
        .order_by(SessionRow.created_at.desc(), SessionRow.digest)
        .limit(MOST_SESSIONS)
    )
    kept_digests = list(await session.scalars(kept))
    await session.execute(
        delete(SessionRow).where(SessionRow.account_id == account_id, SessionRow.digest.not_in(kept_digests))
    )
