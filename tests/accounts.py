"""Every cent accounted for (invariant 3 of the threat model): the books against themselves and against the limits."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.events import EventType
from domain.money import MICRO, Limits
from domain.runs import Phase
from memory.database import Database
from memory.tables import EventRow, SpendRow

USUAL = Limits()


async def unaccounted(database: Database, limits: Limits = USUAL, *, at_rest: bool = True) -> list[str]:
    """What is wrong with the books; each is one sentence. ``at_rest``: no call is on its way any more."""
    async with database.transaction() as session:
        rows = (await session.scalars(select(SpendRow))).all()
        told = (await session.scalars(select(EventRow).where(EventRow.type == EventType.budget_settled.value))).all()
    open_ones = [row for row in rows if row.state == "reserved"]
    return [
        *(f"I3: {row.step} of run {row.run_id} is still reserved" for row in open_ones if at_rest),
        *(f"I3: {row.step} was lost for less" for row in rows if row.state == "lost" and row.amount != row.reserved),
        *_overrun(rows, limits),
        *_untold(rows, told),
    ]


def _overrun(rows: Sequence[SpendRow], limits: Limits) -> list[str]:
    totals: dict[tuple[str, int], int] = {}
    for row in rows:
        for key in (
            (f"run {row.run_id}", limits.run),
            (f"run {row.run_id} {row.phase}", limits.phase[Phase(row.phase)]),
            (f"repository {row.repository_id} on {row.day}", limits.day),
        ):
            totals[key] = totals.get(key, 0) + row.amount
    return [f"I3: {name} has {amount} of {limit}" for (name, limit), amount in totals.items() if amount > limit]


def _untold(rows: Sequence[SpendRow], told: Sequence[EventRow]) -> list[str]:
    charged = sum(row.amount for row in rows if row.settled_at is not None)
    said = sum(round(event.cost * MICRO) for event in told)
    return [] if charged == said else [f"I3: the ledger says {said}, the books say {charged}"]
