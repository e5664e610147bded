"""Keeps the GitHub client's rate limits and write counts in the database."""

from bot.github.limits import Block
from domain.github.importance import Importance
from domain.ports import Clock
from memory.db.engine import Database
from memory.process import rate_limits
from safety.write_rates import Rate, WriteTurn


class StoredLimits:
    """A ``LimitStore`` on the database, shared by all processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last_block(self, installation_id: int) -> Block | None:
        found = await rate_limits.get_latest(self._database, installation_id)
        return None if found is None else Block(found.until, found.reason, found.streak)

    async def block(self, installation_id: int, block: Block) -> None:
        await rate_limits.remember(
            self._database, installation_id, rate_limits.RateLimitPause(block.until, block.reason, block.streak)
        )

    async def clear(self, installation_id: int) -> None:
        await rate_limits.forget(self._database, installation_id)


class StoredBudget:
    """A ``Budget`` on the database, shared by all processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def take(self, installation_id: int, rate: Rate, importance: Importance, *, creates: bool) -> WriteTurn:
        now = self._clock.now()
        return await rate_limits.reserve_write(self._database, installation_id, rate, importance, now, creates=creates)
