"""Lets an agent ask why code is as it is: which commits changed a file, and which one wrote its lines."""

import re
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from pydantic import ConfigDict, Field

from agents.loop.tools.tool import Tool, ToolMistake
from domain.errors import CodeAccessError
from domain.globs import matches
from domain.text.escaping import flatten_text
from domain.text.redaction import Redact
from domain.value import Value
from workspace.git import TooLarge, read_stderr
from workspace.patches import refusals
from workspace.snapshot import BlamedLines, History, PastCommit

_LONGEST_SUBJECT = 200  # characters
_ABBREVIATED = 12  # digits of a commit
_ABSENT = "{path} has no such lines in this history: it may be new or shorter. Read it with read_file."
_IS_ABSENT = re.compile(r"has only \d+ lines?|no such path|cannot stat path")
_TOO_LARGE = "This history is too large to be read. Ask for fewer commits, or do without it."
T = TypeVar("T")


class _Arguments(Value):
    model_config = ConfigDict(extra="forbid")


class GitLog(_Arguments):
    """What ``git_log`` takes."""

    path: str = Field(default="", max_length=4096, description="Only commits that changed this file; empty: all.")
    count: int = Field(default=20, ge=1, le=100, description="How many, the newest first.")


class GitBlame(_Arguments):
    """What ``git_blame`` takes."""

    path: str = Field(max_length=4096, description="From the root of the repository, such as src/app.py.")
    first_line: int = Field(ge=1, description="Number of the first line to ask about.")
    lines: int = Field(default=50, ge=1, le=500, description="How many lines to ask about.")


def make_history_tools(history: History, *, never_send: Sequence[str], redact: Redact) -> tuple[Tool, ...]:
    """``git_log`` and ``git_blame`` over the history before an agent's own changes.

    :param never_send: glob patterns of files whose history is not shown.
    :param redact: removes secrets from every answer.
    """

    def require_shown(path: str) -> None:
        if wrong := refusals.find_mistake(path):
            raise ToolMistake(redact(f"The path {wrong}. Name a file by its path from the root of the repository."))
        if any(matches(each, never_send) for each in (path, f"{path}/x")):
            raise ToolMistake(redact(f"{path} is kept from models by the repository (review.never_send)."))

    async def log(arguments: GitLog) -> str:
        if arguments.path:
            require_shown(arguments.path)
        found = await _read(history.list_commits(arguments.path or None, arguments.count), arguments.path)
        return "\n".join(_render(commit, redact) for commit in found) or "No commit changed such a file."

    async def blame(arguments: GitBlame) -> str:
        require_shown(arguments.path)
        last = arguments.first_line + arguments.lines - 1
        found = await _read(history.blame(arguments.path, arguments.first_line, last), redact(arguments.path))
        return "\n".join(_render_lines(part, redact) for part in found)

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


def _render_lines(part: BlamedLines, redact: Redact) -> str:
    return f"{part.first}-{part.last}\t{_render(part.commit, redact)}{' (or before)' if part.is_older else ''}"


def _render(commit: PastCommit, redact: Redact) -> str:
    subject = redact(flatten_text(commit.subject))[:_LONGEST_SUBJECT]
    return f"{commit.sha[:_ABBREVIATED]} {commit.date} {subject}"
