"""Keeps worker processes beside a process that serves: starts them, starts again what died, and ends them with it."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from bot.settings import Settings
from domain.errors import ConfigurationError, ForgeError

log = structlog.get_logger(__name__)

READY = b"ready\n"
"""What a worker writes to the line it got as its standard input, once it works. The line's end ends the worker."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds before a worker that died is started again; doubled each time
_STEADY = 60.0  # seconds that a worker has to live for the pauses to begin anew
_GRACE = 20.0  # seconds to end in: an engine's 10, 5 for requests under way, and some


class WorkersFailed(ForgeError):
    """The first worker did not start, so none would."""


class WorkerProcesses:
    """The workers of one process that serves.

    :param settings: of that process; each worker gets an executor id and a port of its own.
    :param count: how many.
    :raises ConfigurationError: there are not so many ports.
    :ivar failed: set if the first worker does not start.
    """

    def __init__(self, settings: Settings, count: int) -> None:
        if settings.port + count > 65535:
            raise ConfigurationError(
                f"FORGE_PORT {settings.port} leaves no ports for {count} workers, which take the next ones.",
                f"Set {65535 - count} or less.",
            )
        self._settings = settings
        self._count = count
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._lines: dict[int, socket.socket] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._starting: asyncio.Task[None] | None = None
        self._is_stopping = False
        self.failed = asyncio.Event()
        self.problem: WorkersFailed | None = None

    def start(self) -> None:
        """Start the first worker, and the others once it works: what keeps one from starting is told once."""
        if self._count:
            self._starting = asyncio.create_task(self._start(), name="workers")

    def begin_stopping(self) -> None:
        """Ask every worker to end."""
        self._is_stopping = True
        for task in [*self._keepers, *([] if self._starting is None else [self._starting])]:
            task.cancel()
        for process in self._running.values():
            _send(process, signal.SIGTERM)

    async def wait_for_end(self) -> None:
        """Wait until all have ended; one that takes too long is killed, and its work is done again by another."""
        try:
            async with asyncio.timeout(_GRACE):
                await asyncio.gather(*(process.wait() for process in self._running.values()))
        except TimeoutError:
            for number, process in self._running.items():
                if process.returncode is None:
                    log.warning("worker.killed", worker=number, pid=process.pid, why=f"It did not end in {_GRACE:g} s.")
                    _send(process, signal.SIGKILL)
            await asyncio.gather(*(process.wait() for process in self._running.values()))
        for line in self._lines.values():
            line.close()

    async def _start(self) -> None:
        began = time.monotonic()
        try:
            process = await self._spawn(1)
        except OSError as error:
            self._fail(
                f"Worker 1 cannot be started ({error.strerror}), so `forge serve --workers` ends, too.",
                "Give this machine or this account more memory, processes or open files, and start again.",
            )
            return
        if not await self._wait_until_ready(1, process):
            code = await process.wait()
            self._fail(
                f"Worker 1 ended with code {code} before it worked, so `forge serve --workers` ends, too.",
                "Its own message stands above this one; correct what it names and start again.",
            )
            return
        self._keepers = [asyncio.create_task(self._keep(1, process, began))]
        self._keepers += [asyncio.create_task(self._keep(number)) for number in range(2, self._count + 1)]

    def _fail(self, why: str, advice: str) -> None:
        self.problem = WorkersFailed(why, advice)
        self.failed.set()

    async def _keep(self, number: int, process: asyncio.subprocess.Process | None = None, began: float = 0.0) -> None:
        """Keep one worker running: wait for its end, pause, and start it again."""
        pause = _FIRST_PAUSE
        while not self._is_stopping:
            try:
                if process is None:
                    began = time.monotonic()
                    process = await self._spawn(number)
                    await self._wait_until_ready(number, process)
                code = await process.wait()
            except OSError as error:  # no memory, or no more processes, which may pass
                log.error("worker.not_started", worker=number, why=error.strerror, starts_again_in=pause)
            else:
                if time.monotonic() - began >= _STEADY:
                    pause = _FIRST_PAUSE
                log.error("worker.ended", worker=number, pid=process.pid, code=code, starts_again_in=pause)
            await asyncio.sleep(pause)
            pause, process = min(2 * pause, _LONGEST_PAUSE), None

    async def _spawn(self, number: int) -> asyncio.subprocess.Process:
        ours, theirs = socket.socketpair()
        environment = {
            **os.environ,
            "FORGE_EXECUTOR_ID": f"{self._settings.slot}/{number}",
            "FORGE_PORT": str(self._settings.port and self._settings.port + number),
        }
        with theirs:
            command = (sys.executable, "-m", "bot", "worker", "--attached")
            process = await asyncio.create_subprocess_exec(*command, env=environment, stdin=theirs.fileno())
        with contextlib.suppress(KeyError):
            self._lines.pop(number).close()
        ours.setblocking(False)
        self._running[number], self._lines[number] = process, ours
        return process

    async def _wait_until_ready(self, number: int, process: asyncio.subprocess.Process) -> bool:
        """Whether it works; False if it ended before."""
        try:
            said = await asyncio.get_running_loop().sock_recv(self._lines[number], len(READY))
        except ConnectionError:
            said = b""
        if said == READY:
            log.info("worker.started", worker=number, pid=process.pid)
        return said == READY


@asynccontextmanager
async def keep_workers(settings: Settings, count: int) -> AsyncGenerator[WorkerProcesses]:
    """Workers that are started when told so, and have ended at the end."""
    workers = WorkerProcesses(settings, count)
    try:
        yield workers
    finally:
        workers.begin_stopping()
        await workers.wait_for_end()


def follow_parent(stopped: asyncio.Event) -> socket.socket:
    """In a worker: stop when the process that started it ends, however that happens; the line to it."""
    line = socket.socket(fileno=os.dup(0))
    line.setblocking(False)
    loop = asyncio.get_running_loop()

    def look() -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            if line.recv(64):
                return
        loop.remove_reader(line)
        stopped.set()

    loop.add_reader(line, look)
    return line


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
