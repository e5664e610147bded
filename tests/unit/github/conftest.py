"""The adapter before a GitHub made of respx routes."""

from collections.abc import AsyncIterator

import pytest
import respx

from memory.db.engine import Database
from tests.unit.github.kit import API, Kit, MovableClock, Sleeps


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    clock = MovableClock()
    kit = Kit(respx.MockRouter(base_url=API, assert_all_called=False), clock, Sleeps(clock))
    yield kit
    await kit.host.aclose()


@pytest.fixture
def lasting(kit: Kit, database: Database) -> Kit:
    """The same with a database, so that other processes and the next one know of its limits and writes."""
    kit.database = database
    kit.restart()
    return kit
