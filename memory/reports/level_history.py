"""Loads how the automation level of a repository changed, for the dashboard."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.events import Event, EventType
from memory.db.engine import Database, number_in
from memory.db.tables.ledger import EventRow


async def list_level_changes(database: Database, repository_id: int, limit: int) -> Sequence[Event]:
    """The latest changes of the level, newest first."""
    query = select(EventRow).where(
        EventRow.type == EventType.ladder_changed.value, number_in(EventRow.payload["repository"]) == repository_id
    )
    async with database.transaction() as session:
        rows = await session.scalars(query.order_by(EventRow.time.desc(), EventRow.id.desc()).limit(limit))
        return [Event.model_validate({name: getattr(row, name) for name in Event.model_fields}) for row in rows]
