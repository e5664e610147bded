"""The importance of requests to GitHub: awaited writes go before mere information, Forge's work before looking on."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum


class Importance(IntEnum):
    """The order of writes when not all can be made at once."""

    awaited = 0  # a verdict, the outcome of a gate, an answer
    tidying = 1  # removes or updates earlier texts
    informing = 2  # a reaction or progress: skipped rather than delayed


_current: ContextVar[Importance] = ContextVar("importance", default=Importance.awaited)


@contextmanager
def use_importance(importance: Importance) -> Generator[None]:
    """Sets the importance of writes within this block; the default is awaited."""
    token = _current.set(importance)
    try:
        yield
    finally:
        _current.reset(token)


def current_importance() -> Importance:
    """The importance of the next write."""
    return _current.get()


_looks_on: ContextVar[bool] = ContextVar("looks_on", default=False)


@contextmanager
def look_on() -> Generator[None]:
    """Within this block nothing is read when few of an hour's requests are left: Forge needs these for its work."""
    token = _looks_on.set(True)
    try:
        yield
    finally:
        _looks_on.reset(token)


def is_looking_on() -> bool:
    """Whether the next read is for somebody who looks on."""
    return _looks_on.get()
