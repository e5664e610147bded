"""Runs `forge serve` as a process of its own against a simulated GitHub, to be stopped, starved and started again."""

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from sqlalchemy import text

from memory.db.engine import Database
from simulator import Simulator
from simulator.webhooks import Delivery
from tests.databases import Backend, create_database, drop_database
from tests.invariants import find_violations
from tests.resting import find_unfinished, settle
from tests.stories.driver import SECRET

PATIENCE = 120.0  # seconds
_COMMAND = [sys.executable, "-c", "from bot.__main__ import main; main()", "serve"]


class ForgeProcess:
    """One `forge serve`, and the GitHub it works for."""

    def __init__(self, github: Simulator, url: str, folder: Path, more: Mapping[str, str]) -> None:
        self.github = github
        self.url_of_database = url
        self.database = Database(url)
        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("FORGE_")},
            "FORGE_GITHUB_API_URL": github.api_url,
            "FORGE_GITHUB_WEB_URL": github.url,
            "FORGE_APP_ID": str(github.app.id),
            "FORGE_PRIVATE_KEY": github.app.private_key_pem,
            "FORGE_WEBHOOK_SECRET": SECRET,
            "FORGE_DATABASE_URL": url,
            "FORGE_DATA_DIR": str(folder / "data"),
            "FORGE_PORT": "0",
            "FORGE_EXECUTOR_ID": "served",
            "FORGE_LOG_FORMAT": "json",
            "FORGE_WELCOME": "false",  # issues that nobody looks at would change every number
            "FORGE_WRITE_INTERVAL": "0",
            "FORGE_QUEUE_POLLING": "0.2",
            **more,
        }
        if "FORGE_PRIVATE_KEY_PATH" in more:
            del self._environment["FORGE_PRIVATE_KEY"]
        self._process: asyncio.subprocess.Process | None = None
        self._log: asyncio.Task[None] | None = None
        self._port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.said: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port.result()}/webhook"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def peak_memory(self) -> int:
        """The most memory the process ever had, in bytes."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the kernel does not say")

    async def start(self) -> None:
        """Start, and have GitHub deliver again what was not answered with 2xx."""
        self._port = asyncio.get_running_loop().create_future()
        self._process = await asyncio.create_subprocess_exec(
            *_COMMAND, cwd=self._folder, env=self._environment, stderr=asyncio.subprocess.PIPE
        )
        self._log = asyncio.create_task(self._listen(self._process))
        await asyncio.wait_for(self._port, PATIENCE)
        self.github.webhook_url = self.url
        await self.redeliver()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        assert self._process is not None
        assert self._log is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        code = await asyncio.wait_for(self._process.wait(), PATIENCE)
        await self._log
        return code

    async def wait_for_exit(self) -> int:
        """Wait until it ends by itself; its exit code."""
        assert self._process is not None
        return await asyncio.wait_for(self._process.wait(), PATIENCE)

    async def ready(self) -> tuple[int, str]:
        """What ``/readyz`` answers."""
        return await self._ask("readyz")

    async def alive(self) -> tuple[int, str]:
        """What ``/healthz`` answers."""
        return await self._ask("healthz")

    async def _ask(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as session, session.get(self.url.replace("webhook", path)) as response:
            return response.status, (await response.text()).strip()

    def limit_files(self, size: int) -> None:
        """No file the process writes may grow beyond this, as on a full disk; -1 lifts the limit."""
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    async def redeliver(self) -> None:
        """What an operator, or Forge itself, asks GitHub for after an outage."""
        await self.github.settle()
        for delivery in self.find_unanswered():
            self.github.hooks.redeliver(delivery)
        await self.github.settle()

    def find_unanswered(self) -> list[Delivery]:
        """The first attempt of each delivery that no attempt was answered with 2xx."""
        accepted = {each.guid for each in self.github.deliveries if 200 <= each.status_code < 300}
        first = {each.guid: each for each in reversed(self.github.deliveries)}
        return [each for guid, each in first.items() if guid not in accepted]

    async def is_working(self) -> bool:
        return bool(await find_unfinished(self.database, datetime.now(UTC)))

    async def count_workflows(self) -> int:
        """How many workflows were begun and have not come to their end."""
        table = "workflow_status" if self.database.dialect == "sqlite" else "dbos.workflow_status"
        async with self.database.transaction() as session:
            return await session.scalar(text(f"SELECT count(*) FROM {table} WHERE status = 'PENDING'")) or 0

    async def settle(self) -> None:
        """Wait until everything came to its end."""
        await settle(self.github, self.database, PATIENCE)

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self.said.append(line.decode())
            if b'"event": "serving"' in line:
                self._port.set_result(int(json.loads(line)["port"]))


@asynccontextmanager
async def start_process(
    backend: Backend, folder: Path, more: Mapping[str, str] = {}, password: str = ""
) -> AsyncGenerator[ForgeProcess]:
    """A Forge that serves; the invariants are checked after it.

    :param more: of its environment.
    :param password: in the address of the database; the tests' PostgreSQL asks for none.
    """
    url = create_database(backend, folder).replace(":@", f":{password}@")
    async with Simulator(folder / "github", webhook_secret=SECRET) as github:
        forge = ForgeProcess(github, url, folder, more)
        try:
            await forge.start()
            yield forge
            await forge.settle()
            assert not await find_violations(github, forge.database)
        finally:
            await forge.stop()
            await forge.database.close()
    drop_database(url)
