"""A database of each kind."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from memory.database import Database
from tests.databases import Backend, drop, fresh


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Database]:
    backend: Backend = request.param
    url = fresh(backend, tmp_path)
    opened = Database(url)
    yield opened
    await opened.close()
    drop(url)
