"""The adapter before a GitHub made of respx routes."""

from collections.abc import AsyncIterator

import pytest
import respx

from tests.unit.github.kit import API, Kit, MovableClock, Sleeps


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    clock = MovableClock()
    with respx.mock(base_url=API, assert_all_called=False) as github:
        kit = Kit(github, clock, Sleeps(clock))
        yield kit
        await kit.host.aclose()
