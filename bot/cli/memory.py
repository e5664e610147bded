"""`forge memory`: shows what Forge remembers, and lets people add, correct and archive it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated

import typer

from bot.cli import lookup
from bot.cli.output import print_lines
from bot.cli.process import command, operator_name
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError
from domain.memories import (
    Memory,
    MemoryKind,
    Origin,
    Use,
    compute_confidence,
    create_memory,
    find_mistakes,
    split_tags,
)
from domain.runs.run import RepositoryRef
from domain.text.escaping import cut_text, flatten_redacted, format_moment
from memory.db.engine import Database
from memory.learned import catalogue
from memory.learned.catalogue import CatalogueEntry, MemoryHistory, Recall
from memory.reports import costs
from messages.memory import OUTCOMES, USES, describe_memory_event
from pipeline.config import loading
from safety.memory_consolidation import compute_figures

_WIDTH = 100  # characters of a memory's text in a list


SHORTEST = 6  # characters of an id that must be given

commands = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Show, add, edit and archive memories.",
)

_Repository = Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")]
_Needed = Annotated[str, typer.Option("--repository", metavar="OWNER/NAME", help="The repository.")]
_OfKind = Annotated[MemoryKind | None, typer.Option(help="Only this kind.")]
_Archived = Annotated[bool, typer.Option("--archived", help="Include archived memories.")]
_Name = Annotated[str, typer.Argument(metavar="M-ID", help="As `forge memory list` lists it.")]
_Context = Annotated[str | None, typer.Option(help="When it matters.")]
_Tags = Annotated[str | None, typer.Option(help="Words, rules and paths to find it by, separated by commas.")]


@command(commands, "list")
async def show_all(
    settings: Installation,
    repository: _Repository = None,
    kind: _OfKind = None,
    archived: _Archived = False,
    patterns: Annotated[bool, typer.Option("--patterns", help="Only memories that recurred.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many, newest first.")] = 100,
) -> None:
    """List memories, newest first, with their current confidence.

    :raises UnknownName: if Forge never ran in the repository.
    """
    async with open_database(settings) as database:
        ids = await _find_ids(database, repository)
        found = await catalogue.list_memories(database, ids, kind, patterns=patterns, archived=archived, limit=limit)
        names = await costs.load_names(database, [each.memory.repository_id for each in found])
    now = SystemClock().now()
    print_lines(*(line for each in found for line in render_brief(each, names, now)))
    if not found:
        print_lines("No memory matches.")
    elif len(found) == limit:
        print_lines(f"Only the newest {limit} are shown; --limit shows more.")


@command(commands, "show")
async def show_one(settings: Installation, name: _Name) -> None:
    """Show everything about a memory: its source, its history, and where it was recalled.

    :raises ForgeError: if no memory, or more than one, has this id.
    """
    async with open_database(settings) as database:
        memory = await _find_memory(database, name)
        story = await catalogue.load_history(database, memory)
        names = await costs.load_names(database, [memory.repository_id])
    print_lines(*render_memory(story, names, SystemClock().now()))


@command(commands, "add")
async def add(
    settings: Installation,
    text: Annotated[str, typer.Argument(help="What to remember, in a sentence or two.")],
    repository: _Needed,
    context: _Context = None,
    tags: _Tags = None,
    kind: Annotated[MemoryKind, typer.Option(help="The kind of memory.")] = MemoryKind.semantic,
) -> None:
    """Have Forge remember something; it does not decay.

    :raises ForgeError: if its text is not allowed, there is no room, or Forge never ran in the repository.
    """
    now, by = SystemClock().now(), operator_name()
    async with open_database(settings) as database:
        where = await lookup.find_repository(database, repository)
        memory = create_memory(
            where,
            Origin.person,
            kind,
            text,
            f"the operator{f' ({by})' if by else ''}",
            now,
            context=context or "",
            tags=split_tags(tags or ""),
            pinned=True,
        )
        most = await load_capacity(database, where)
        kept = await catalogue.add(database, _validate(memory), by, most)
    if kept is None:
        what = f"{where.full_name} can have at most {count_memories(most)}, and all of them are pinned."
        raise ForgeError(f"{what} Nothing was added.", MAKE_ROOM)
    if kept.id == memory.id:
        print_lines(f"{memory.short_id} is remembered in {where.full_name}; it does not decay.")
    else:
        print_lines(f"{kept.short_id} says that already, so nothing was added.")


@command(commands, "edit")
async def edit(
    settings: Installation,
    name: _Name,
    content: Annotated[str | None, typer.Option(help="Its text.")] = None,
    context: _Context = None,
    tags: _Tags = None,
) -> None:
    """Correct a memory. The ledger keeps what it said before.

    :raises ForgeError: if it cannot be changed.
    """
    told = {"content": content, "context": context, "tags": None if tags is None else split_tags(tags)}
    changes = {part: value for part, value in told.items() if value is not None}
    if not changes:
        raise ForgeError("There is nothing to change.", "Give --content, --context or --tags.")
    async with open_database(settings) as database:
        memory = await _find_memory(database, name)
        changed = _validate(memory.model_copy(update=changes))
        if changed == memory:
            print_lines(f"{memory.short_id} says that already, so nothing was changed.")
            return
        if not await catalogue.edit(database, memory, changed, operator_name(), SystemClock().now()):
            raise ForgeError(
                f"{memory.short_id} is archived and no longer used.", "Add it again with `forge memory add`."
            )
    print_lines(f"{memory.short_id} is changed; `forge memory show {memory.short_id}` shows what it said before.")


@command(commands, "archive")
async def archive(settings: Installation, name: _Name) -> None:
    """Archive a memory: Forge keeps it but no longer uses it.

    :raises ForgeError: if no memory, or more than one, has this id.
    """
    async with open_database(settings) as database:
        memory = await _find_memory(database, name)
        was_live = await catalogue.archive(database, memory, operator_name(), SystemClock().now())
        story = await catalogue.load_history(database, memory)
    if not was_live:
        print_lines(f"{memory.short_id} was archived before, so nothing was changed.")
        return
    print_lines(f"{memory.short_id} is archived: Forge keeps it but no longer uses it.", *render_remaining(story))


async def _find_ids(database: Database, repository: str | None) -> Sequence[int] | None:
    return None if repository is None else await lookup.find_repositories(database, repository)


async def _find_memory(database: Database, name: str) -> Memory:
    ending = name.upper().removeprefix("M-")
    found = await catalogue.find_by_short_id(database, ending) if len(ending) >= SHORTEST else ()
    return lookup.take_only(found, "memory", name, "`forge memory list` lists them.", lambda memory: f"M-{memory.id}")


def _validate(memory: Memory) -> Memory:
    """The memory with each text on one line.

    :raises ForgeError: if a part of it is not allowed.
    """
    for part, what, allowed in find_mistakes(memory.content, memory.context, memory.tags):
        raise ForgeError(f"The {part} {what}.", f"Allowed: {allowed}." if allowed else "Remove it.")
    return memory.on_one_line


MAKE_ROOM = "Archive some with `forge memory archive M-ID`."


async def load_capacity(database: Database, where: RepositoryRef) -> int:
    """How many memories the repository can have, by its stored configuration."""
    return (await loading.load_stored(database, where)).memory.max


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
    yield f"    {cut_text(flatten_redacted(memory.content), _WIDTH)}"
    yield from (f"    {line}" for line in _render_pattern(shelved))


def render_memory(story: MemoryHistory, names: Mapping[int, str], now: datetime) -> Iterator[str]:
    """Everything about a memory."""
    shelved, memory = story.entry, story.entry.memory
    yield f"{memory.short_id}  {memory.kind}  {_describe_place(memory, names)}  {memory.id}"
    yield f"  {flatten_redacted(memory.content)}"
    yield from (f"  {line}" for line in _render_pattern(shelved))
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


def _render_pattern(shelved: CatalogueEntry) -> Iterator[str]:
    """The figures of a pattern, if the memory is one."""
    found = compute_figures(shelved.memory, {Use(use): count for use, count in shelved.uses.items()})
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


def count_memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"
