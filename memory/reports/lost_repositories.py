"""Deletes the data of repositories that Forge lost, and lists their runs and deliveries."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update

from memory.db.batches import delete_in_batches
from memory.db.engine import Database
from memory.db.tables.automation import LadderRow, MissedBugRow
from memory.db.tables.deliveries import BranchPushRow, CommandCountRow, SignedCommitRow
from memory.db.tables.deployments import DeploymentRow
from memory.db.tables.findings import FeedbackRow, FindingRow
from memory.db.tables.gates import GateRow
from memory.db.tables.learned import MemoryRow, MemoryUseRow, RecallRow
from memory.db.tables.money import AnswerRow, CircuitRow
from memory.db.tables.notices import NoticeRow, NoticeTargetRow
from memory.db.tables.production import FeedbackTokenRow, ProblemRow
from memory.db.tables.repositories import AssentRow, PauseRow, WelcomeRow
from memory.db.tables.runs import PullRequestRow, RunRow


async def forget(database: Database, repository_ids: Sequence[int]) -> None:
    """Delete the questions, findings, memories and decisions of repositories that Forge lost."""
    of_runs = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids))
    for table, run in ((AnswerRow, AnswerRow.run_id), (RecallRow, RecallRow.run_id)):
        await delete_in_batches(database, table, run, select(run).where(run.in_(of_runs)))
    learned = select(MemoryRow.id).where(MemoryRow.repository_id.in_(repository_ids))
    used = MemoryUseRow.memory_id
    await delete_in_batches(database, MemoryUseRow, used, select(used).where(used.in_(learned)))
    for table, key in _OF_REPOSITORIES:
        lost = select(key).where(table.repository_id.in_(repository_ids))
        await delete_in_batches(database, table, key, lost)
    # their fencing tokens stay
    named = PullRequestRow.repository_id.in_(repository_ids), PullRequestRow.title != ""
    await database.execute(update(PullRequestRow).where(*named).values(title=""))


_OF_REPOSITORIES: Sequence[tuple[Any, Any]] = (
    (GateRow, GateRow.id),
    (FindingRow, FindingRow.id),
    (FeedbackRow, FeedbackRow.id),
    (MemoryRow, MemoryRow.id),
    (MissedBugRow, MissedBugRow.id),
    (LadderRow, LadderRow.repository_id),
    (CircuitRow, CircuitRow.repository_id),
    (PauseRow, PauseRow.repository_id),
    (BranchPushRow, BranchPushRow.repository_id),
    (SignedCommitRow, SignedCommitRow.repository_id),
    (AssentRow, AssentRow.repository_id),
    (DeploymentRow, DeploymentRow.run_id),
    (FeedbackTokenRow, FeedbackTokenRow.id),
    (ProblemRow, ProblemRow.id),
    (CommandCountRow, CommandCountRow.guid),
    (NoticeRow, NoticeRow.id),
    (NoticeTargetRow, NoticeTargetRow.target),
)


async def list_deliveries(database: Database, repository_ids: Sequence[int]) -> Sequence[str]:
    """The deliveries that began runs in these repositories, or told that the App was installed there."""
    query = select(RunRow.admitted_by).where(RunRow.repository_id.in_(repository_ids))
    welcomed = select(WelcomeRow.cause).where(WelcomeRow.repository_id.in_(repository_ids))
    async with database.transaction() as session:
        began = {admitted.rpartition("#")[0] for admitted in await session.scalars(query)}
        return sorted(began | {*await session.scalars(welcomed)})


async def list_runs(database: Database, repository_ids: Sequence[int]) -> Sequence[str]:
    """The runs of these repositories."""
    return await database.scalars(select(RunRow.id).where(RunRow.repository_id.in_(repository_ids)))
