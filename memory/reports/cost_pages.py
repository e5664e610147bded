"""Sums up what the dashboard's page of costs shows for one repository, day by day with phases, models and runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from domain.runs.run import Run, RunState
from memory.db.engine import Database
from memory.db.tables.money import SpendRow
from memory.db.tables.runs import RunRow
from memory.reports.costs import Cost
from memory.reports.run_pages import load_titles
from memory.reservations.reservations import SPENT_COLUMNS, Spent, parse_spent

_DEAREST = 10


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

    def select_by(column: Any) -> Any:
        return select(column, *SPENT_COLUMNS).where(*where).group_by(column)

    dearest = select_by(SpendRow.run_id).order_by(func.sum(SpendRow.amount).desc(), SpendRow.run_id).limit(_DEAREST)
    async with database.transaction() as session:
        days, phases, models = [
            [Cost(row[0], parse_spent(row[1:])) for row in await session.execute(select_by(column))]
            for column in (SpendRow.day, SpendRow.phase, SpendRow.model)
        ]
        spent = {row[0]: parse_spent(row[1:]) for row in await session.execute(dearest)}
        known = {row.id: row.as_run() for row in await session.scalars(select(RunRow).where(RunRow.id.in_(spent)))}
        titles = await load_titles(session, repository_id, {run.number for run in known.values()})
    return RepositoryCosts(
        sorted(days, key=lambda cost: cost.name, reverse=True),
        sorted(phases, key=lambda cost: (-cost.spent.amount, cost.name)),
        sorted(models, key=lambda cost: (-cost.spent.amount, cost.name)),
        [
            RunCost(known[run_id], each, titles.get(known[run_id].number, ""))
            for run_id, each in spent.items()
            if run_id in known
        ],
    )


async def list_working(database: Database, repository_id: int, limit: int) -> Sequence[RunCost]:
    """What the runs that are not over spent and reserve, newest first."""
    live = [state.value for state in RunState if not state.is_final]
    query = select(RunRow).where(RunRow.repository_id == repository_id, RunRow.state.in_(live))
    async with database.transaction() as session:
        rows = (await session.scalars(query.order_by(RunRow.id.desc()).limit(limit))).all()
        of = select(SpendRow.run_id, *SPENT_COLUMNS).where(SpendRow.run_id.in_([row.id for row in rows]))
        spent = {row[0]: parse_spent(row[1:]) for row in await session.execute(of.group_by(SpendRow.run_id))}
    return [RunCost(row.as_run(), spent[row.id]) for row in rows if row.id in spent]
