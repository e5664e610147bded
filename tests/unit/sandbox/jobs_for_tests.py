"""A worker module that misbehaves on request."""

import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

_SEEN: list[str] = []


def _describe(_: Any) -> JsonValue:
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


def _remember(text: Any) -> JsonValue:
    """What earlier requests left behind, if this process has seen any."""
    before: list[JsonValue] = list(_SEEN)
    _SEEN.append(text)
    return before


def _write(_: Any) -> JsonValue:
    Path("/tmp/forge-pool-test-file").write_bytes(b"x" * 10)
    return None


def _sleep(seconds: Any) -> JsonValue:
    time.sleep(seconds)
    return None


def _die(_: Any) -> JsonValue:
    os._exit(3)


def _babble(_: Any) -> JsonValue:
    """Write nonsense where answers are expected."""
    for descriptor in range(3, 32):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue
    time.sleep(60)
    return None


def _say(text: Any) -> JsonValue:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return text


def _fail(text: Any) -> JsonValue:
    raise ValueError(text)


JOBS: Mapping[str, Callable[[Any], JsonValue]] = {
    "describe": _describe,
    "sleep": _sleep,
    "fill": lambda size: len(bytearray(size)),
    "remember": _remember,
    "fork": lambda _: os.fork(),
    "execute": lambda _: os.execv("/bin/true", ["true"]),
    "connect": lambda _: socket.socket().fileno(),
    "read": lambda path: len(Path(path).read_bytes()),
    "list": lambda path: len(list(Path(path).iterdir())),
    "kill": lambda pid: os.kill(pid, 0),
    "parent": lambda _: os.kill(os.getppid(), 9),
    "encode": lambda codec: "x".encode(codec).hex(),
    "spin": lambda _: sum(iter(int, 1)),
    "write": _write,
    "die": _die,
    "babble": _babble,
    "say": _say,
    "fail": _fail,
}


def prepare() -> None:
    """Nothing to load."""
