"""A commit in a partial clone, and a call of a tool on it."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from agents.loop.tools.files import make_file_tools
from agents.loop.tools.tool import Result, call_tool
from tests.unit.workspace.conftest import author, mirror, mirrors, remote
from workspace.mirror import Mirror
from workspace.snapshot import BOUNDS, Snapshot, SnapshotBounds

__all__ = ["author", "mirror", "mirrors", "remote"]

Call = Callable[..., Awaitable[Result]]
Opened = Callable[..., Awaitable[Call]]


@pytest.fixture
def opened(mirror: Mirror) -> Opened:
    """Open a commit of the mirror for reading."""

    async def at(commit: str, never_send: Sequence[str] = (), bounds: SnapshotBounds = BOUNDS) -> Call:
        await mirror.fetch(commit, commit, 7)
        tools = make_file_tools(await Snapshot.of(mirror, commit, bounds), never_send=never_send)

        async def call(name: str, **arguments: object) -> Result:
            return await call_tool(tools, name, arguments)

        return call

    return at
