"""A worker module that never becomes ready, and does nothing meanwhile."""

import time
from collections.abc import Callable, Sequence
from typing import Any

JOBS: Sequence[Callable[..., Any]] = ()


def prepare() -> None:
    time.sleep(600)
