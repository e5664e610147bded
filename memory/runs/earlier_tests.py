"""Keeps what the earlier tests say of a change, for whoever asks next. Stored among the checkpoints of the run."""

from datetime import datetime

from sqlalchemy import select

from domain.ids import new_id
from domain.runs.earlier_tests import EarlierTests
from domain.runs.run import Run
from memory.db.engine import Database
from memory.db.tables.runs import CheckpointRow, RunRow


async def save(database: Database, run: Run, key: str, earlier: EarlierTests, now: datetime) -> None:
    """Store it, once for each run.

    :param key: stands for the code before and after, the commands and the place where they run.
    """
    async with database.transaction() as session:
        of_run = select(CheckpointRow.id).where(CheckpointRow.run_id == run.id, CheckpointRow.phase == _phase(key))
        if await session.scalar(of_run) is None:
            output = earlier.model_dump(mode="json")
            session.add(CheckpointRow(id=new_id(), run_id=run.id, phase=_phase(key), output=output, time=now))


async def find(database: Database, repository_id: int, key: str) -> EarlierTests | None:
    """The newest one of any run in a repository."""
    query = (
        select(CheckpointRow.output)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(RunRow.repository_id == repository_id, CheckpointRow.phase == _phase(key))
        .order_by(CheckpointRow.id.desc())
        .limit(1)
    )
    async with database.transaction() as session:
        output = await session.scalar(query)
        return None if output is None else EarlierTests.model_validate(output)


def _phase(key: str) -> str:
    """Its name among the phases: each key has its own."""
    return f"earlier tests {key}"
