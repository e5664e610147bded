"""Reads the events of which people may want a notice, with the run and the gate that each is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import Event
from domain.gates import Gate
from domain.runs.run import RepositoryRef, Run
from memory.db.engine import Database
from memory.db.tables.ledger import EventRow
from memory.db.tables.notices import NoticedEventRow
from memory.db.tables.runs import RunRow
from memory.gates import gates
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


async def list_oldest(database: Database, most: int, beyond: str = "") -> Sequence[NoticedEvent]:
    """The oldest events that nobody was told of; it only reads.

    :param beyond: the id of an event; only later ones.
    """
    query = (
        select(EventRow)
        .join(NoticedEventRow, NoticedEventRow.id == EventRow.id)
        .where(NoticedEventRow.id > beyond)
        .order_by(NoticedEventRow.id)
        .limit(most)
    )
    async with database.transaction() as session:
        rows = (await session.scalars(query)).all()
        found = [await _describe(session, row) for row in rows]
    return [await _add_gate(database, each) for each in found]


async def _describe(session: AsyncSession, row: EventRow) -> NoticedEvent:
    event = Event.model_validate({name: getattr(row, name) for name in Event.model_fields})
    of_run = await session.get(RunRow, row.trace)
    if of_run is not None:
        run = of_run.as_run()
        return NoticedEvent(event, run.repository, run)
    return NoticedEvent(event, await _find_repository(session, event.payload))


async def _find_repository(session: AsyncSession, facts: Mapping[str, Any]) -> RepositoryRef | None:
    """The repository that an event names, by its id or as a whole."""
    named = facts.get("repository")
    if isinstance(named, int):
        return await addresses.find_address_within(session, named)
    try:
        return RepositoryRef.model_validate(named)
    except ValidationError:
        return None


async def _add_gate(database: Database, noticed: NoticedEvent) -> NoticedEvent:
    gate_id = noticed.event.payload.get("gate")
    gate = await gates.get(database, gate_id) if isinstance(gate_id, str) else None
    return NoticedEvent(noticed.event, noticed.repository, noticed.run, gate)
