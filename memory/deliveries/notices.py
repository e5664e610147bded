"""Reads the events that people may want a notice about, and what they are about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import Event
from domain.gates import Gate
from domain.runs.run import RepositoryRef, Run
from memory import gates
from memory.db.engine import Database
from memory.db.tables.deliveries import NoticedEventRow
from memory.db.tables.runs import EventRow, RunRow
from memory.repositories import addresses


@dataclass(frozen=True)
class NoticedEvent:
    """An event and what it is about.

    :param repository: None: all of Forge.
    """

    event: Event
    repository: RepositoryRef | None
    run: Run | None = None
    gate: Gate | None = None


async def list_untold(database: Database, most: int, beyond: str = "") -> Sequence[str]:
    """The ids of the oldest events that nobody was told of.

    :param beyond: the id of an event; only later ones.
    """
    later = NoticedEventRow.id > beyond
    return await database.scalars(select(NoticedEventRow.id).where(later).order_by(NoticedEventRow.id).limit(most))


async def forget(database: Database, event_id: str) -> None:
    """Note that an event is told, or will be."""
    await database.execute(delete(NoticedEventRow).where(NoticedEventRow.id == event_id))


async def load(database: Database, event_id: str) -> NoticedEvent | None:
    """An event, and what it is about as that is now; None if it is not known any more."""
    async with database.transaction() as session:
        row = await session.get(EventRow, event_id)
        if row is None:
            return None
        event, of_run = Event.model_validate(row, from_attributes=True), await session.get(RunRow, row.trace)
        run = None if of_run is None else of_run.as_run()
        repository = await _find_repository(session, event.payload) if run is None else run.repository
    gate_id = event.payload.get("gate")
    gate = await gates.get(database, gate_id) if isinstance(gate_id, str) else None
    return NoticedEvent(event, repository, run, gate)


async def _find_repository(session: AsyncSession, facts: Mapping[str, Any]) -> RepositoryRef | None:
    """The repository that an event names, by its id or as a whole."""
    named = facts.get("repository")
    if isinstance(named, int):
        return await addresses.find_address_within(session, named)
    try:
        return RepositoryRef.model_validate(named)
    except ValidationError:
        return None
