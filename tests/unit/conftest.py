"""A database of each kind, for the tests of what is said to one."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from memory.db.engine import Database
from tests.databases import Backend, lend_database


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    backend: Backend = request.param
    with lend_database(backend, tmp_path) as address:
        yield address


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = Database(url)
    yield opened
    await opened.close()
