"""Keeps one Forge running for story after story, because starting one is most of what a short story costs."""

import asyncio
import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel

from agents.llm.models import LanguageModel, Models
from bot.app import Forge
from domain.money import Price
from tests.clock import MovableClock
from workspace.sandbox.worker_pool import WorkerPool

_STAYS = ("alembic_version", "dbos_migrations", "executors", "queues", "application_versions", "workflow_schedules")
"""Tables that belong to the running process, not to a story."""
_NEAR = timedelta(minutes=2)
"""So far the clock may have been moved: what comes later in a story than in the one before cannot tell."""
_IDS_APART = 100_000  # a story makes fewer objects on GitHub than this


class RelayModel(WrapperModel):
    """A model that asks another one in each story."""

    def point_to(self, model: Model) -> None:
        """From now on, ``model`` answers."""
        self.wrapped = model

    @classmethod
    def build_models(cls, target: Model, price: Price) -> tuple["RelayModel", Models]:
        """A relay, and the models of a Forge that asks it whatever the task."""
        relay = cls(target)
        return relay, Models.only(LanguageModel("scripted", relay, price))


@dataclass
class SharedForge:
    """A Forge that several stories use, one after the other.

    :param kind: what it was started with; a story that wants another kind starts another one.
    :param folder: of its database and its data.
    :param port: where it expects GitHub.
    :param door: the port of its own webhook door.
    :param relay: the model it asks; None if it has none.
    """

    kind: Hashable
    folder: Path
    port: int
    forge: Forge
    door: int
    clock: MovableClock
    relay: RelayModel | None = None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def is_clean(self) -> bool:
        """Whether another story would find it as if just started, but for the rows in its database."""
        if self.clock.offset > _NEAR:
            return False
        with closing(self._connect()) as connection:
            [[waits]] = connection.execute("SELECT count(*) FROM waits WHERE workflow_id NOT LIKE '%/look'")
            [[halts]] = connection.execute(
                "SELECT count(*) FROM repositories WHERE repository_id = 0 AND paused_since IS NOT NULL"
            )
        return not waits and not halts

    def empty(self) -> None:
        """Remove every row that a story left, and every folder."""
        for kept in ("mirrors", "dependencies"):
            shutil.rmtree(self.folder / "data" / kept, ignore_errors=True)
        with closing(self._connect()) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in names:  # triggers keep memory_words in step
                if name not in _STAYS and not name.startswith(("sqlite_", "memory_words")):
                    connection.execute(f'DELETE FROM "{name}"')

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.folder / "forge.db", timeout=30, isolation_level=None)


class ForgeLender:
    """Lends the one Forge that runs in this process; DBOS allows no second one."""

    def __init__(self) -> None:
        self._kept: SharedForge | None = None
        self._workers: WorkerPool | None = None
        self._first_ids = itertools.count(_IDS_APART, _IDS_APART)

    @asynccontextmanager
    async def lend(
        self, kind: Hashable, start: Callable[[Path], Awaitable[SharedForge]]
    ) -> AsyncGenerator[SharedForge]:
        """A running Forge of this kind; after a story that failed or left something behind, it is not lent again.

        :param start: starts one in a folder.
        """
        if self._kept is None or self._kept.kind != kind:
            await self.stop()
            self._kept = await start(Path(tempfile.mkdtemp(prefix="forge-shared-")))
        shared, is_reusable = self._kept, False
        try:
            yield shared
            is_reusable = shared.is_clean
        finally:
            if is_reusable:
                await asyncio.to_thread(shared.empty)  # a sweep on this loop may be in the middle of a write
            else:
                await self.stop()

    async def stop(self) -> None:
        """Stop the Forge that runs for stories, if one does."""
        if self._kept is not None:
            shared, self._kept = self._kept, None
            await shared.stack.aclose()
            shutil.rmtree(shared.folder, ignore_errors=True)

    async def warm_workers(self) -> WorkerPool:
        """The warm workers of every Forge of this process: to warm one is most of what a start costs."""
        if self._workers is None:
            self._workers = await WorkerPool("agents.worker_jobs", size=1).__aenter__()
        return self._workers

    async def close(self) -> None:
        """Stop everything that is kept."""
        await self.stop()
        if self._workers is not None:
            workers, self._workers = self._workers, None
            await workers.__aexit__()

    def next_first_id(self) -> int:
        """Where the ids of the next story's GitHub begin: a Forge that knew an earlier one must not mix them up."""
        return next(self._first_ids)


LENDER = ForgeLender()


def is_sharable(request: pytest.FixtureRequest, backend: str) -> bool:
    """Whether a story may use a Forge that told another one: on SQLite, unless it asks for its own.

    A story that moves the clock by minutes, leaves work waiting or fails is the last one of its Forge in any case. What
    counts from a process's start, or stops Forge, is marked ``own_forge``.
    """
    return backend == "sqlite" and request.node.get_closest_marker("own_forge") is None
