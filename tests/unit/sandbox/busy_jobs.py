"""A worker module that never becomes ready, and never rests."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

JOBS: Mapping[str, Callable[[Any], JsonValue]] = {}


def prepare() -> None:
    while True:
        pass
