"""What the tests of the adapter share."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.stage import Stage, open_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage() as set_up:
        yield set_up
