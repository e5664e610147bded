"""Keeps a few warm worker processes that run trusted Python parsers on untrusted input, at sandbox level 1.

A worker imports its module once, gives up its rights, and then answers one request at a time over pipes: a length of
four bytes, then JSON. One that hangs, dies or answers nonsense is killed and replaced; what it worked on gets an error.
"""

import asyncio
import contextlib
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, cast

from pydantic import JsonValue

from domain.errors import ToolError
from workspace.sandbox import Account, die_with_parent, unprivileged_account

_MEGABYTE = 1 << 20
_HEADER = struct.Struct(">I")
_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from workspace.pool import serve; serve(sys.argv[2])"


@dataclass(frozen=True)
class WorkerLimits:
    """Bounds of one worker.

    :param memory: address space in bytes.
    :param message: largest request and answer in bytes.
    :param requests: how many requests it answers before a fresh one takes its place.
    :param start: seconds it may take to become ready.
    """

    memory: int = 1024 * _MEGABYTE
    message: int = 32 * _MEGABYTE
    requests: int = 2000
    start: float = 30.0


class Jobs(Protocol):
    """What the module of a worker offers."""

    JOBS: Mapping[str, Callable[[Any], JsonValue]]

    def prepare(self) -> None:
        """Do everything that needs files of the installation; the worker cannot reach them afterwards."""
        ...


class WorkerPool:
    """A fixed number of warm workers; an async context manager.

    :param module: name of a module that offers ``Jobs``.
    :param size: number of worker processes.
    :param user: account the workers drop to when Forge is root.
    """

    def __init__(
        self, module: str, *, size: int = 2, user: str = "nobody", limits: WorkerLimits = WorkerLimits()
    ) -> None:
        self.size = size
        self._module = module
        self._limits = limits
        self._account = unprivileged_account(user)
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._alive: set[_Worker] = set()
        self._replacing: set[asyncio.Task[None]] = set()
        self._folder = ""

    async def __aenter__(self) -> Self:
        self._folder = tempfile.mkdtemp(prefix="forge-pool-")
        Path(self._folder).chmod(0o755)
        try:
            started = await asyncio.gather(*(self._add() for _ in range(self.size)), return_exceptions=True)
            for error in started:
                if error is not None:
                    raise error
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*self._replacing, return_exceptions=True)
        for worker in self._alive:
            await worker.kill()
        self._alive.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def call(self, job: str, request: JsonValue, seconds: float) -> JsonValue:
        """Have a worker do a job.

        :param seconds: limit, counted from the moment a worker is free.
        :raises ToolError: it took too long, the worker died, or the job failed.
        """
        message = json.dumps({"job": job, "request": request}).encode()
        if len(message) > self._limits.message:
            raise ToolError("There was too much to look at in one piece.")
        worker = await self._idle_worker()
        healthy = False
        try:
            async with asyncio.timeout(seconds):
                answer = await worker.ask(message, self._limits.message)
            healthy = worker.answered < self._limits.requests
        except TimeoutError:
            raise ToolError(f"It did not finish within {seconds:g} seconds and was stopped.") from None
        except (EOFError, OSError, ValueError):
            raise ToolError("It crashed or ran out of memory.") from None
        finally:
            if healthy:
                self._idle.put_nowait(worker)
            else:
                self._replace(worker)
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

    def _replace(self, worker: "_Worker") -> None:
        task = asyncio.create_task(self._renew(worker))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _renew(self, worker: "_Worker") -> None:
        await worker.kill()
        self._alive.discard(worker)
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
        worker = await _Worker.start(self._module, self._account, self._limits, self._folder)
        self._alive.add(worker)
        self._idle.put_nowait(worker)


class _Worker:
    """One worker process, seen from its parent."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.answered = 0

    @classmethod
    async def start(cls, module: str, account: Account | None, limits: WorkerLimits, folder: str) -> Self:
        settings = {
            "module": module,
            "parent": os.getpid(),
            "folder": folder,
            "memory": limits.memory,
            "message": limits.message,
            "account": [account.uid, account.gid] if account else None,
        }
        path = [str(Path(entry).absolute()) for entry in sys.path]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _BOOT, json.dumps(path), json.dumps(settings)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": folder},
            start_new_session=True,
        )
        worker = cls(process)
        try:
            async with asyncio.timeout(limits.start):
                answer = await worker._receive(limits.message)
        except BaseException as error:
            await worker.kill()
            if isinstance(error, TimeoutError | EOFError | OSError | ValueError):
                raise ToolError("A worker process did not start.") from error
            raise
        if "error" in answer:
            await worker.kill()
            raise ToolError(f"A worker process could not start: {answer['error']}.")
        return worker

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, message: bytes, limit: int) -> dict[str, JsonValue]:
        assert self._process.stdin is not None
        self._process.stdin.write(_HEADER.pack(len(message)) + message)
        await self._process.stdin.drain()
        answer = await self._receive(limit)
        self.answered += 1
        return answer

    async def _receive(self, limit: int) -> dict[str, JsonValue]:
        assert self._process.stdout is not None
        (length,) = _HEADER.unpack(await self._process.stdout.readexactly(_HEADER.size))
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


# The worker's side


def serve(settings_text: str) -> None:
    """The whole life of a worker process: import, give up rights, answer until the parent is gone."""
    settings = json.loads(settings_text)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        jobs = cast(Jobs, importlib.import_module(settings["module"]))
        jobs.prepare()
        _give_up_rights(settings)
    except Exception as error:
        _send(answers, {"error": f"{type(error).__name__}: {error}"})
        return
    gc.collect()
    gc.freeze()
    _send(answers, {"ready": True})
    while (header := requests.read(_HEADER.size)) and len(header) == _HEADER.size:
        (length,) = _HEADER.unpack(header)
        _send(answers, _answer(jobs, requests.read(length), settings["message"]))


def _give_up_rights(settings: dict[str, Any]) -> None:
    os.chdir(settings["folder"])
    limits = {
        resource.RLIMIT_AS: settings["memory"],
        resource.RLIMIT_CPU: 3600,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_NPROC: 0,
    }
    if settings["account"] is not None:
        uid, gid = settings["account"]
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    die_with_parent()
    if os.getppid() != settings["parent"]:
        os._exit(1)


def _answer(jobs: Jobs, message: bytes, limit: int) -> bytes | dict[str, JsonValue]:
    try:
        request = json.loads(message)
        answer = json.dumps({"result": jobs.JOBS[request["job"]](request["request"])}).encode()
    except MemoryError:
        os._exit(1)
    except Exception as error:
        # Only the kind: the text of an exception may quote what it was working on.
        return {"error": type(error).__name__}
    return answer if len(answer) <= limit else {"error": "its answer was too long"}


def _send(answers: BinaryIO, answer: bytes | dict[str, JsonValue]) -> None:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    answers.write(_HEADER.pack(len(data)) + data)
    answers.flush()
