"""A worker module that never becomes ready, and does nothing meanwhile."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

JOBS: Mapping[str, Callable[[Any], JsonValue]] = {}


def prepare() -> None:
    time.sleep(600)
