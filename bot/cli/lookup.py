"""Finds what people name on the command line: a run, a gate, a repository, a time."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from bot.clock import parse_moment
from domain.errors import ForgeError, UnknownName
from domain.gates import Gate
from domain.runs.run import RepositoryRef
from domain.text.escaping import strip_invisible
from memory import gates
from memory.db.engine import Database
from memory.reports import audit
from memory.repositories import addresses

T = TypeVar("T")


def take_only(found: Sequence[T], kind: str, asked: str, advice: str, name: Callable[[T], str] = str) -> T:
    """The only one that was found.

    :param asked: its id as somebody typed it.
    :param name: shows the whole id of one.
    :raises UnknownName: if there is none.
    :raises ForgeError: if there is more than one.
    """
    if not found:
        raise UnknownName(f"There is no {kind} {strip_invisible(asked)}.", advice)
    if len(found) > 1:
        several = f"More than one {kind} ends with {strip_invisible(asked)}: {', '.join(map(name, found))}."
        raise ForgeError(several, "Give the whole id.")
    return found[0]


async def find_run(database: Database, text: str) -> str:
    """The id of the run with this id, or with an id that ends so.

    :raises ForgeError: if there is none, or more than one.
    """
    ending = text.removeprefix("…").removeprefix("...")
    found = await audit.find_runs(database, ending) if len(ending) >= 6 else ()
    return take_only(found, "run", text, "Give the whole id or its last 6 characters; `forge runs` lists the latest.")


async def find_repositories(database: Database, full_name: str) -> Sequence[int]:
    """The ids of the repositories that had this name.

    :raises UnknownName: if Forge never ran there.
    """
    found = await audit.find_repositories(database, full_name)
    if not found:
        raise _refuse_repository(full_name)
    return found


async def find_repository(database: Database, full_name: str) -> RepositoryRef:
    """The repository that had this name last.

    :raises UnknownName: if Forge never ran there.
    """
    found = await addresses.find_by_name(database, full_name)
    if found is None:
        raise _refuse_repository(full_name)
    return found


def _refuse_repository(full_name: str) -> UnknownName:
    advice = "Write OWNER/NAME; `forge runs` lists the latest runs and their repositories."
    return UnknownName(f"Forge never ran in {strip_invisible(full_name)}.", advice)


async def find_gate(database: Database, shown_id: str) -> Gate:
    """The gate with this id, or with an id that ends so.

    :raises ForgeError: if there is none, or more than one.
    """
    found = await gates.find_by_short_id(database, shown_id) if len(shown_id) >= 8 else ()
    return take_only(found, "gate", shown_id, "`forge gates` lists the latest.", lambda gate: f"G-{gate.id}")


def parse_period(since: str | None, until: str | None, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The times that ``--since`` and ``--until`` name.

    :raises ForgeError: if one is not a time, or ``--since`` is not before ``--until``.
    """
    begin, end = parse_moment(since, now, "--since"), parse_moment(until, now, "--until")
    if begin is not None and end is not None and begin >= end:
        raise ForgeError("--since is not before --until, so no event can match.")
    return begin, end
