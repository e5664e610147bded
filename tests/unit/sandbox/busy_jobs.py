"""A worker module that never becomes ready, and never rests."""

from collections.abc import Callable, Sequence
from typing import Any

JOBS: Sequence[Callable[..., Any]] = ()


def prepare() -> None:
    while True:
        pass
