"""Finds repositories by their names, and says of each at a glance how far Forge is there."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, inspect, select

from domain.gates import GateState
from domain.runs.run import RepositoryRef, Run
from memory.db.engine import Connection, Database
from memory.db.tables.automation import LadderRow
from memory.db.tables.gates import GateRow
from memory.db.tables.runs import RunRow
from safety.automation_level import START


@dataclass(frozen=True)
class LatestRun:
    """The newest run of a repository.

    :param at: when it was admitted.
    """

    run: Run
    at: datetime


@dataclass(frozen=True)
class RepositoryStanding:
    """How far Forge is in a repository.

    :param level: of automation, as reached or set.
    :param waiting: gates that wait for people.
    """

    level: int = START
    waiting: int = 0
    latest: LatestRun | None = None


async def find_repository(database: Database, owner: str, name: str) -> RepositoryRef | None:
    """The repository in which something ran under this name, spelt like this; the one of the newest run."""
    query = select(RunRow).where(RunRow.owner == owner, RunRow.name == name).order_by(RunRow.id.desc()).limit(1)
    async with database.transaction() as session:
        row = await session.scalar(query)
        return None if row is None else row.as_run().repository


_LATEST = (
    select(*inspect(RunRow).columns)
    .where(RunRow.repository_id == bindparam("repository"))
    .order_by(RunRow.id.desc())
    .limit(1)
)
"""One look into an index for each repository; the maxima of a group would read all runs on SQLite."""


async def load_overviews(database: Database, repository_ids: Collection[int]) -> Mapping[int, RepositoryStanding]:
    """The overview of each repository, by id."""
    return await database.run_in_transaction(lambda connection: _load_overviews(connection, repository_ids))


def _load_overviews(connection: Connection, repository_ids: Collection[int]) -> Mapping[int, RepositoryStanding]:
    waiting = (
        select(GateRow.repository_id, func.count())
        .where(GateRow.repository_id.in_(repository_ids), GateRow.state == GateState.waiting.value)
        .group_by(GateRow.repository_id)
    )
    levels = select(LadderRow.repository_id, LadderRow.level).where(LadderRow.repository_id.in_(repository_ids))
    counts = {row[0]: row[1] for row in connection.execute(waiting)}
    reached = {row[0]: row[1] for row in connection.execute(levels)}
    return {
        number: RepositoryStanding(reached.get(number, START), counts.get(number, 0), _find_latest(connection, number))
        for number in repository_ids
    }


def _find_latest(connection: Connection, repository_id: int) -> LatestRun | None:
    found = connection.execute(_LATEST, {"repository": repository_id}).mappings().one_or_none()
    return None if found is None else LatestRun(RunRow(**found).as_run(), found["created_at"])
