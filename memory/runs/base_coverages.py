"""Keeps what the tests of a base cover, for the runs on the same commit. Stored among the checkpoints of the run.

Lines are many, so they are compressed.
"""

import base64
import zlib
from datetime import datetime

from sqlalchemy import select

from domain.ids import new_id
from domain.runs.base_coverage import BaseCoverage
from domain.runs.run import Run
from memory.db.engine import Database
from memory.db.tables.runs import CheckpointRow, RunRow


async def save(database: Database, run: Run, key: str, base: BaseCoverage, now: datetime) -> None:
    """Store it, once for each run.

    :param key: stands for the commit, the commands and the place where they run.
    """
    async with database.transaction() as session:
        of_run = select(CheckpointRow.id).where(CheckpointRow.run_id == run.id, CheckpointRow.phase == _phase(key))
        if await session.scalar(of_run) is None:
            output = {"content": _compress(base)}
            session.add(CheckpointRow(id=new_id(), run_id=run.id, phase=_phase(key), output=output, time=now))


async def find(database: Database, repository_id: int, key: str) -> BaseCoverage | None:
    """The newest one of any run in a repository."""
    query = (
        select(CheckpointRow.output)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(RunRow.repository_id == repository_id, CheckpointRow.phase == _phase(key))
        .order_by(CheckpointRow.id.desc())
        .limit(1)
    )
    output = await database.scalar(query)
    return None if output is None else _decompress(output["content"])


def _phase(key: str) -> str:
    """Its name among the phases: each key has its own, so that nothing has to be unpacked to be found."""
    return f"coverage {key}"


def _compress(base: BaseCoverage) -> str:
    return base64.b64encode(zlib.compress(base.model_dump_json().encode())).decode()


def _decompress(content: str) -> BaseCoverage:
    return BaseCoverage.model_validate_json(zlib.decompress(base64.b64decode(content)))
