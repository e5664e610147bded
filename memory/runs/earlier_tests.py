"""Keeps what the earlier tests say of a change, and how they ended before it, for whoever asks next.

Stored among the checkpoints of the run.
"""

from datetime import datetime

from pydantic import BaseModel, JsonValue
from sqlalchemy import select

from domain.ids import new_id
from domain.runs.earlier_tests import BaseRun, EarlierTests
from domain.runs.run import Run
from memory.db.engine import Database
from memory.db.tables.runs import CheckpointRow, RunRow

_SAID, _BASE = "earlier tests", "earlier tests before"  # among the phases, with the key: each has its own


async def save(database: Database, run: Run, key: str, earlier: EarlierTests, now: datetime) -> None:
    """Store it, once for each run.

    :param key: stands for the code before and after, the commands and the place where they run.
    """
    await _save(database, run, f"{_SAID} {key}", earlier, now)


async def find(database: Database, repository_id: int, key: str) -> EarlierTests | None:
    """The newest one of any run in a repository."""
    output = await _find(database, repository_id, f"{_SAID} {key}", None)
    return None if output is None else EarlierTests.model_validate(output)


async def save_base(database: Database, run: Run, key: str, base: BaseRun, now: datetime) -> None:
    """Store it, once for each run.

    :param key: stands for the code before, the files of tests, the commands and the place where they run.
    """
    await _save(database, run, f"{_BASE} {key}", base, now)


async def find_base(database: Database, repository_id: int, key: str, since: datetime) -> BaseRun | None:
    """The newest one of any run in a repository that is not older than some time."""
    output = await _find(database, repository_id, f"{_BASE} {key}", since)
    return None if output is None else BaseRun.model_validate(output)


async def _save(database: Database, run: Run, phase: str, value: BaseModel, now: datetime) -> None:
    async with database.transaction() as session:
        of_run = select(CheckpointRow.id).where(CheckpointRow.run_id == run.id, CheckpointRow.phase == phase)
        if await session.scalar(of_run) is None:
            output = value.model_dump(mode="json")
            session.add(CheckpointRow(id=new_id(), run_id=run.id, phase=phase, output=output, time=now))


async def _find(
    database: Database, repository_id: int, phase: str, since: datetime | None
) -> dict[str, JsonValue] | None:
    query = (
        select(CheckpointRow.output)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(RunRow.repository_id == repository_id, CheckpointRow.phase == phase)
        .order_by(CheckpointRow.id.desc())
        .limit(1)
    )
    if since is not None:
        query = query.where(CheckpointRow.time >= since)
    return await database.scalar(query)
