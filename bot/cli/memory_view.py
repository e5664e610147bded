"""Renders memories for the command line, without control sequences."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from domain.memories import Memory, Use, compute_confidence
from domain.text.escaping import flatten_redacted, format_moment, strip_invisible
from domain.text.memory_file import ExportedMemory, LineMistake
from memory.learned.catalogue import CatalogueEntry, MemoryHistory, Recall
from messages.memory_file import OUTCOMES, USES, describe_memory_event
from safety.memory_consolidation import to_pattern

_NAMED = 12  # wrong lines that an import lists
_WIDTH = 100  # characters of a memory's text in a list


def render_brief(shelved: CatalogueEntry, names: Mapping[int, str], now: datetime) -> Iterator[str]:
    """A memory in a list: id, kind, repository, confidence and uses; its text below."""
    memory = shelved.memory
    state = (
        f"archived: {memory.archived_why}"
        if memory.archived_why
        else f"confidence {compute_confidence(memory, now):.2f}"
    )
    pinned = "  pinned" if memory.pinned else ""
    yield (
        f"{memory.short_id}  {memory.kind}  {_describe_place(memory, names)}  "
        f"{state}{pinned}  {_describe_uses(shelved)}"
    )
    text = flatten_redacted(memory.content)
    yield f"    {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}"
    yield from (f"    {line}" for line in _render_pattern(shelved, now))


def render_memory(story: MemoryHistory, names: Mapping[int, str], now: datetime) -> Iterator[str]:
    """Everything about a memory."""
    shelved, memory = story.entry, story.entry.memory
    yield f"{memory.short_id}  {memory.kind}  {_describe_place(memory, names)}  {memory.id}"
    yield f"  {flatten_redacted(memory.content)}"
    yield from (f"  {line}" for line in _render_pattern(shelved, now))
    if memory.context:
        yield f"  When it matters: {flatten_redacted(memory.context)}"
    if memory.tags:
        yield f"  Tags: {flatten_redacted(', '.join(memory.tags))}"
    yield f"  Source: {flatten_redacted(memory.source)} ({memory.origin}), {format_moment(memory.created_at)}"
    yield f"  {_describe_confidence(memory, now)}"
    if memory.archived_at is not None:
        yield f"  Archived {format_moment(memory.archived_at)}: {memory.archived_why or ''}"
    yield from _render_history(story)
    yield from _render_recalls(story, shelved)


def _render_pattern(shelved: CatalogueEntry, now: datetime) -> Iterator[str]:
    """The figures of a pattern, if the memory is one."""
    found = to_pattern(shelved.memory, {Use(use): count for use, count in shelved.uses.items()}, now)
    if found is not None:
        rate = "not applied yet" if found.success_rate is None else f"helped {found.success_rate:.0%} of the time"
        yield f"Pattern ({found.outcome}): {found.frequency} runs taught it, {rate}"


def render_remaining(story: MemoryHistory) -> Iterator[str]:
    """The dismissals that still apply although their memory is archived."""
    for each in story.dismissals:
        if not each.is_undone:
            how = f"`/forge undismiss {each.finding}` there undoes it"
            yield f"The dismissal of {each.finding} in #{each.number} that taught it still applies; {how}."


def _describe_place(memory: Memory, names: Mapping[int, str]) -> str:
    return flatten_redacted(names.get(memory.repository_id, f"repository {memory.repository_id}"))


def _describe_uses(shelved: CatalogueEntry) -> str:
    uses = ", ".join(f"{count}× {USES.get(use, use)}" for use, count in sorted(shelved.uses.items()))
    recalled = f"recalled {shelved.recalls}×" if shelved.recalls else "never recalled"
    last = f", last {shelved.recalled_at:%Y-%m-%d}" if shelved.recalled_at is not None else ""
    return f"{recalled}{last}{f'; {uses}' if uses else ''}"


def _describe_confidence(memory: Memory, now: datetime) -> str:
    if memory.pinned:
        return f"Confidence {memory.confidence:.2f}; it is pinned, so it does not decay"
    left = compute_confidence(memory, now)
    decayed = f", {memory.confidence:.2f} on {memory.used_at:%Y-%m-%d}" if left != memory.confidence else ""
    return f"Confidence {left:.2f} now{decayed}; it loses 0.05 for each week in which nothing comes of it"


def _render_history(story: MemoryHistory) -> Iterator[str]:
    """Its uses and people's changes, in order."""
    used = [(at, f"{USES.get(use, use)} ({flatten_redacted(cause)})") for at, use, cause in story.uses]
    done = [(event.time, describe_memory_event(event)) for event in story.events]
    taught = [
        f"  Taught by {each.by}'s dismissal of {each.finding} in #{each.number}"
        + (", which was undone" if each.is_undone else "")
        for each in story.dismissals
    ]
    yield from taught
    for at, what in sorted([*used, *done]):
        yield f"  {format_moment(at)}  {what}"


def _render_recalls(story: MemoryHistory, shelved: CatalogueEntry) -> Iterator[str]:
    yield f"  {_describe_uses(shelved)[:1].upper()}{_describe_uses(shelved)[1:]}"
    yield from (f"    {_describe_recall(each)}" for each in story.recalls)


def _describe_recall(recall: Recall) -> str:
    where = "" if recall.number is None else f" in #{recall.number}"
    came = OUTCOMES.get(recall.outcome, recall.outcome)
    came, task = map(flatten_redacted, (came, recall.task))
    return f"{format_moment(recall.at)}  run …{recall.run_id[-6:]}{where}, {task}, place {recall.rank}: {came}"


def describe_mistakes(named: str, mistakes: Sequence[LineMistake]) -> str:
    first, others = mistakes[0], mistakes[1:]
    more = ", ".join(str(each.line) for each in others[:_NAMED]) + (", …" if len(others) > _NAMED else "")
    also = f" Also wrong: line{'' if len(others) == 1 else 's'} {more}." if others else ""
    return f"Line {first.line} of {named}: {strip_invisible(first.what)}.{also}"


def describe_skipped(found: Sequence[ExportedMemory], live: Sequence[ExportedMemory], added: int) -> str:
    known, archived = len(live) - added, len(found) - len(live)
    parts = [
        *([f"{known} known already"] if known else []),
        *([f"{archived} archived and left out"] if archived else []),
    ]
    return f"; {', '.join(parts)}" if parts else ""


def count_memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"
