"""A warm worker: imports its module, gives up its rights, and forks a child for each request.

The worker itself never looks at a request. A request is a length, its time limit in seconds, and JSON: the name of a
job and its arguments, of the types that it says it takes. An answer is a length and JSON. Worker and child exchange
both in shared memory, so that nothing of a request remains when its child is gone, and no child holds a pipe to Forge.
"""

import contextlib
import gc
import importlib
import json
import math
import mmap
import os
import resource
import select
import signal
import struct
import sysconfig
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, cast

from pydantic import JsonValue, TypeAdapter
from pydantic_core import ArgsKwargs, to_jsonable_python

from domain.errors import ToolError
from workspace.sandbox import landlock, privileges, seccomp

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from workspace.sandbox.worker import serve; serve(sys.argv[2])"
)
REQUEST = struct.Struct(">Id")
ANSWER = struct.Struct(">I")

PATIENCE = 10
"""How much longer than its processor time an answer may take on a busy machine."""
OUT_OF_TIME = "time"
CRASHED = "crash"


def name_job(function: Callable[..., Any]) -> str:
    """What Forge and a worker call a job, which is a function."""
    return f"{function.__module__}.{function.__qualname__}"


class Jobs(Protocol):
    """What the module of a worker offers.

    Bytes stand in JSON as base64, so a job takes them as ``pydantic.Base64UrlBytes``.
    """

    JOBS: Sequence[Callable[..., Any]]

    def prepare(self) -> None:
        """Do everything that needs files of the installation; the worker cannot reach them afterwards."""
        ...


def serve(settings_text: str) -> None:
    """Run a worker process to its end."""
    settings = json.loads(settings_text)
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        jobs = cast(Jobs, importlib.import_module(settings["module"]))
        ready = {name_job(job): TypeAdapter(cast(Any, job)) for job in jobs.JOBS}
        jobs.prepare()
        why_not = _give_up_rights(settings)
    except Exception as error:
        _send(answers, {"error": f"{type(error).__name__}: {error}"})
        return
    gc.collect()
    gc.freeze()
    _send(answers, {"unconfined": why_not})
    worker = _Worker(ready, requests, answers, settings["message"], None if why_not else seccomp.filter_for_parser())
    while worker.serve_one():
        pass


def _give_up_rights(settings: dict[str, Any]) -> str | None:
    """Confine this process. Returns why it could not be confined at level 2, or None.

    :raises OSError: even level 1 failed.
    """
    os.chdir(settings["folder"])
    ruleset, why_not = (None, settings["unconfined"]) if settings["unconfined"] else _ruleset()
    own_account = settings["account"] is not None
    if own_account:
        privileges.drop_account(*settings["account"])
    privileges.renounce(settings["parent"])
    privileges.limit({resource.RLIMIT_AS: settings["memory"], resource.RLIMIT_CORE: 0})
    privileges.limit({resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: 32})
    if ruleset is not None:
        ruleset.enforce()
        # The worker must end children that take too long; the children may signal nobody.
        seccomp.install(seccomp.filter_for_shared(signals=True, own_account=own_account))
        _prove()
    return why_not


def _ruleset() -> tuple[landlock.Ruleset | None, str | None]:
    """Allows no files but the standard library, because a source file may name any encoding."""
    if threading.active_count() != 1:
        return None, "the worker has threads, which would stay unconfined"
    try:
        ruleset = landlock.Ruleset()
        seccomp.filter_for_parser()
    except OSError as error:
        return None, error.strerror
    ruleset.allow(sysconfig.get_path("stdlib"), landlock.USE)
    return ruleset, None


def _prove() -> None:
    """Try what must no longer be possible.

    :raises RuntimeError: it was possible.
    """
    for path in ("/etc/passwd", "/proc/self/environ", "."):
        with contextlib.suppress(PermissionError):
            os.close(os.open(path, os.O_RDONLY))
            raise RuntimeError(f"it could still open {path}")


class _Worker:
    """The confined worker at work.

    :param jobs: name → what validates its arguments and calls it.
    :param message: the longest answer in bytes.
    :param rules: an additional system call filter for its children; None if it is not confined.
    """

    def __init__(
        self,
        jobs: Mapping[str, TypeAdapter[Any]],
        requests: int,
        answers: int,
        message: int,
        rules: bytes | None,
    ) -> None:
        self._jobs = jobs
        self._requests, self._answers = requests, answers
        self._message = message
        self._rules = rules

    def serve_one(self) -> bool:
        """Answer the next request. Returns False if there are no more."""
        header = _read_exactly(self._requests, REQUEST.size)
        if not header:
            return False
        length, seconds = REQUEST.unpack(header)
        with mmap.mmap(-1, max(length, 1)) as request, mmap.mmap(-1, ANSWER.size + self._message) as answer:
            if not _receive(self._requests, request, length):
                return False
            ended = self._answer_in_child(request, length, answer, seconds)
            if ended is not None:
                _put(answer, {"ended": ended})
            (size,) = ANSWER.unpack(answer[: ANSWER.size])
            with memoryview(answer) as view, view[: ANSWER.size + size] as frame:
                _write(self._answers, frame)
        return True

    def _answer_in_child(self, request: mmap.mmap, length: int, answer: mmap.mmap, seconds: float) -> str | None:
        """Have a child write the answer. Returns how the child ended if it did not end by itself."""
        worker = os.getpid()
        child = os.fork()
        if child == 0:
            self._be_child(worker, request, length, answer, seconds)
        process = os.pidfd_open(child)
        waiting = select.poll()
        waiting.register(process, select.POLLIN)
        in_time = bool(waiting.poll(PATIENCE * seconds * 1000))
        if not in_time:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        os.close(process)
        if status == 0:
            return None
        is_over_limit = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
        return OUT_OF_TIME if is_over_limit or not in_time else CRASHED

    def _be_child(self, worker: int, request: mmap.mmap, length: int, answer: mmap.mmap, seconds: float) -> NoReturn:
        try:
            os.close(self._requests)
            os.close(self._answers)
            privileges.renounce(worker)
            privileges.limit({resource.RLIMIT_CPU: math.ceil(seconds), resource.RLIMIT_NPROC: 0})
            if self._rules is not None:
                seccomp.install(self._rules)
            _put(answer, self._answer(request[:length]))
        except BaseException:
            os._exit(1)
        os._exit(0)

    def _answer(self, message: bytes) -> dict[str, JsonValue]:
        try:
            request = json.loads(message)
            arguments = ArgsKwargs(tuple(request["args"]), request["kwargs"])
            done = self._jobs[request["job"]].validate_python(arguments)
            return {"result": to_jsonable_python(done)}
        except MemoryError:
            raise
        except ToolError as error:
            return {"problem": error.message}
        except Exception as error:
            # Only the kind, because the text of an exception may quote its input.
            return {"error": type(error).__name__}


def _put(place: mmap.mmap, answer: dict[str, JsonValue]) -> None:
    data = json.dumps(answer).encode()
    if ANSWER.size + len(data) > len(place):
        data = json.dumps({"error": "its answer was too long"}).encode()
    place[: ANSWER.size] = ANSWER.pack(len(data))
    place[ANSWER.size : ANSWER.size + len(data)] = data


def _send(answers: int, answer: dict[str, JsonValue]) -> None:
    data = json.dumps(answer).encode()
    _write(answers, memoryview(ANSWER.pack(len(data)) + data))


def _write(pipe: int, data: memoryview) -> None:
    done = 0
    while done < len(data):
        with data[done:] as rest:
            done += os.write(pipe, rest)


def _read_exactly(pipe: int, length: int) -> bytes:
    """Exactly ``length`` bytes; empty at the end of the pipe."""
    data = b""
    while len(data) < length:
        piece = os.read(pipe, length - len(data))
        if not piece:
            return b""
        data += piece
    return data


def _receive(pipe: int, place: mmap.mmap, length: int) -> bool:
    """Read ``length`` bytes into shared memory, without looking at them. Returns False at the end of the pipe."""
    done = 0
    with memoryview(place) as view:
        while done < length:
            with view[done:length] as rest:
                count = os.readv(pipe, [rest])
            if not count:
                return False
            done += count
    return True
