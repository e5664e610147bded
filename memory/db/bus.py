"""The event bus of this process: subscribers get an event once it is stored."""

from collections import defaultdict
from collections.abc import Callable

from domain.events import Event

Subscriber = Callable[[Event], None]


class Bus:
    """Subscribers by event type; ``*`` gets every event."""

    def __init__(self) -> None:
        self._subscribers: dict[str, list[Subscriber]] = defaultdict(list)

    def subscribe(self, kind: str, subscriber: Subscriber) -> None:
        """Call ``subscriber`` after this process has committed an event of type ``kind`` (or any, for ``*``)."""
        self._subscribers[kind].append(subscriber)

    def publish(self, event: Event) -> None:
        for subscriber in [*self._subscribers[event.type], *self._subscribers["*"]]:
            subscriber(event)
