"""Sums up how often agents gave up in disguise, and what came of it, for the metrics."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.metrics import TroubleFact
from domain.runs.recovery import RecoveryOutcome
from memory.db.tables.runs import RecoveryRow


@dataclass(frozen=True)
class CountedAttempt:
    """One attempt, as far as it is counted.

    :param is_made: whether it began.
    """

    run_id: str
    work: str
    at: datetime
    is_made: bool
    outcome: RecoveryOutcome


async def load_troubles(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[TroubleFact]:
    """The pieces of work in which an agent was caught since a moment.

    :param repository_ids: None: all repositories.
    """
    columns = RecoveryRow.run_id, RecoveryRow.work, RecoveryRow.time, RecoveryRow.strategy, RecoveryRow.outcome
    query = select(*columns).where(RecoveryRow.time >= since).order_by(RecoveryRow.id)
    if repository_ids is not None:
        query = query.where(RecoveryRow.repository_id.in_(repository_ids))
    return sum_up(
        CountedAttempt(run_id, work, at, strategy is not None, RecoveryOutcome(outcome))
        for run_id, work, at, strategy, outcome in await session.execute(query)
    )


def sum_up(attempts: Iterable[CountedAttempt]) -> list[TroubleFact]:
    """Each piece of work once, by its attempts in their order."""
    by_work: defaultdict[tuple[str, str], list[CountedAttempt]] = defaultdict(list)
    for attempt in attempts:
        by_work[attempt.run_id, attempt.work].append(attempt)
    return [_sum_up_one(of_work) for of_work in by_work.values()]


def _sum_up_one(of_work: Sequence[CountedAttempt]) -> TroubleFact:
    is_escalated = any(each.outcome is RecoveryOutcome.escalated for each in of_work)
    is_mended = not is_escalated and of_work[-1].outcome is RecoveryOutcome.mended
    return TroubleFact(of_work[0].at, sum(each.is_made for each in of_work), is_mended, is_escalated)
