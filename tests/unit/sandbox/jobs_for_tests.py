"""A worker module that misbehaves on request."""

import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Base64UrlBytes, JsonValue

from domain.errors import ToolError

_SEEN: list[str] = []


def describe() -> dict[str, JsonValue]:
    environment: dict[str, JsonValue] = dict(os.environ)
    get_no_new_privileges = 39
    return {
        "pid": os.getpid(),
        "worker": os.getppid(),
        "uid": os.getuid(),
        "groups": len(os.getgroups()),
        "environment": environment,
        "no_new_privileges": bool(ctypes.CDLL(None).prctl(get_no_new_privileges, 0, 0, 0, 0)),
    }


def remember(text: str) -> list[str]:
    """What earlier requests left behind, if this process has seen any."""
    before = list(_SEEN)
    _SEEN.append(text)
    return before


def write() -> None:
    Path("/tmp/forge-pool-test-file").write_bytes(b"x" * 10)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def die() -> None:
    os._exit(3)


def babble() -> None:
    """Write nonsense where answers are expected."""
    for descriptor in range(3, 32):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue
    time.sleep(60)


def say(text: JsonValue) -> JsonValue:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return text


def reverse(data: Base64UrlBytes) -> list[int]:
    return list(reversed(data))


def lie() -> list[int]:
    """Answer something else than it says."""
    text: Any = "secret-text"
    return text


def refuse(text: str) -> None:
    raise ToolError(text)


def fail(text: str) -> None:
    raise ValueError(text)


def fill(size: int) -> int:
    return len(bytearray(size))


def fork() -> int:
    return os.fork()


def execute() -> None:
    os.execv("/bin/true", ["true"])


def connect() -> int:
    return socket.socket().fileno()


def read(path: str) -> int:
    return len(Path(path).read_bytes())


def list_folder(path: str) -> int:
    return len(list(Path(path).iterdir()))


def kill(pid: int) -> None:
    os.kill(pid, 0)


def kill_parent() -> None:
    os.kill(os.getppid(), 9)


def encode(codec: str) -> str:
    return "x".encode(codec).hex()


def spin() -> int:
    return sum(iter(int, 1))


JOBS: Sequence[Callable[..., Any]] = (
    *(describe, remember, write, sleep, die, babble, say, reverse, lie, refuse, fail, fill, fork, execute, connect),
    *(read, list_folder, kill, kill_parent, encode, spin),
)


def prepare() -> None:
    """Nothing to load."""
