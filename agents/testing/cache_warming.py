"""Runs set-ups that fill the dependency cache, one at a time and in the background."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context

import structlog

from domain.errors import ForgeError
from workspace.dependency_cache import DependencyCache
from workspace.safe_copy import NotCopied, Size

_SECONDS = 1800
"""The time limit of one set-up, without the wait for its turn."""

log = structlog.get_logger(__name__)


class CacheWarmer:
    """The background set-ups of this process.

    :ivar cache: the cache they fill.
    """

    def __init__(self, cache: DependencyCache) -> None:
        self.cache = cache
        self._turn = asyncio.Semaphore(1)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._is_closed = False

    def start(self, repository_id: int, key: str, work: Callable[[], Awaitable[Size]]) -> None:
        """Start making an entry, unless the repository's set-up is running or was tried within the hour.

        :param work: makes the entry.
        """
        if self._is_closed or repository_id in self._tasks:
            return
        filled = self._fill(repository_id, key, work)
        task = asyncio.create_task(filled, context=Context())  # not part of any workflow
        self._tasks[repository_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(repository_id))

    async def wait(self) -> None:
        """Wait for all running set-ups."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def remove(self, repository_id: int) -> None:
        """Remove all entries of a repository, also one that is being made."""
        if task := self._tasks.get(repository_id):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self.cache.remove(repository_id)

    async def close(self) -> None:
        """Cancel the running set-ups, and start no more."""
        self._is_closed = True
        for task in self._tasks.values():
            task.cancel()
        await self.wait()

    async def _fill(self, repository_id: int, key: str, work: Callable[[], Awaitable[Size]]) -> None:
        about = {"repository": repository_id, "key": key[:12]}
        try:
            async with self._turn:
                if not self.cache.may_fill(repository_id, key):
                    return
                async with asyncio.timeout(_SECONDS):
                    size = await work()
            log.info("dependencies.kept", **about, bytes=size.bytes, files=size.files)
        except (ForgeError, NotCopied, OSError) as error:
            log.warning("dependencies.not_kept", **about, reason=str(error) or "it took too long")
