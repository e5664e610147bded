"""Tells whoever works that there is work, so that nobody has to look for it every moment."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from pipeline.durable.workflows import QUEUES

Listener = Callable[[str], None]
"""Hears of a queue where work was put, or ended and left its place to other work."""


class Bell:
    """Rung on the event loop of this process, after the commit; losing a ring costs seconds, never work."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def ring(self, queue: str) -> None:
        """Say that there may be something to take from a queue."""
        for each in tuple(self._listeners):
            each(queue)

    @contextmanager
    def listen(self, listener: Listener) -> Generator[None]:
        """Have a listener called until the end."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


BELL = Bell()
"""The bell of this process, which has one engine at most: DBOS keeps its state in globals, too."""


def ring_all() -> None:
    """Say that there may be something to take from any queue."""
    for queue in QUEUES:
        BELL.ring(queue)
