"""`forge memory export` and `import`: writes memories to a file of JSON Lines, and reads them from one."""

import itertools
import sys
from pathlib import Path

from bot.cli import memory_view as shown
from bot.cli.lookup import find_repositories, find_repository
from bot.cli.output import output
from bot.cli.run import operator_name
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError
from domain.memories.jsonl import MOST_LINES, dump_line, parse_lines
from domain.memories.memory import MemoryKind
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.learned import catalogue
from memory.reports import costs
from pipeline.config import loading

MAKE_ROOM = "Archive some with `forge memory archive M-ID`."


async def export_memories(
    settings: Installation, repository: str | None, kind: MemoryKind | None, file: Path | None, *, archived: bool
) -> None:
    """Write memories as JSON Lines, oldest first.

    :param repository: only its own; None: of all.
    :param kind: only this one; None: every kind.
    :param file: None: standard output.
    :param archived: archived ones, too.
    :raises ForgeError: if it cannot be written, or Forge never ran in the repository.
    """
    async with open_database(settings) as database:
        ids = None if repository is None else await find_repositories(database, repository)
        found = await catalogue.list_memories(database, ids, kind, archived=archived)
        names = await costs.load_names(database, [each.memory.repository_id for each in found])
    memories = sorted((each.memory for each in found), key=lambda memory: memory.id)
    lines = [dump_line(each, names.get(each.repository_id, str(each.repository_id))) for each in memories]
    if file is None:
        with output() as console:
            console.file.writelines(f"{line}\n" for line in lines)
        return
    try:
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise ForgeError(f"{file} could not be written: {error.strerror}.", "Name another file.") from None
    _print(f"{shown.count_memories(len(lines))} written to {file}.")


async def import_memories(settings: Installation, file: Path, repository: str) -> None:
    """Store the memories of a JSON Lines file, all of them or none.

    :param file: ``-``: standard input.
    :raises ForgeError: if the file cannot be read, a line is wrong, or there is no room; then nothing was imported.
    """
    now = SystemClock().now()
    named = "standard input" if str(file) == "-" else file.name
    found, mistakes = parse_lines(_read_text(file).split("\n"), now)
    if mistakes:
        raise ForgeError(
            shown.describe_mistakes(named, mistakes), "Nothing was imported; correct the file and import it again."
        )
    live = [line for line in found if line.archived_at is None]
    async with open_database(settings) as database:
        where = await find_repository(database, repository)
        new = [line.to_memory(where, named, now) for line in live]
        most = await load_capacity(database, where)
        taken = await catalogue.import_memories(database, where, new, named, operator_name(), now, most)
    if taken.added is None:
        what = f"{where.full_name} has {shown.count_memories(taken.live)}, and can have at most {most:,}."
        raise ForgeError(f"{what} Nothing was imported.", f"{MAKE_ROOM[:-1]}, or import fewer.")
    skipped = shown.describe_skipped(found, live, taken.added)
    _print(f"{shown.count_memories(taken.added)} imported into {where.full_name}{skipped}.")


async def load_capacity(database: Database, where: RepositoryRef) -> int:
    """How many memories the repository can have, by its stored configuration."""
    return (await loading.load_stored(database, where)).memory.max


def _read_text(file: Path) -> str:
    """The text of a file, up to one line more than is allowed; the rest is not read."""
    try:
        if str(file) == "-":
            return "".join(itertools.islice(sys.stdin, MOST_LINES + 1))
        with file.open(encoding="utf-8-sig") as opened_file:
            return "".join(itertools.islice(opened_file, MOST_LINES + 1))
    except OSError as error:
        raise ForgeError(f"{file} could not be read: {error.strerror}.", "Name a file of JSON Lines.") from None
    except UnicodeDecodeError:
        raise ForgeError(f"{file} is not UTF-8, so nothing was imported.", "Name a file of JSON Lines.") from None


def _print(line: str) -> None:
    with output() as console:
        console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
