"""A worker module that misbehaves on request."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue


def _describe(_: Any) -> JsonValue:
    status = Path("/proc/self/status").read_text() if os.access("/proc/self/status", os.R_OK) else ""
    environment: dict[str, JsonValue] = dict(os.environ)
    return {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "groups": len(os.getgroups()),
        "environment": environment,
        "folder": [entry.name for entry in Path().iterdir()],
        "no_new_privileges": "NoNewPrivs:\t1" in status,
    }


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
    "fork": lambda _: os.fork(),
    "spin": lambda _: sum(iter(int, 1)),
    "write": _write,
    "die": _die,
    "babble": _babble,
    "say": _say,
    "fail": _fail,
}


def prepare() -> None:
    """Nothing to load."""
