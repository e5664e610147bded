"""Sums up what models cost: by phase, model, repository, day or run, and what repositories spent today."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select

from domain.money import GroupBy
from domain.runs.run import Run, RunState
from memory.call_facts import utc_day
from memory.db.engine import Database
from memory.db.tables.runs import RunRow, SpendRow
from memory.reports.pages import load_titles
from memory.reservations import SPENT_COLUMNS, Spent, parse_spent

_COLUMNS: dict[GroupBy, Any] = {
    GroupBy.phase: SpendRow.phase,
    GroupBy.model: SpendRow.model,
    GroupBy.repository: SpendRow.repository_id,
    GroupBy.day: SpendRow.day,
}


@dataclass(frozen=True)
class Cost:
    """What was spent on one phase, model, repository or day (UTC)."""

    name: str
    spent: Spent


@dataclass(frozen=True)
class CostFilter:
    """Which calls count; None: all. Days are those of the reservation, in UTC."""

    since: datetime | None = None
    until: datetime | None = None
    repositories: Sequence[int] | None = None
    run: str | None = None


@dataclass(frozen=True)
class SpendingRepository:
    """A repository in which something was spent, by its newest name."""

    id: int
    installation_id: int
    full_name: str


async def sum_costs(database: Database, by: GroupBy, span: CostFilter) -> Sequence[Cost]:
    """The sums: days newest first, everything else the dearest first."""
    column = _COLUMNS[by]
    query = select(column, *SPENT_COLUMNS).where(*_build_conditions(span)).group_by(column)
    rows = await database.rows(query)
    known = await load_names(database, [row[0] for row in rows]) if by is GroupBy.repository else {}
    found = [Cost(known.get(row[0], str(row[0])), parse_spent(row[1:])) for row in rows]
    if by is GroupBy.day:
        return sorted(found, key=lambda cost: cost.name, reverse=True)
    return sorted(found, key=lambda cost: (-cost.spent.amount, cost.name))


async def sum_today(database: Database, day: datetime) -> Sequence[tuple[SpendingRepository, int]]:
    """What each repository spent or reserved on the UTC day of a time, in micro-USD."""
    today = SpendRow.day == day.date().isoformat()
    query = select(SpendRow.repository_id, SpendRow.installation_id, func.sum(SpendRow.amount)).where(today)
    rows = await database.rows(query.group_by(SpendRow.repository_id, SpendRow.installation_id))
    known = await load_names(database, [row[0] for row in rows])
    found = [(SpendingRepository(row[0], row[1], known.get(row[0], str(row[0]))), int(row[2])) for row in rows]
    return sorted(found, key=lambda each: (-each[1], each[0].full_name))


def _build_conditions(span: CostFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if span.since is not None:
        conditions += [SpendRow.day >= utc_day(span.since), SpendRow.reserved_at >= span.since]
    if span.until is not None:
        conditions += [SpendRow.day <= utc_day(span.until), SpendRow.reserved_at < span.until]
    if span.repositories is not None:
        conditions.append(SpendRow.repository_id.in_(span.repositories))
    if span.run is not None:
        conditions.append(SpendRow.run_id == span.run)
    return conditions


async def load_names(database: Database, repository_ids: Sequence[int]) -> dict[int, str]:
    """The newest names of repositories in which Forge ran."""
    newest = select(func.max(RunRow.id)).where(RunRow.repository_id.in_(repository_ids)).group_by(RunRow.repository_id)
    query = select(RunRow.repository_id, RunRow.owner, RunRow.name).where(RunRow.id.in_(newest))
    return {number: f"{owner}/{name}" for number, owner, name in await database.rows(query)}


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
    rows = await database.rows(select(*keys, *SPENT_COLUMNS).where(*where).group_by(*keys))
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
