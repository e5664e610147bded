"""Each story runs on SQLite and on PostgreSQL."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.databases import Backend, drop, fresh
from tests.stories.driver import Story, story


@pytest.fixture(params=["sqlite", "postgresql"])
async def told(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Story]:
    backend: Backend = request.param
    url = fresh(backend, tmp_path)
    async with story(url, tmp_path) as started:
        yield started
    drop(url)
