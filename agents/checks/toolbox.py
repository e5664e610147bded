"""What the checks need once per process: the warm workers and the sandbox."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from workspace.pool import WorkerPool
from workspace.sandbox import Sandbox


@dataclass(frozen=True)
class Toolbox:
    """Warm workers, the sandbox, and how long one tool may take, in seconds."""

    pool: WorkerPool
    sandbox: Sandbox
    seconds: float = 30.0

    @classmethod
    @asynccontextmanager
    async def start(cls, *, workers: int = 2, user: str = "nobody", seconds: float = 30.0) -> AsyncGenerator["Toolbox"]:
        """Probe the sandbox and warm the workers; both end with the context.

        :param user: the account that untrusted work runs under when Forge is root.
        :raises ToolError: the workers cannot start.
        """
        probing = asyncio.create_task(Sandbox.start(user))
        try:
            async with WorkerPool("agents.checks.jobs", size=workers, user=user) as pool:
                yield cls(pool, await probing, seconds)
        finally:
            probing.cancel()
