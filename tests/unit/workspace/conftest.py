"""A remote, its author and a mirror of it, for every test here."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.workspace.remotes import AUTHORIZATION, Author, Remote, serve
from workspace.mirror import Mirror, Mirrors


@pytest.fixture
def author(tmp_path: Path) -> Author:
    (tmp_path / "remotes").mkdir()
    return Author(tmp_path / "remotes" / "repo.git")


@pytest.fixture
async def remote(author: Author) -> AsyncIterator[Remote]:
    async with serve(author.remote.parent) as remote:
        yield remote


@pytest.fixture
def mirrors(tmp_path: Path) -> Mirrors:
    return Mirrors(tmp_path / "mirrors", seconds=20)


@pytest.fixture
async def mirror(mirrors: Mirrors, remote: Remote) -> Mirror:
    return await mirrors.mirror(1, remote.url, AUTHORIZATION)
