"""Keeps a few warm worker processes that run trusted Python parsers on untrusted input, at sandbox level 2.

A worker imports its module once, confines itself, and answers each request in a fresh child. So nothing of a request
stays in memory, and a parser that hangs or dies affects no other request. This is Forge's side;
``workspace.sandbox.worker`` is the other one. A worker that breaks the protocol is killed and replaced.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from domain.errors import ToolError
from workspace.safe_copy import temporary_folder
from workspace.sandbox.accounts import find_account
from workspace.sandbox.processes import TICKS, measure_ticks
from workspace.sandbox.sandbox import LANDLOCK, LIMITS
from workspace.sandbox.worker import ANSWER, BOOT, OUT_OF_TIME, PATIENCE, REQUEST, name_job

Result = TypeVar("Result")

_MEGABYTE = 1 << 20
REST = 60.0
"""Seconds after which workers that nobody used end. They take a second to start, most of it while a run still reads."""
_QUEUE = 16
"""Waiting calls for which another worker starts: most take a few milliseconds, a start takes half a second."""
_GRACE = 2.0  # seconds that a worker may take to end a child that took too long


@dataclass(frozen=True)
class WorkerLimits:
    """Bounds of one worker.

    :param memory: address space in bytes.
    :param message: largest request and answer in bytes.
    :param start: seconds of processor time that it may take to become ready, and of the clock in which it may do
        nothing at all meanwhile.
    """

    memory: int = 1024 * _MEGABYTE
    message: int = 32 * _MEGABYTE
    start: float = 30.0


class WorkerPool:
    """Warm workers, at most a fixed number; an async context manager.

    They start with it, which proves that they can, and end where nobody has used them for a while: each keeps 50 MB.
    The next call, or :meth:`wake`, starts them again.

    :param module: name of a module that offers ``workspace.sandbox.worker.Jobs``.
    :param size: number of worker processes.
    :param first: how many start with it; the others once many calls wait.
    :param user: account the workers drop to when Forge is root.
    :param rest: seconds after which unused workers end.
    :param unconfined: why they stay at level 1; None to confine them at level 2 if the kernel can.
    """

    def __init__(
        self,
        module: str,
        *,
        size: int = 2,
        first: int | None = None,
        user: str = "nobody",
        unconfined: str | None = None,
        limits: WorkerLimits = WorkerLimits(),
        rest: float = REST,
    ) -> None:
        self.size = size
        self._unconfined = unconfined
        self.why_not = unconfined
        """Why the workers are at level 1; None if they are at level 2."""
        self._module = module
        self._limits = limits
        self._account = find_account(user)
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._alive: set[_Worker] = set()
        self._replacing: set[asyncio.Task[None]] = set()
        self._rest = rest
        self._resting = size - (size if first is None else first)  # workers that ended for want of work, or wait for it
        self._waiting = 0  # calls
        self._end: asyncio.TimerHandle | None = None  # of those that nobody uses
        self._folder = ""
        self._stack = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        folder = self._stack.enter_context(temporary_folder("pool"))
        folder.chmod(0o755)
        self._folder = str(folder)
        try:
            started = await asyncio.gather(
                *(self._add() for _ in range(self.size - self._resting)), return_exceptions=True
            )
            for error in started:
                if error is not None:
                    raise error
        except BaseException:
            await self.__aexit__()
            raise
        self._plan_rest()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._end is not None:
            self._end.cancel()
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*self._replacing, return_exceptions=True)
        for worker in self._alive:
            await worker.kill()
        self._alive.clear()
        self._stack.close()

    @property
    def level(self) -> int:
        """The sandbox level of the workers."""
        return LANDLOCK if self.why_not is None else LIMITS

    def wake(self) -> None:
        """Start the workers that rest: they will be called in a moment."""
        while self._resting:
            self._resting -= 1
            self._run(self._start_again())
        self._plan_rest()

    async def call(self, job: partial[Result], seconds: float) -> Result:
        """Have a worker do a job.

        :param job: a function of ``JOBS`` of the workers' module, with its arguments.
        :param seconds: limit of processor time; the wall clock ends only what waits, much later.
        :returns: what it says it returns: nobody trusts what has read the code of others.
        :raises ToolError: it took too long, the worker died, or the job failed; also if the job raises one itself.
        """
        asked = {"job": name_job(job.func), "args": job.args, "kwargs": job.keywords}
        message = json.dumps(to_jsonable_python(asked, bytes_mode="base64")).encode()
        answer = await self._exchange(message, seconds)
        try:
            adapter: TypeAdapter[Result] = _read_result(job.func)
            return adapter.validate_python(answer)
        except ValidationError:
            raise ToolError("A worker answered in a form that was not expected.") from None

    async def _exchange(self, message: bytes, seconds: float) -> JsonValue:
        if len(message) > self._limits.message:
            raise ToolError("The input was too large for one piece.")
        if self._resting == self.size or self._waiting >= _QUEUE:
            self.wake()
        self._waiting += 1
        try:
            worker = await self._idle_worker()
        finally:
            self._waiting -= 1
        healthy = False
        try:
            async with asyncio.timeout(PATIENCE * seconds + _GRACE):
                answer = await worker.ask(message, seconds, self._limits.message)
            healthy = True
        except TimeoutError:
            raise _timeout_error(seconds) from None
        except (EOFError, OSError, ValueError):
            raise _crash_error() from None
        finally:
            if healthy:
                self._idle.put_nowait(worker)
            else:
                self._replace(worker)
            self._plan_rest()
        if "ended" in answer:
            raise _timeout_error(seconds) if answer["ended"] == OUT_OF_TIME else _crash_error()
        if "problem" in answer:
            raise ToolError(str(answer["problem"])[:500])
        if "error" in answer:
            raise ToolError(f"It failed: {str(answer['error'])[:200]}.")
        return answer.get("result")

    async def _idle_worker(self) -> "_Worker":
        while True:
            try:
                async with asyncio.timeout(120):
                    worker = await self._idle.get()
            except TimeoutError:
                raise ToolError("No worker became free within two minutes.") from None
            if worker.is_alive:
                return worker
            self._replace(worker)

    def _plan_rest(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(self._rest, self._end_unused)

    def _end_unused(self) -> None:
        """End the workers if none is in use."""
        if self._idle.qsize() < self.size - self._resting:
            return  # the end of a call plans it again
        while not self._idle.empty():
            self._run(self._end_one(self._idle.get_nowait()))
            self._resting += 1

    def _replace(self, worker: "_Worker") -> None:
        self._run(self._renew(worker))

    def _run(self, task: Coroutine[Any, Any, None]) -> None:
        running = asyncio.create_task(task)
        self._replacing.add(running)
        running.add_done_callback(self._replacing.discard)

    async def _end_one(self, worker: "_Worker") -> None:
        await worker.kill()
        self._alive.discard(worker)

    async def _renew(self, worker: "_Worker") -> None:
        await self._end_one(worker)
        await self._start_again()

    async def _start_again(self) -> None:
        pause = 0.1
        while True:
            try:
                await self._add()
            except ToolError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, 10)
            else:
                return

    async def _add(self) -> None:
        settings: dict[str, JsonValue] = {
            "module": self._module,
            "parent": os.getpid(),
            "folder": self._folder,
            "memory": self._limits.memory,
            "message": self._limits.message,
            "account": [self._account.uid, self._account.gid] if self._account else None,
            "unconfined": self._unconfined,
        }
        worker, self.why_not = await _Worker.start(settings, self._limits)
        self._alive.add(worker)
        self._idle.put_nowait(worker)


class _Worker:
    """One worker process, seen from its parent."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, settings: dict[str, JsonValue], limits: WorkerLimits) -> tuple[Self, str | None]:
        """A worker, and why it is not confined at level 2; None if it is."""
        folder = str(settings["folder"])
        path = [str(Path(entry).absolute()) for entry in sys.path]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", BOOT, json.dumps(path), json.dumps(settings)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": folder},
            start_new_session=True,
        )
        worker = cls(process)
        try:
            answer = await worker._wait_until_ready(limits)
        except BaseException as error:
            await worker.kill()
            if isinstance(error, TimeoutError | EOFError | OSError | ValueError):
                raise ToolError("A worker process did not start.") from error
            raise
        if "error" in answer:
            await worker.kill()
            raise ToolError(f"A worker process could not start: {answer['error']}.")
        why_not = answer["unconfined"]
        return worker, None if why_not is None else str(why_not)

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def _wait_until_ready(self, limits: WorkerLimits) -> dict[str, JsonValue]:
        """What it says first. A busy machine may keep it waiting; what stands still, or never ends, is given up.

        :raises TimeoutError: it was given up.
        """
        done: int | None = 0
        async with asyncio.timeout(PATIENCE * limits.start):
            answer = asyncio.create_task(self._receive(limits.message))
            try:
                while not (await asyncio.wait([answer], timeout=limits.start))[0]:
                    before, done = done, measure_ticks(self._process.pid)
                    if done is not None and (done == before or done >= limits.start * TICKS):
                        raise TimeoutError
                return answer.result()
            finally:
                answer.cancel()

    async def ask(self, message: bytes, seconds: float, limit: int) -> dict[str, JsonValue]:
        assert self._process.stdin is not None
        self._process.stdin.write(REQUEST.pack(len(message), seconds) + message)
        await self._process.stdin.drain()
        return await self._receive(limit)

    async def _receive(self, limit: int) -> dict[str, JsonValue]:
        assert self._process.stdout is not None
        (length,) = ANSWER.unpack(await self._process.stdout.readexactly(ANSWER.size))
        if length > limit:
            raise ValueError("answer too long")
        answer = json.loads(await self._process.stdout.readexactly(length))
        if not isinstance(answer, dict):
            raise ValueError("answer of another shape")
        return cast(dict[str, JsonValue], answer)

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.is_alive:
                os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdout is not None
        # asyncio counts a process as ended only when its pipes have been read to their end.
        with contextlib.suppress(RuntimeError, OSError):
            await self._process.stdout.read()
        await self._process.wait()


@cache
def _read_result(job: Callable[..., Result]) -> TypeAdapter[Result]:
    return TypeAdapter(get_type_hints(job, include_extras=True)["return"])


def _timeout_error(seconds: float) -> ToolError:
    return ToolError(f"It did not finish within {seconds:g} seconds and was stopped.")


def _crash_error() -> ToolError:
    return ToolError("It crashed or ran out of memory.")
