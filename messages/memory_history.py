"""Words for what became of a memory: its uses, the recalls of it, and what happened to it."""

from collections.abc import Mapping
from typing import Any

from domain.events import Event, EventType
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing

USES = {
    "recurred": "taught again",
    "applied": "helped",
    "confirmed": "confirmed by a person",
    "dismissed": "doubted by a person",
}
OUTCOMES = {"": "nothing known yet", "helped": "helped", "ignored": "was not used"}


def describe_memory_event(event: Event) -> str:
    """What an event says that happened to a memory."""
    by = f" by {_plain(str(event.payload.get('by', '')))}" if event.payload.get("by") else ""
    if event.type is EventType.memory_edited:
        return f"edited{by}; before: {_describe_change(event.payload)}"
    if event.type is EventType.learning_stored:
        return f"learned by looking back at run {event.trace}"
    return f"{event.type.value.removeprefix('memory.')}{by}"


def _describe_change(payload: Mapping[str, Any]) -> str:
    """The parts that an edit changed, as they were before."""
    before, after = payload.get("before", {}), payload.get("after", {})
    parts = [f"{name} “{_plain(_text(value))}”" for name, value in before.items() if value != after.get(name)]
    return ", ".join(parts)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _plain(text: str) -> str:
    return " ".join(strip_invisible(redact_outgoing(text)).split())
