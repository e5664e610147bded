"""A repository with a change of the test's own, fetched into a mirror as GitHub's would be."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from domain.review.changes import Change
from tests.unit.workspace.remotes import AUTHORIZATION, Author, serve
from workspace.mirror import Mirror, Mirrors


@asynccontextmanager
async def mirror_change(
    folder: Path, before: Mapping[str, str], after: Mapping[str, str | None]
) -> AsyncGenerator[tuple[Mirror, Change]]:
    """A mirror of a repository, and the change of its newest commit.

    :param folder: an empty one.
    """
    (folder / "remotes").mkdir()
    author = Author(folder / "remotes" / "repo.git")
    base, head = author.commit(before), author.commit(after)
    async with serve(author.remote.parent) as remote:
        mirror = await Mirrors(folder / "mirrors", seconds=20).mirror(1, remote.url, AUTHORIZATION)
        for sha in (base, head):
            await mirror.fetch(sha, sha, 1)
        yield mirror, await mirror.change(base, head)
