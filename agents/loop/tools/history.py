"""Lets an agent ask why code is as it is: which commits changed a file, and which one wrote its lines."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from agents.loop.tools.tool import Tool, ToolMistake
from domain.errors import CodeAccessError
from domain.globs import matches
from domain.text.escaping import strip_invisible
from domain.text.redaction import Redact
from workspace.history import BlamedLines, History, PastCommit
from workspace.patches import path_rules

_LONGEST_SUBJECT = 200  # characters
_ABBREVIATED = 12  # digits of a commit
_NO_SUCH_LINES = "{path} has no lines {first} to {last} in this history: it may be new. Read it with read_file."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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
        if wrong := path_rules.find_mistake(path):
            raise ToolMistake(redact(f"The path {wrong}. Name a file by its path from the root of the repository."))
        if matches(path, never_send):
            raise ToolMistake(redact(f"{path} is kept from models by the repository (review.never_send)."))

    async def log(arguments: GitLog) -> str:
        if arguments.path:
            require_shown(arguments.path)
        found = await history.list_commits(arguments.path or None, arguments.count)
        return redact("\n".join(_render(commit) for commit in found)) or "No commit changed such a file."

    async def blame(arguments: GitBlame) -> str:
        require_shown(arguments.path)
        first, last = arguments.first_line, arguments.first_line + arguments.lines - 1
        try:
            found = await history.blame(arguments.path, first, last)
        except CodeAccessError:
            raise ToolMistake(
                redact(_NO_SUCH_LINES.format(path=arguments.path, first=first, last=last)), _NO_SUCH_LINES
            ) from None
        return redact("\n".join(map(_render_lines, found)))

    return (
        Tool("git_log", "Lists commits with their day and subject, of all or of one file.", GitLog, log),
        Tool("git_blame", "Says which commit wrote lines of a file, as it was before your changes.", GitBlame, blame),
    )


def _render_lines(part: BlamedLines) -> str:
    return f"{part.first}-{part.last}\t{_render(part.commit)}{' (or before)' if part.is_older else ''}"


def _render(commit: PastCommit) -> str:
    subject = " ".join(strip_invisible(commit.subject).split())[:_LONGEST_SUBJECT]
    return f"{commit.sha[:_ABBREVIATED]} {commit.date} {subject}"
