"""Sums up what the dashboard's page of costs shows for one repository, day by day with phases, models and runs."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from domain.runs.run import Run, RunState
from memory.db.engine import Database
from memory.db.tables.money import SpendRow
from memory.db.tables.runs import RunRow
from memory.reports.costs import Cost
from memory.reports.run_pages import load_titles
from memory.reservations.reservations import SPENT_COLUMNS, Spent, parse_spent

_DEAREST = 10
_Where = tuple[ColumnElement[bool], ...]


@dataclass(frozen=True)
class RunCost:
    """What one run spent in the period.

    :param title: of its pull request or issue, as far as it is known.
    """

    run: Run
    spent: Spent
    title: str = ""


@dataclass(frozen=True)
class RepositoryCosts:
    """What a repository spent in a period, by day (newest first), phase, model and run (the dearest first)."""

    days: Sequence[Cost]
    phases: Sequence[Cost]
    models: Sequence[Cost]
    runs: Sequence[RunCost]

    @property
    def amount(self) -> int:
        """Micro-USD in all."""
        return sum(each.spent.amount for each in self.days)


async def load_costs(database: Database, repository_id: int, since: datetime) -> RepositoryCosts:
    """What a repository spent since the UTC day of a time."""
    where = SpendRow.repository_id == repository_id, SpendRow.day >= since.date().isoformat()
    (days, phases, models), runs = await asyncio.gather(  # the database does both at a time
        _load_sums(database, where), _load_dearest(database, repository_id, where)
    )
    return RepositoryCosts(
        sorted(days, key=lambda cost: cost.name, reverse=True),
        sorted(phases, key=lambda cost: (-cost.spent.amount, cost.name)),
        sorted(models, key=lambda cost: (-cost.spent.amount, cost.name)),
        runs,
    )


async def _load_sums(database: Database, where: _Where) -> Sequence[Sequence[Cost]]:
    """What was spent by day, by phase and by model."""
    keys = SpendRow.day, SpendRow.phase, SpendRow.model
    async with database.transaction() as session:
        rows = await session.execute(select(*keys, *SPENT_COLUMNS).where(*where).group_by(*keys))
        sums = [(row[:3], parse_spent(row[3:])) for row in rows]
    return [_add_up((key[place], each) for key, each in sums) for place in range(len(keys))]


async def _load_dearest(database: Database, repository_id: int, where: _Where) -> Sequence[RunCost]:
    amount = func.sum(SpendRow.amount)
    dearest = select(SpendRow.run_id).where(*where).group_by(SpendRow.run_id).order_by(amount.desc(), SpendRow.run_id)
    async with database.transaction() as session:
        ids = (await session.scalars(dearest.limit(_DEAREST))).all()
        of_runs = select(SpendRow.run_id, *SPENT_COLUMNS).where(*where, SpendRow.run_id.in_(ids))
        spent = {row[0]: parse_spent(row[1:]) for row in await session.execute(of_runs.group_by(SpendRow.run_id))}
        known = {row.id: row.as_run() for row in await session.scalars(select(RunRow).where(RunRow.id.in_(ids)))}
        titles = await load_titles(session, repository_id, {run.number for run in known.values()})
    return [
        RunCost(known[run_id], spent[run_id], titles.get(known[run_id].number, "")) for run_id in ids if run_id in known
    ]


def _add_up(sums: Iterable[tuple[str, Spent]]) -> Sequence[Cost]:
    """The sums of each name."""
    found: dict[str, Spent] = {}
    for name, spent in sums:
        found[name] = found[name] + spent if name in found else spent
    return [Cost(name, spent) for name, spent in found.items()]


async def list_working(database: Database, repository_id: int, limit: int) -> Sequence[RunCost]:
    """What the runs that are not over spent and reserve, newest first."""
    live = [state.value for state in RunState if not state.is_final]
    at_work = select(RunRow.id).where(RunRow.repository_id == repository_id, RunRow.state.in_(live))
    async with database.transaction() as session:
        ids = sorted((await session.scalars(at_work)).all(), reverse=True)[:limit]  # few; a sorted query reads all runs
        rows = (await session.scalars(select(RunRow).where(RunRow.id.in_(ids)).order_by(RunRow.id.desc()))).all()
        of = select(SpendRow.run_id, *SPENT_COLUMNS).where(SpendRow.run_id.in_([row.id for row in rows]))
        spent = {row[0]: parse_spent(row[1:]) for row in await session.execute(of.group_by(SpendRow.run_id))}
    return [RunCost(row.as_run(), spent[row.id]) for row in rows if row.id in spent]
