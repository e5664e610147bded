"""Sums up how often agents gave up in disguise, and what came of it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from domain.runs.recovery import RecoveryOutcome
from memory.db.engine import Database
from memory.db.tables.runs import RecoveryRow


@dataclass(frozen=True)
class RecoveryFigures:
    """What came of it, over pieces of work in which an agent was caught.

    :param troubles: how many pieces.
    :param attempts: that were made at them to recover.
    :param mended: pieces that an agent mended before any person was asked.
    :param escalated: pieces about which people were asked.
    """

    troubles: int = 0
    attempts: int = 0
    mended: int = 0
    escalated: int = 0

    @property
    def attempts_per_trouble(self) -> float | None:
        """None if there was no trouble; so it is with the shares."""
        return self.attempts / self.troubles if self.troubles else None

    @property
    def share_mended(self) -> float | None:
        """The share that was mended without a person, 0 to 1."""
        return self.mended / self.troubles if self.troubles else None

    @property
    def share_escalated(self) -> float | None:
        """The share about which people were asked, 0 to 1."""
        return self.escalated / self.troubles if self.troubles else None


@dataclass(frozen=True)
class RecoveryFact:
    """One attempt, as far as it is counted.

    :param is_made: whether it began.
    """

    run_id: str
    work: str
    is_made: bool
    outcome: RecoveryOutcome


async def load_recovery_figures(
    database: Database, since: datetime, repository_ids: Sequence[int] | None = None
) -> RecoveryFigures:
    """The figures since a moment.

    :param repository_ids: None: all repositories.
    """
    columns = RecoveryRow.run_id, RecoveryRow.work, RecoveryRow.strategy, RecoveryRow.outcome
    query = select(*columns).where(RecoveryRow.time >= since).order_by(RecoveryRow.id)
    if repository_ids is not None:
        query = query.where(RecoveryRow.repository_id.in_(repository_ids))
    async with database.transaction() as session:
        rows = (await session.execute(query)).all()
    facts = [
        RecoveryFact(run_id, work, strategy is not None, RecoveryOutcome(outcome))
        for run_id, work, strategy, outcome in rows
    ]
    return sum_up(facts)


def sum_up(facts: Iterable[RecoveryFact]) -> RecoveryFigures:
    """The figures of attempts, in their order."""
    by_work: defaultdict[tuple[str, str], list[RecoveryFact]] = defaultdict(list)
    for fact in facts:
        by_work[fact.run_id, fact.work].append(fact)
    escalated = [
        works for works in by_work.values() if any(each.outcome is RecoveryOutcome.escalated for each in works)
    ]
    mended = [
        works for works in by_work.values() if works not in escalated and works[-1].outcome is RecoveryOutcome.mended
    ]
    attempts = sum(each.is_made for works in by_work.values() for each in works)
    return RecoveryFigures(len(by_work), attempts, len(mended), len(escalated))
