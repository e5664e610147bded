"""The adapter before a GitHub made of respx routes."""

from collections.abc import AsyncIterator

import pytest
import respx

from tests.unit.github.kit import API, Kit, MovableClock, Sleeps


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    clock = MovableClock()
    kit = Kit(respx.MockRouter(base_url=API, assert_all_called=False), clock, Sleeps(clock))
    yield kit
    await kit.host.aclose()
