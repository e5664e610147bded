"""How much a write to GitHub matters to somebody: what is waited for goes before what only informs."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum


class Importance(IntEnum):
    """The order in which writes are made where not all can be made at once."""

    awaited = 0  # a verdict, what became of a gate, an answer
    tidying = 1  # what was said is taken back or brought up to date
    informing = 2  # a reaction, a first sign, progress: left out rather than waited for long


_current: ContextVar[Importance] = ContextVar("importance", default=Importance.awaited)


@contextmanager
def use_importance(importance: Importance) -> Generator[None]:
    """What is written to GitHub within this block matters that much. Unless told, it is awaited."""
    token = _current.set(importance)
    try:
        yield
    finally:
        _current.reset(token)


def current_importance() -> Importance:
    """How much the write that is about to be made matters."""
    return _current.get()
