"""`forge memory`: what Forge knows, for people to see, add to, put right and take away."""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.cli import audit as auditing
from bot.cli import memory_view as shown
from bot.cli.database import NotThere, opened
from bot.cli.halt import operator
from bot.cli.output import output
from bot.clock import SystemClock
from bot.settings import Installation
from domain.errors import ForgeError
from domain.memories import validation
from domain.memories.jsonl import MOST_LINES, Line, Wrong, read, written
from domain.memories.memory import Kind, Memory, Origin, learned
from domain.memories.memory_file import PATH
from domain.runs.run import RepositoryRef
from domain.text.escaping import visible
from memory.db.engine import Database
from memory.findings import findings
from memory.learned import catalogue, memory_file
from memory.reports import costs
from pipeline.config import loading
from pipeline.verdicts import suppression

SHORTEST = 6  # characters of an id that people type
_NAMED = 12  # lines with mistakes that an import names
_MAKE_ROOM = "Archive some with `forge memory archive M-ID`."


@dataclass(frozen=True)
class Asked:
    """What was typed to narrow a list."""

    repository: str | None = None
    kind: Kind | None = None
    archived: bool = False
    patterns: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class Words:
    """What a memory says; None leaves a part as it is."""

    content: str | None = None
    context: str | None = None
    tags: str | None = None

    @property
    def named(self) -> tuple[str, ...] | None:
        """The tags, which people separate by commas."""
        if self.tags is None:
            return None
        return tuple(dict.fromkeys(tag for tag in map(validation.plain, self.tags.split(",")) if tag))


async def show_all(settings: Installation, asked: Asked) -> None:
    """Print what is remembered, newest first.

    :raises NotThere: if Forge never ran in the repository.
    """
    async with opened(settings) as database:
        ids = await _ids(database, asked.repository)
        found = await catalogue.listed(
            database, ids, asked.kind, patterns=asked.patterns, archived=asked.archived, limit=asked.limit
        )
        names = await costs.names(database, [each.memory.repository_id for each in found])
    now = SystemClock().now()
    with output() as console:
        for line in (line for each in found for line in shown.brief(each, names, now)):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
        if not found:
            console.print("Nothing of that is remembered.")
        elif len(found) == asked.limit:
            console.print(f"These are the newest {asked.limit}; --limit or an export shows more.")


async def show_one(settings: Installation, name: str) -> None:
    """Print all that is known of a memory.

    :raises ForgeError: if there is none of this name, or more than one.
    """
    async with opened(settings) as database:
        memory = await _named(database, name)
        story = await catalogue.story(database, memory)
        names = await costs.names(database, [memory.repository_id])
    _print(*shown.whole(story, names, SystemClock().now()))


async def add(settings: Installation, repository: str, words: Words, kind: Kind) -> None:
    """Keep what the operator says; it does not decay.

    :raises ForgeError: if it cannot be kept as it is, or Forge never ran in the repository.
    """
    now, by = SystemClock().now(), operator()
    async with opened(settings) as database:
        where = await _repository(database, repository)
        memory = learned(
            where,
            Origin.person,
            kind,
            words.content or "",
            f"the operator{f' ({by})' if by else ''}",
            now,
            context=words.context or "",
            tags=words.named or (),
            pinned=True,
        )
        most = await _most(database, where)
        kept = await catalogue.add(database, _checked(memory), by, most)
    if kept is None:
        what = f"No more than {_count(most)} can count in {where.full_name}, and all that do are pinned."
        raise ForgeError(f"{what} Nothing was added.", _MAKE_ROOM)
    if kept.id == memory.id:
        _print(f"{memory.shown} is remembered in {where.full_name}; it does not decay.")
    else:
        _print(f"{kept.shown} says that already, so nothing was added.")


async def edit(settings: Installation, name: str, words: Words) -> None:
    """Put right what a memory says; the ledger keeps what it said before.

    :raises ForgeError: if that is not possible; one line that says why and what is.
    """
    if (words.content, words.context, words.tags) == (None, None, None):
        raise ForgeError("There is nothing to change.", "Give --content, --context or --tags.")
    async with opened(settings) as database:
        memory = await _named(database, name)
        if memory_file.is_of_file(memory):
            why = f"{memory.shown} stands in {PATH} of its repository."
            raise ForgeError(why, "Change it there; the default branch counts.")
        changed = _checked(_with(memory, words))
        if changed == memory:
            _print(f"{memory.shown} says that already, so nothing was changed.")
            return
        if not await catalogue.edit(database, memory, changed, operator(), SystemClock().now()):
            raise ForgeError(f"{memory.shown} is archived and counts no more.", "Add it anew with `forge memory add`.")
    _print(f"{memory.shown} is changed; `forge memory show {memory.shown}` has what it said before.")


async def archive(settings: Installation, name: str) -> None:
    """Let a memory count no more. It is kept.

    :raises ForgeError: if there is none of this name, or more than one.
    """
    async with opened(settings) as database:
        memory = await _named(database, name)
        was_live = await catalogue.archive(database, memory, operator(), SystemClock().now())
        story = await catalogue.story(database, memory)
    if not was_live:
        _print(f"{memory.shown} was archived before, so nothing was changed.")
        return
    _print(f"{memory.shown} is archived: it is kept, and counts no more.", *shown.after_archiving(story))


async def export(settings: Installation, asked: Asked, file: Path | None) -> None:
    """Write memories as JSON Lines, oldest first.

    :param file: None: standard output.
    :raises ForgeError: if it cannot be written, or Forge never ran in the repository.
    """
    async with opened(settings) as database:
        ids = await _ids(database, asked.repository)
        found = await catalogue.listed(database, ids, asked.kind, archived=asked.archived)
        names = await costs.names(database, [each.memory.repository_id for each in found])
    memories = sorted((each.memory for each in found), key=lambda memory: memory.id)
    lines = [written(each, names.get(each.repository_id, str(each.repository_id))) for each in memories]
    if file is None:
        with output() as console:
            console.file.writelines(f"{line}\n" for line in lines)
        return
    try:
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise ForgeError(f"{file} could not be written: {error.strerror}.", "Name another file.") from None
    _print(f"{_count(len(lines))} written to {file}.")


async def take_in(settings: Installation, file: Path, repository: str) -> None:
    """Keep the memories of a file of JSON Lines, all of them or none.

    :param file: ``-``: standard input.
    :raises ForgeError: if the file cannot be read or a line is wrong, which is named; then nothing was imported.
    """
    now = SystemClock().now()
    named = "standard input" if str(file) == "-" else file.name
    found, mistakes = read(_text(file).split("\n"), now)
    if mistakes:
        raise ForgeError(_mistaken(named, mistakes), "Nothing was imported; mend the file and import it again.")
    live = [line for line in found if line.archived_at is None]
    async with opened(settings) as database:
        where = await _repository(database, repository)
        new = [line.memory(where, named, now) for line in live]
        most = await _most(database, where)
        taken = await catalogue.take_in(database, where, new, named, operator(), now, most)
    if taken.added is None:
        what = f"{where.full_name} has {_count(taken.live)}, and no more than {most:,} can count there."
        raise ForgeError(f"{what} Nothing was imported.", f"{_MAKE_ROOM[:-1]}, or import fewer.")
    _print(f"{_count(taken.added)} imported into {where.full_name}{_left_out(found, live, taken.added)}.")


async def why(settings: Installation, finding: str, repository: str, number: int) -> None:
    """Print what people and memories have to do with a finding.

    :raises NotThere: if there is no such finding, or Forge never ran in the repository.
    """
    async with opened(settings) as database:
        where = await _repository(database, repository)
        found = await findings.by_name(database, where.id, number, finding)
        if found is None:
            what = f"There is no finding {visible(finding)} in {visible(repository)}#{number}."
            raise NotThere(what, "The check `Forge / review` of the pull request lists them.")
        is_learning = (await loading.stored(database, where)).memory.enabled
        known = await suppression.evidence(database, where, number, found, is_learning=is_learning)
    _print(*shown.behind(known))


async def _ids(database: Database, repository: str | None) -> Sequence[int] | None:
    return None if repository is None else await auditing.repositories_named(database, repository)


async def _repository(database: Database, full_name: str) -> RepositoryRef:
    await auditing.repositories_named(database, full_name)
    found = await catalogue.repository(database, full_name)
    assert found is not None  # or the line before would have said so
    return found


async def _named(database: Database, name: str) -> Memory:
    ending = name.upper().removeprefix("M-")
    found = await catalogue.named(database, ending) if len(ending) >= SHORTEST else ()
    if not found:
        raise NotThere(f"There is no memory {visible(name)}.", "`forge memory list` lists them.")
    if len(found) > 1:
        several = f"Several memories end with {ending}: {', '.join(each.id for each in found)}."
        raise ForgeError(several, "Give M- and the whole id.")
    return found[0]


def _with(memory: Memory, words: Words) -> Memory:
    told = {"content": words.content, "context": words.context, "tags": words.named}
    return memory.model_copy(update={part: value for part, value in told.items() if value is not None})


def _checked(memory: Memory) -> Memory:
    """The memory in one line.

    :raises ForgeError: if it cannot be kept as it is.
    """
    for part, what, allowed in validation.wrong(memory.content, memory.context, memory.tags):
        raise ForgeError(f"The {part} {what}.", f"Allowed: {allowed}." if allowed else "Take that out.")
    plain = {"content": validation.plain(memory.content), "context": validation.plain(memory.context)}
    return memory.model_copy(update=plain)


def _text(file: Path) -> str:
    """The text of a file of at most so many lines; what comes after them is not read."""
    try:
        if str(file) == "-":
            return "".join(itertools.islice(sys.stdin, MOST_LINES + 1))
        with file.open(encoding="utf-8-sig") as opened_file:
            return "".join(itertools.islice(opened_file, MOST_LINES + 1))
    except OSError as error:
        raise ForgeError(f"{file} could not be read: {error.strerror}.", "Name a file of JSON Lines.") from None
    except UnicodeDecodeError:
        raise ForgeError(f"{file} is not UTF-8, so nothing was imported.", "Name a file of JSON Lines.") from None


def _mistaken(named: str, mistakes: Sequence[Wrong]) -> str:
    first, others = mistakes[0], mistakes[1:]
    more = ", ".join(str(each.line) for each in others[:_NAMED]) + (", …" if len(others) > _NAMED else "")
    also = f" Wrong, too: line{'' if len(others) == 1 else 's'} {more}." if others else ""
    return f"Line {first.line} of {named}: {visible(first.what)}.{also}"


async def _most(database: Database, where: RepositoryRef) -> int:
    """How many memories may live there, as far as is known here."""
    return (await loading.stored(database, where)).memory.max


def _left_out(found: Sequence[Line], live: Sequence[Line], added: int) -> str:
    known, archived = len(live) - added, len(found) - len(live)
    parts = [
        *([f"{known} known already"] if known else []),
        *([f"{archived} archived and left out"] if archived else []),
    ]
    return f"; {', '.join(parts)}" if parts else ""


def _count(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"


def _print(*lines: str) -> None:
    with output() as console:
        for line in lines:
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
