"""Sums up what models cost: by phase, model, repository or day, and what repositories spent today."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select

from domain.money import GroupBy
from memory.db.engine import Database
from memory.db.tables.money import SpendRow
from memory.db.tables.runs import RunRow
from memory.reservations.reservations import SPENT_COLUMNS, Spent, parse_spent

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
    async with database.transaction() as session:
        rows = (await session.execute(query)).all()
    known = await load_names(database, [row[0] for row in rows]) if by is GroupBy.repository else {}
    found = [Cost(known.get(row[0], str(row[0])), parse_spent(row[1:])) for row in rows]
    if by is GroupBy.day:
        return sorted(found, key=lambda cost: cost.name, reverse=True)
    return sorted(found, key=lambda cost: (-cost.spent.amount, cost.name))


async def sum_today(database: Database, day: datetime) -> Sequence[tuple[SpendingRepository, int]]:
    """What each repository spent or reserved on the UTC day of a time, in micro-USD."""
    today = SpendRow.day == day.date().isoformat()
    query = select(SpendRow.repository_id, SpendRow.installation_id, func.sum(SpendRow.amount)).where(today)
    async with database.transaction() as session:
        rows = (await session.execute(query.group_by(SpendRow.repository_id, SpendRow.installation_id))).all()
    known = await load_names(database, [row[0] for row in rows])
    found = [(SpendingRepository(row[0], row[1], known.get(row[0], str(row[0]))), int(row[2])) for row in rows]
    return sorted(found, key=lambda each: (-each[1], each[0].full_name))


def _build_conditions(span: CostFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if span.since is not None:
        conditions += [SpendRow.day >= _name_day(span.since), SpendRow.reserved_at >= span.since]
    if span.until is not None:
        conditions += [SpendRow.day <= _name_day(span.until), SpendRow.reserved_at < span.until]
    if span.repositories is not None:
        conditions.append(SpendRow.repository_id.in_(span.repositories))
    if span.run is not None:
        conditions.append(SpendRow.run_id == span.run)
    return conditions


def _name_day(moment: datetime) -> str:
    """The UTC day of a time, which indexes find."""
    return moment.astimezone(UTC).date().isoformat()


async def load_names(database: Database, repository_ids: Sequence[int]) -> dict[int, str]:
    """The newest names of repositories in which Forge ran."""
    newest = select(func.max(RunRow.id)).where(RunRow.repository_id.in_(repository_ids)).group_by(RunRow.repository_id)
    query = select(RunRow.repository_id, RunRow.owner, RunRow.name).where(RunRow.id.in_(newest))
    async with database.transaction() as session:
        return {number: f"{owner}/{name}" for number, owner, name in await session.execute(query)}
