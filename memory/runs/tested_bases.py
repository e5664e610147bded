"""Keeps what tests say of a base and of a change to it, for the runs on the same commit.

All of it is stored among the checkpoints of the run. Covered lines are many, so they are compressed.
"""

import base64
import zlib
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import select

from domain.runs.coverage import BaseCoverage
from domain.runs.earlier_tests import BaseRun, EarlierTests
from domain.runs.run import Run
from domain.value import new_id
from memory.db.engine import Database
from memory.db.tables.runs import CheckpointRow, RunRow

_COVERAGE, _SAID, _BASE = "coverage", "earlier tests", "earlier tests before"  # among the phases, with the key
"""Each key has its own, so that nothing has to be unpacked to be found."""


async def save_coverage(database: Database, run: Run, key: str, base: BaseCoverage, now: datetime) -> None:
    """Store what the tests of a base cover, once for each run.

    :param key: stands for the commit, the commands and the place where they run.
    """
    lines = base64.b64encode(zlib.compress(base.model_dump_json().encode())).decode()
    await _save(database, run, f"{_COVERAGE} {key}", {"content": lines}, now)


async def find_coverage(database: Database, repository_id: int, key: str) -> BaseCoverage | None:
    """The newest one of any run in a repository."""
    output = await _find(database, repository_id, f"{_COVERAGE} {key}", None)
    if output is None:
        return None
    return BaseCoverage.model_validate_json(zlib.decompress(base64.b64decode(str(output["content"]))))


async def save_earlier(database: Database, run: Run, key: str, earlier: EarlierTests, now: datetime) -> None:
    """Store it, once for each run.

    :param key: stands for the code before and after, the commands and the place where they run.
    """
    await _save(database, run, f"{_SAID} {key}", earlier.model_dump(mode="json"), now)


async def find_earlier(database: Database, repository_id: int, key: str) -> EarlierTests | None:
    """The newest one of any run in a repository."""
    output = await _find(database, repository_id, f"{_SAID} {key}", None)
    return None if output is None else EarlierTests.model_validate(output)


async def save_base(database: Database, run: Run, key: str, base: BaseRun, now: datetime) -> None:
    """Store it, once for each run.

    :param key: stands for the code before, the files of tests, the commands and the place where they run.
    """
    await _save(database, run, f"{_BASE} {key}", base.model_dump(mode="json"), now)


async def find_base(database: Database, repository_id: int, key: str, since: datetime) -> BaseRun | None:
    """The newest one of any run in a repository that is not older than some time."""
    output = await _find(database, repository_id, f"{_BASE} {key}", since)
    return None if output is None else BaseRun.model_validate(output)


async def _save(database: Database, run: Run, phase: str, output: dict[str, JsonValue], now: datetime) -> None:
    async with database.transaction() as session:
        of_run = select(CheckpointRow.id).where(CheckpointRow.run_id == run.id, CheckpointRow.phase == phase)
        if await session.scalar(of_run) is None:
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
