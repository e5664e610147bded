"""Keeps the budget extensions that people granted to the phases of a run."""

from datetime import datetime

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.money import BudgetExtension
from domain.runs.run import Phase, Run
from memory.db.engine import Database, insert_new
from memory.db.tables.money import BudgetRow
from memory.ledger import ledger


async def extend_budget(
    database: Database, run: Run, phase: Phase, slice_: BudgetExtension, now: datetime, cause: str
) -> None:
    """Extend the limits of a phase of a run as a person granted, once per cause and slice.

    :param cause: the delivery. Lines of one comment differ by what they grant, so equal ones count once.
    """
    scope = f"granted by:{run.id}/{cause}:{slice_.amount}:{slice_.calls}"
    async with database.transaction() as session:
        taken = insert_new(database.dialect, BudgetRow, {"scope": scope, "granted": slice_.amount})
        if (await session.execute(taken.returning(BudgetRow.scope))).first() is None:
            return
        await extend_within(session, database.dialect, run.id, phase, slice_, now)


async def extend_within(
    session: AsyncSession, dialect: str, run_id: str, phase: Phase, slice_: BudgetExtension, now: datetime
) -> None:
    """Grant a slice within a transaction."""
    granted = {amount_scope(run_id, phase): slice_.amount, calls_scope(run_id, phase): slice_.calls}
    for scope, amount in granted.items():
        if amount:
            await session.execute(insert_new(dialect, BudgetRow, {"scope": scope, "granted": 0}))
            await session.execute(
                update(BudgetRow).where(BudgetRow.scope == scope).values(granted=BudgetRow.granted + amount)
            )
    facts = {"amount": slice_.amount, "calls": slice_.calls}
    ledger.record(session, run_id, EventType.budget_granted, now, source="purse", phase=phase, payload=facts)


def amount_scope(run_id: str, phase: Phase) -> str:
    """The key of the money that people granted a phase."""
    return f"run:{run_id}/{phase.value}"


def calls_scope(run_id: str, phase: Phase) -> str:
    """The key of the calls that people granted a phase."""
    return f"calls:{run_id}/{phase.value}"
