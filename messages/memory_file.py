"""Every text Forge writes about ``.github/forge-memory.md``, and words for what became of a memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.config.values import Mistake, count_in_words, render_table
from domain.events import Event, EventType
from domain.text.escaping import escape, flatten_redacted, name_count, strip_invisible
from domain.text.memory_file import PATH, MemoryFileEntry
from domain.text.redaction import redact_outgoing
from messages.review import CheckText

_SHOWN = 40  # entries of each kind in the summary
_LATER = "Forge remembers the version of this pull request only once it is on the default branch."


def render_broken(mistakes: Sequence[Mistake]) -> CheckText:
    """The check of a version with mistakes."""
    return CheckText(
        f"{count_in_words(mistakes)} in {PATH}",
        f"`{PATH}`\n\n{render_table(mistakes)}\n\n**Next:** fix {'it' if len(mistakes) == 1 else 'them'} and "
        "push. If merged as it is, Forge would ignore the file and keep the memories of its last valid version.",
    )


def render_valid(
    entries: Sequence[MemoryFileEntry], added: Sequence[MemoryFileEntry], gone: Sequence[str], removed: bool
) -> CheckText:
    """The check of a version without mistakes, or of its removal.

    :param added: what is not remembered from the file now.
    :param gone: what the file would not say any more.
    """
    head = f"`{PATH}` is removed." if removed else f"`{PATH}` says {name_count(len(entries), 'memory', 'memories')}."
    parts = [head, _list("New", [each.content for each in added]), _list("No longer there", gone), _LATER]
    return CheckText("Removed" if removed else "Valid", "\n\n".join(part for part in parts if part))


def not_taken(mistakes: Sequence[Mistake], last_valid: str | None) -> str:
    """Says that a broken file on the default branch is put aside, why, and what stays.

    :param last_valid: the commit of the version that holds; None if there never was a valid one.
    """
    first, others = mistakes[0], len(mistakes) - 1
    more = f" ({others} more {'mistake' if others == 1 else 'mistakes'})" if others else ""
    instead = (
        "Forge remembers nothing from it"
        if last_valid is None
        else f"Forge keeps the memories of its last valid version ({last_valid[:7]})"
    )
    return f"`{PATH}` on the default branch is ignored: {instead}. Line {first.line}: {first.brief}{more}"


def no_room(left_out: int, most: int) -> str:
    """Says that bullets of a file without mistakes are not remembered, and what to do.

    :param most: memories that may live in the repository.
    """
    return (
        f"`{PATH}`: {name_count(left_out, 'memory', 'memories')} left out, because the limit of pinned memories is "
        f"reached (`memory.max`: "
        f"{most:,}). Make room with `/forge forget M-ID`, then change the file."
    )


def render_annotation(mistake: Mistake) -> tuple[str, str]:
    """Title and message of an annotation; GitHub shows them as plain text."""
    return "Forge: memory", redact_outgoing(strip_invisible(mistake.sentence))[:4000]


def combine_checks(one: CheckText, other: CheckText) -> CheckText:
    """Two files in one check."""
    return CheckText(f"{one.title}; {other.title}"[:255], f"{one.summary}\n\n{other.summary}")


def describe_outcome(added: int, archived: int, kept: int, left_out: int) -> str:
    """What became of a delivery."""
    without = f", {left_out} left out" if left_out else ""
    return f"{PATH}: {added} added, {archived} archived, {kept} as before{without}"


def _list(title: str, texts: Sequence[str]) -> str:
    if not texts:
        return ""
    rows = [f"- {escape(text, 300)}" for text in texts[:_SHOWN]]
    left = len(texts) - len(rows)
    return "\n".join([f"**{title}: {len(texts)}**", "", *rows, *([f"\nand {left} more"] if left else [])])


USES = {
    "recurred": "taught again",
    "applied": "helped",
    "confirmed": "confirmed by a person",
    "dismissed": "doubted by a person",
}
OUTCOMES = {"": "nothing known yet", "helped": "helped", "ignored": "was not used"}


def describe_memory_event(event: Event) -> str:
    """What an event says that happened to a memory."""
    by = f" by {flatten_redacted(str(event.payload.get('by', '')))}" if event.payload.get("by") else ""
    if event.type is EventType.memory_edited:
        return f"edited{by}; before: {_describe_change(event.payload)}"
    if event.type is EventType.learning_stored:
        return f"learned by looking back at run {event.trace}"
    return f"{event.type.value.removeprefix('memory.')}{by}"


def _describe_change(payload: Mapping[str, Any]) -> str:
    """The parts that an edit changed, as they were before."""
    before, after = payload.get("before", {}), payload.get("after", {})
    parts = [f"{name} “{flatten_redacted(_text(value))}”" for name, value in before.items() if value != after.get(name)]
    return ", ".join(parts)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
