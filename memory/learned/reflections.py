"""Stores the outcome of a reflection, and finds runs worth one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.memories import Archived, Memory, Origin, Use, create_memory
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from domain.value import lowest_id_at
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import MemoryRow
from memory.db.tables.runs import EventRow, RunRow
from memory.learned import memories
from safety.learning_screening import CROWDED, MOST_PROPOSED, Learning, LearningDecision


async def keep(
    database: Database,
    run: Run,
    moment: str,
    decided: Sequence[LearningDecision],
    note: str,
    now: datetime,
) -> int:
    """Store the result of a reflection, once per run and moment; returns the number of new proposals.

    :param note: why nothing was learned, if so.
    """
    async with database.transaction() as session:
        # A write comes first, so that two executions take turns.
        await session.execute(update(RunRow).where(RunRow.id == run.id).values(state=RunRow.state))
        if (before := await _find_recorded(session, run, moment)) is not None:
            return int(before["stored"])
        await memories.lock_repository(session, database.dialect, run.repository.id)
        became = Counter([await _keep(session, database.dialect, run, each, now) for each in decided])
        told = {
            "moment": moment,
            "stored": became[EventType.learning_stored],
            "merged": became[EventType.learning_merged],
            "refused": became[EventType.learning_refused],
            "note": note,
        }
        ledger.record(session, run.id, EventType.reflected, now, source="reflection", payload=told)
        return became[EventType.learning_stored]


async def _find_recorded(session: AsyncSession, run: Run, moment: str) -> Mapping[str, Any] | None:
    """What was recorded of this reflection, if it was stored before."""
    same = ledger.select_same(run.id, EventType.reflected, "moment", moment)
    return await session.scalar(same.with_only_columns(EventRow.payload))


async def _keep(session: AsyncSession, dialect: str, run: Run, decided: LearningDecision, now: datetime) -> EventType:
    """Store one learning as a proposal if it passes; returns the outcome."""
    learning, refused = decided.learning, decided.refused
    memory = _propose(run, learning, now)
    if decided.is_new and await _count_proposed(session, run.repository.id) >= MOST_PROPOSED:
        refused = CROWDED
    elif decided.is_new:
        session.add(memories.to_row(memory))
        await session.flush()
    told: dict[str, object] = {"event": learning.event, "kind": learning.kind.value}
    if refused is not None:
        kind = EventType.learning_refused
        told |= refused.model_dump(include={"code", "text"}) | {"content": redact_outgoing(learning.content)[:200]}
    elif decided.into is not None:
        kind = EventType.learning_merged
        told |= {"memory": decided.into}
        await _count_recurrence(session, dialect, run, decided.into, now)
    else:
        kind = EventType.learning_stored
        told |= {"memory": memory.id}
    ledger.record(session, run.id, kind, now, source="reflection", payload=told)
    return kind


async def _count_recurrence(session: AsyncSession, dialect: str, run: Run, memory_id: str, now: datetime) -> None:
    """Count another run that taught the same; the first one counts already."""
    row = await session.get(MemoryRow, memory_id)
    if row is not None and run.id not in row.source:
        await memories.record_use_within(session, dialect, [memory_id], Use.recurred, run.id, now)


async def _count_proposed(session: AsyncSession, repository_id: int) -> int:
    proposed = MemoryRow.repository_id == repository_id, MemoryRow.archived_why == Archived.proposed.value
    return await session.scalar(select(func.count()).where(*proposed)) or 0


def _propose(run: Run, learning: Learning, now: datetime) -> Memory:
    """A memory that is told to nobody before a person keeps it."""
    source = f"event {learning.event} of run {run.id} on #{run.number}"
    made = create_memory(
        run.repository,
        Origin.model,
        learning.kind,
        learning.content,
        source,
        now,
        context=learning.context,
        tags=learning.tags,
    )
    return made.model_copy(update={"archived_at": now, "archived_why": Archived.proposed})


_NEWSWORTHY = (
    EventType.phase_bounced,
    EventType.budget_half,
    EventType.gate_rejected,
    EventType.feedback_dismissed,
    EventType.feedback_missed,
    EventType.feedback_decided,
    EventType.ladder_stopped,
)


async def list_newsworthy_runs(database: Database, since: datetime) -> Sequence[str]:
    """The runs with events since a time that may be worth a reflection.

    :param since: by the clock of this machine, which gives events their ids.
    """
    failed = and_(EventRow.type == EventType.tool_executed.value, EventRow.payload["problem"].as_string().is_not(None))
    telling = or_(EventRow.type.in_([kind.value for kind in _NEWSWORTHY]), failed)
    found = await database.scalars(select(EventRow.trace).where(EventRow.id > lowest_id_at(since), telling))
    return list(dict.fromkeys(found))
