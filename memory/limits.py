"""Keeps until when GitHub asked us to be quiet, for every process and across restarts."""

from datetime import datetime

from sqlalchemy import delete, update

from memory.database import Database, insert_new
from memory.tables import LimitRow


class Limits:
    """GitHub's limits per installation, in the database; 0 stands for the App itself."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def blocked_until(self, installation_id: int) -> datetime | None:
        """The moment before which nothing may be sent, which may be past."""
        async with self._database.transaction() as session:
            row = await session.get(LimitRow, installation_id)
            return None if row is None else row.until

    async def streak(self, installation_id: int) -> int:
        """How many limits in a row GitHub answered with."""
        async with self._database.transaction() as session:
            row = await session.get(LimitRow, installation_id)
            return 0 if row is None else row.streak

    async def block(self, installation_id: int, until: datetime, reason: str, streak: int) -> None:
        """Send nothing before ``until``."""
        values = {"installation_id": installation_id, "until": until, "reason": reason, "streak": streak}
        async with self._database.transaction() as session:
            await session.execute(insert_new(self._database.dialect, LimitRow, values))
            await session.execute(update(LimitRow).where(LimitRow.installation_id == installation_id).values(**values))

    async def clear(self, installation_id: int) -> None:
        """The limit is over and the streak with it."""
        async with self._database.transaction() as session:
            await session.execute(delete(LimitRow).where(LimitRow.installation_id == installation_id))
