"""Lets the GitHub adapter keep its limits in the database."""

from bot.github.limits import Block
from memory import limits
from memory.database import Database


class StoredLimits:
    """A ``LimitStore`` on the database, shared by all processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last_block(self, installation_id: int) -> Block | None:
        found = await limits.last(self._database, installation_id)
        return None if found is None else Block(found.until, found.reason, found.streak)

    async def block(self, installation_id: int, block: Block) -> None:
        await limits.remember(self._database, installation_id, limits.Limit(block.until, block.reason, block.streak))

    async def clear(self, installation_id: int) -> None:
        await limits.forget(self._database, installation_id)
