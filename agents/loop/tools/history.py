"""Lets an agent ask why code is as it is, by its commits, and who uses a name, by symbols."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from pydantic import Field

from agents.loop.tools.files import NOTHING_WITHHELD, ShownFiles, cut_line, fit_lines, redact_answers
from agents.loop.tools.tool import Tool, ToolArguments, ToolMistake
from agents.syntax.languages import find_language
from agents.syntax.symbols.places import FOLLOWED
from agents.syntax.symbols.uses import Reference
from domain.errors import CodeAccessError
from domain.globs import matches
from domain.text.escaping import flatten_text
from domain.text.redaction import redact_outgoing
from workspace.git import TooLarge, read_stderr
from workspace.patches import refusals
from workspace.snapshot import BlamedLines, CannotRead, History, PastCommit, Snapshot

REFERENCES = "references"
_DESCRIPTION = (
    "Lists the lines that use, call or build on a name that a file defines, found by symbols through imports and "
    "types: callers first, then tests. A dynamic use is not found: grep for it."
)
_NO_SYMBOLS = "{} is in a language whose symbols are not known here. Use grep."
_UNDEFINED = "{} does not define {}. Name the file that defines it; grep finds that."
_UNUSED = "[Nothing else in the repository was found to use it.]"
_TOO_LONG = "That took too long. Use grep."
Find = Callable[[str, str], Awaitable[Sequence[Reference] | None]]
"""The references to a name that the file at a path defines; None if that took too long."""

_LONGEST_SUBJECT = 200  # characters
_ABBREVIATED = 12  # digits of a commit
_ABSENT = "{path} has no such lines in this history: it may be new or shorter. Read it with read_file."
_IS_ABSENT = re.compile(r"has only \d+ lines?|no such path|cannot stat path")
_TOO_LARGE = "This history is too large to be read. Ask for fewer commits, or do without it."
T = TypeVar("T")


class GitLog(ToolArguments):
    """What ``git_log`` takes."""

    path: str = Field(default="", max_length=4096, description="Only commits that changed this file; empty: all.")
    count: int = Field(default=20, ge=1, le=100, description="How many, the newest first.")


class GitBlame(ToolArguments):
    """What ``git_blame`` takes."""

    path: str = Field(max_length=4096, description="From the root of the repository, such as src/app.py.")
    first_line: int = Field(ge=1, description="Number of the first line to ask about.")
    lines: int = Field(default=50, ge=1, le=500, description="How many lines to ask about.")


def make_history_tools(history: History, *, never_send: Sequence[str]) -> tuple[Tool, ...]:
    """``git_log`` and ``git_blame`` over the history before an agent's own changes.

    :param never_send: glob patterns of files whose history is not shown.
    """

    def require_shown(path: str) -> None:
        if wrong := refusals.find_mistake(path):
            told = f"The path {wrong}. Name a file by its path from the root of the repository."
            raise ToolMistake(redact_outgoing(told))
        if any(matches(each, never_send) for each in (path, f"{path}/x")):
            raise ToolMistake(redact_outgoing(f"{path} is kept from models by the repository (review.never_send)."))

    async def log(arguments: GitLog) -> str:
        if arguments.path:
            require_shown(arguments.path)
        found = await _read(history.list_commits(arguments.path or None, arguments.count), arguments.path)
        return "\n".join(_render(commit) for commit in found) or "No commit changed such a file."

    async def blame(arguments: GitBlame) -> str:
        require_shown(arguments.path)
        last = arguments.first_line + arguments.lines - 1
        found = await _read(history.blame(arguments.path, arguments.first_line, last), redact_outgoing(arguments.path))
        return "\n".join(_render_lines(part) for part in found)

    return (
        Tool("git_log", "Lists commits with their day and subject, of all or of one file.", GitLog, log),
        Tool("git_blame", "Says which commit wrote lines of a file, as it was before your changes.", GitBlame, blame),
    )


async def _read(asked: Awaitable[T], path: str) -> T:
    """What the history says.

    :raises ToolMistake: there is no such thing, or it is too large to be read.
    :raises CodeAccessError: git could not fetch it.
    """
    try:
        return await asked
    except TooLarge:
        raise ToolMistake(_TOO_LARGE) from None
    except CodeAccessError as error:
        if _IS_ABSENT.search(read_stderr(error)):
            raise ToolMistake(_ABSENT.format(path=path), _ABSENT) from None
        raise


def _render_lines(part: BlamedLines) -> str:
    return f"{part.first}-{part.last}\t{_render(part.commit)}{' (or before)' if part.is_older else ''}"


def _render(commit: PastCommit) -> str:
    subject = redact_outgoing(flatten_text(commit.subject))[:_LONGEST_SUBJECT]
    return f"{commit.sha[:_ABBREVIATED]} {commit.date} {subject}"


class References(ToolArguments):
    """What ``references`` takes."""

    path: str = Field(max_length=4096, description="The file that defines the name, such as src/app.py.")
    name: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\s\x00-\x1f\x7f]+$",
        description="A function, class, method or value it defines, such as total or Cart.total.",
    )


def make_references_tool(
    snapshot: Snapshot,
    find: Find,
    *,
    never_send: Sequence[str],
    withheld: Mapping[str, Collection[int]] = NOTHING_WITHHELD,
) -> Tool:
    """``references`` over one commit; for the other parameters see :func:`agents.loop.tools.files.make_file_tools`."""

    async def look(files: ShownFiles, arguments: References) -> str:
        path = files.require_file(arguments.path)
        if find_language(path) not in FOLLOWED:
            raise ToolMistake(_NO_SYMBOLS.format(path), _NO_SYMBOLS)
        found = await find(path, arguments.name)
        if found is None:
            raise ToolMistake(_TOO_LONG)
        if not found:
            raise ToolMistake(_UNDEFINED.format(path, arguments.name), _UNDEFINED)
        shown = [each for each in found if not matches(each.path, never_send) and each.path in files.snapshot.files]
        lines = await _read_each(files, {each.path for each in shown})
        listed = [_render_reference(each, lines[each.path]) for each in shown if each.path in lines]
        outside = any(each.path != path for each in shown)
        return "\n".join([*fit_lines(listed), *([] if outside else [_UNUSED])])

    async def files() -> ShownFiles:
        return ShownFiles(snapshot, never_send, withheld)

    return Tool(REFERENCES, _DESCRIPTION, References, redact_answers(files, look))


async def _read_each(files: ShownFiles, paths: Collection[str]) -> dict[str, list[str]]:
    """Path → its lines, of those that can be read."""
    read = await asyncio.gather(*map(files.read_lines, paths), return_exceptions=True)
    for each in read:
        if isinstance(each, BaseException) and not isinstance(each, CannotRead):
            raise each
    return {path: each for path, each in zip(paths, read, strict=True) if not isinstance(each, BaseException)}


def _render_reference(found: Reference, lines: Sequence[str]) -> str:
    text = lines[found.line - 1] if found.line <= len(lines) else ""
    return f"{found.path}:{found.line}:{found.what}:{cut_line(text.strip())}"
