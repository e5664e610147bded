"""What the checks need once per process: the warm workers and the sandbox."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from agents.testing.cache_warming import CacheWarmer
from safety.containment import CODE, CodeOrigin, Containment, choose_containment
from workspace.dependency_cache import DependencyCache
from workspace.sandbox import probing
from workspace.sandbox.registry_proxy import Address
from workspace.sandbox.sandbox import Sandbox
from workspace.sandbox.worker_pool import WorkerPool
from workspace.temporary import sweep


@dataclass(frozen=True)
class Toolbox:
    """Warm workers, the sandbox, and how long one tool may take, in seconds.

    :param reads: folders beyond the system's that commands of a repository may read and execute from.
    :param proxy: the one address that a repository's set-up may reach if its configuration asks for the network.
    :param filling: what set-ups are given and leave; None where nothing is kept.
    """

    pool: WorkerPool
    sandbox: Sandbox
    seconds: float = 30.0
    reads: tuple[Path, ...] = ()
    proxy: Address | None = None
    cache_warmer: CacheWarmer | None = None

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        *,
        workers: int = 2,
        user: str = "nobody",
        sandbox: probing.Wanted = "auto",
        seconds: float = 30.0,
        reads: Sequence[Path] = (),
        proxy: Address | None = None,
        cache: DependencyCache | None = None,
        pool: WorkerPool | None = None,
    ) -> AsyncGenerator["Toolbox"]:
        """Probe the sandbox and warm the workers; both end with the context.

        The workers confine themselves by Landlock whatever other tools run in: they are warm because they have
        imported everything before, which bubblewrap would not let them do from outside the system's folders.

        :param user: the account that untrusted work runs under when Forge is root.
        :param sandbox: the setting FORGE_SANDBOX.
        :param cache: where what set-ups download is kept; nowhere by default.
        :param pool: workers that are warm already; whoever warmed them ends them.
        :raises ConfigurationError: the level that is wanted does not work here.
        :raises ToolError: the workers cannot start.
        """
        await asyncio.to_thread(sweep)
        unconfined = "FORGE_SANDBOX is none" if sandbox == "none" else None
        filling = None if cache is None else CacheWarmer(cache)
        probed = asyncio.create_task(probing.make_sandbox(user, sandbox))
        try:
            own = WorkerPool("agents.worker_jobs", size=workers, user=user, unconfined=unconfined)
            async with own if pool is None else nullcontext(pool) as pool:
                try:
                    yield cls(pool, await probed, seconds, tuple(reads), proxy, filling)
                finally:
                    if filling is not None:
                        await filling.close()
        finally:
            probed.cancel()
            await asyncio.gather(probed, return_exceptions=True)  # it has folders to remove

    def for_program(self, tool: str, *, origin: CodeOrigin, executes: bool = False) -> Containment:
        """Where a program may run that is started for this change."""
        strongest = self.sandbox.strongest().level
        reasons = [level.reason for level in self.sandbox.levels if level.level >= CODE and not level.works]
        return choose_containment(tool, strongest, "; ".join(dict.fromkeys(reasons)), origin=origin, executes=executes)

    def for_worker(self, tool: str, *, origin: CodeOrigin) -> Containment:
        """Where a parser may run that lives in the warm workers."""
        return choose_containment(tool, self.pool.level, self.pool.why_not or "", origin=origin, executes=False)

    @property
    def containment(self) -> str:
        """Which sandbox the tools run in, for the summary of a review."""
        level = self.sandbox.strongest()
        return f"Tools ran in sandbox level {level.level} ({level.name}), parsers at level {self.pool.level}."
