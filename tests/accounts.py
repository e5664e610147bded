"""Every cent accounted for (I3 in docs/threats.md): the books against themselves and against the limits."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select

from domain.events import EventType
from domain.money import MICRO, Limits
from domain.runs.run import Phase
from memory.db.engine import Database
from memory.db.tables.runs import BudgetRow, EventRow, SpendRow

USUAL = Limits()


async def find_discrepancies(database: Database, limits: Limits = USUAL, *, at_rest: bool = True) -> list[str]:
    """What is wrong with the books; each is one sentence. ``at_rest``: no call is on its way any more."""
    async with database.transaction() as session:
        rows = (await session.scalars(select(SpendRow))).all()
        slices = {row.scope: row.granted for row in await session.scalars(select(BudgetRow))}
        told = (await session.scalars(select(EventRow).where(EventRow.type == EventType.budget_settled.value))).all()
    open_ones = [row for row in rows if row.state == "reserved"]
    return [
        *(f"I3: {row.step} of run {row.run_id} is still reserved" for row in open_ones if at_rest),
        *(f"I3: {row.step} was lost for less" for row in rows if row.state == "lost" and row.amount != row.reserved),
        *_find_overruns(rows, limits, slices),
        *_find_unannounced(rows, told),
    ]


async def find_overruns(database: Database, limits: Limits = USUAL) -> list[str]:
    """What passes its limit at this moment, while calls are on their way."""
    async with database.transaction() as session:
        slices = {row.scope: row.granted for row in await session.scalars(select(BudgetRow))}
        rows = (await session.scalars(select(SpendRow))).all()
    return _find_overruns(rows, limits, slices)


async def list_calls(database: Database, run_id: str) -> Sequence[SpendRow]:
    """Every call of a run, in the order in which they were reserved."""
    return await database.scalars(select(SpendRow).where(SpendRow.run_id == run_id).order_by(SpendRow.id))


def _find_overruns(rows: Sequence[SpendRow], limits: Limits, slices: Mapping[str, int]) -> list[str]:
    """:param slices: what people granted, by scope; a phase's slice raises its own limit and the run's."""
    totals: dict[str, int] = {}
    allowed: dict[str, int | None] = {}
    for row in rows:
        granted = {phase: slices.get(f"run:{row.run_id}/{phase.value}", 0) for phase in Phase}
        for name, limit in (
            (f"run {row.run_id}", limits.run + sum(granted.values())),
            (f"run {row.run_id} {row.phase}", limits.phase[Phase(row.phase)] + granted[Phase(row.phase)]),
            (f"repository {row.repository_id} on {row.day}", limits.day),
            (f"installation {row.installation_id} on {row.day}", limits.installation),
        ):
            totals[name] = totals.get(name, 0) + row.amount
            allowed[name] = limit
    return [
        f"I3: {name} has {amount} of {limit}"
        for name, amount in totals.items()
        if (limit := allowed[name]) is not None and amount > limit
    ]


def _find_unannounced(rows: Sequence[SpendRow], told: Sequence[EventRow]) -> list[str]:
    charged = sum(row.amount for row in rows if row.settled_at is not None)
    said = sum(round(event.cost * MICRO) for event in told)
    return [] if charged == said else [f"I3: the ledger says {said}, the books say {charged}"]
