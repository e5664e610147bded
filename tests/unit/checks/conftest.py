from collections.abc import AsyncIterator

import pytest_asyncio

from agents.toolbox import Toolbox


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def toolbox() -> AsyncIterator[Toolbox]:
    async with Toolbox.start() as started:
        yield started
