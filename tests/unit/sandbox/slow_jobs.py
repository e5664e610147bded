"""A worker module that takes many times as long to start as it does something: much of that time is others'."""

import time
from collections.abc import Callable, Sequence
from typing import Any


def hello() -> str:
    return "hello"


JOBS: Sequence[Callable[..., Any]] = (hello,)


def prepare() -> None:
    """Take a few hundredths of a second of the processor in three seconds."""
    for _ in range(30):
        until = time.process_time() + 0.001
        while time.process_time() < until:
            pass
        time.sleep(0.1)
