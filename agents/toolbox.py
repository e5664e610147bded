"""What the checks need once per process: the warm workers and the sandbox."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agents.review.checks.rule_texts import name_some
from domain.errors import ToolError
from safety.containment import CODE, CodeOrigin, Containment, choose_containment
from workspace.dependency_cache import DependencyCache
from workspace.safe_copy import sweep
from workspace.sandbox import probing
from workspace.sandbox.registry_proxy import Address
from workspace.sandbox.sandbox import Sandbox
from workspace.sandbox.worker_pool import WorkerPool

if TYPE_CHECKING:
    from agents.testing.cache_warming import CacheWarmer

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_PIECE_SECONDS = 10.0  # of processor time that a worker may take for one piece


@dataclass(frozen=True)
class Toolbox:
    """The warm workers and the sandbox.

    :param seconds: how long one tool may take.
    :param reads: folders outside the system's that a repository's commands may read and execute from.
    :param proxy: the only address that a repository's set-up may reach, if its configuration asks for the network.
    :param cache_warmer: fills the dependency cache; None if nothing is cached.
    """

    pool: WorkerPool
    sandbox: Sandbox
    seconds: float = 30.0
    reads: tuple[Path, ...] = ()
    proxy: Address | None = None
    cache_warmer: "CacheWarmer | None" = None

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        *,
        workers: int = 2,
        first: int | None = None,
        user: str = "nobody",
        sandbox: probing.Wanted = "auto",
        seconds: float = 30.0,
        reads: Sequence[Path] = (),
        proxy: Address | None = None,
        cache: DependencyCache | None = None,
        pool: WorkerPool | None = None,
    ) -> AsyncGenerator["Toolbox"]:
        """Start the workers and probe the sandbox; leaving the context ends both.

        The workers always confine themselves with Landlock. They import everything before that, which bubblewrap would
        not allow from outside the system's folders.

        :param first: how many workers start at once; the others once many calls wait.
        :param user: the account that untrusted work runs under when Forge is root.
        :param sandbox: the setting FORGE_SANDBOX.
        :param cache: keeps what set-ups download; by default nothing is kept.
        :param pool: workers that run already; the caller ends them.
        :raises ConfigurationError: the wanted level does not work here.
        :raises ToolError: the workers cannot start.
        """
        await asyncio.to_thread(sweep)
        unconfined = "FORGE_SANDBOX is none" if sandbox == "none" else None
        filling = None if cache is None else _warm(cache)
        probed = asyncio.create_task(probing.make_sandbox(user, sandbox))
        try:
            own = WorkerPool("agents.worker_jobs", size=workers, first=first, user=user, unconfined=unconfined)
            async with own if pool is None else nullcontext(pool) as pool:
                try:
                    yield cls(pool, await probed, seconds, tuple(reads), proxy, filling)
                finally:
                    if filling is not None:
                        await filling.close()
        finally:
            probed.cancel()
            await asyncio.gather(probed, return_exceptions=True)  # the probe removes its folders

    def for_program(self, tool: str, *, origin: CodeOrigin, executes: bool = False) -> Containment:
        """The sandbox level for a program that is started for this change."""
        strongest = self.sandbox.strongest().level
        reasons = [level.reason for level in self.sandbox.levels if level.level >= CODE and not level.works]
        return choose_containment(tool, strongest, "; ".join(dict.fromkeys(reasons)), origin=origin, executes=executes)

    def for_worker(self, tool: str, *, origin: CodeOrigin) -> Containment:
        """The sandbox level for a parser in the warm workers."""
        return choose_containment(tool, self.pool.level, self.pool.why_not or "", origin=origin, executes=False)

    async def run_jobs(
        self, pieces: Sequence[Piece], job: Callable[[Piece], partial[Result]], name: Callable[[Piece], str]
    ) -> tuple[list[tuple[Piece, Result]], str | None]:
        """Have the warm workers do a job on every piece, one by one, within the time limit of one tool.

        :param job: what to do with a piece (see :meth:`WorkerPool.call`).
        :param name: how an error names a piece.
        :returns: the results in the order of ``pieces``, and what failed, if anything did.
        """
        spent = 0.0
        failed: dict[str, list[str]] = {}
        turn = asyncio.Semaphore(self.pool.size)

        async def ask(piece: Piece) -> tuple[Piece, Result] | None:
            nonlocal spent
            async with turn:
                if spent >= self.seconds:
                    failed.setdefault(f"Stopped after {self.seconds:g} seconds", []).append(name(piece))
                    return None
                started, most = time.monotonic(), min(_PIECE_SECONDS, self.seconds)
                try:
                    return piece, await self.pool.call(job(piece), most)
                except ToolError as error:
                    spent += min(time.monotonic() - started, most)  # longer only where the machine was busy
                    failed.setdefault(error.message.rstrip("."), []).append(name(piece))
                    return None

        answers = await asyncio.gather(*map(ask, pieces))
        problem = " ".join(f"{why} ({name_some(names)})." for why, names in failed.items())
        return [answer for answer in answers if answer is not None], problem or None

    @property
    def containment(self) -> str:
        """The sandbox of the tools, for the summary of a review."""
        level = self.sandbox.strongest()
        return f"Tools ran in sandbox level {level.level} ({level.name}), parsers at level {self.pool.level}."


def _warm(cache: DependencyCache) -> "CacheWarmer":
    from agents.testing.cache_warming import CacheWarmer  # slow to import: only who keeps a cache waits for it

    return CacheWarmer(cache)
