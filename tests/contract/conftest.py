"""What the tests of the adapter share."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.stage import Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as set_up:
        yield set_up
