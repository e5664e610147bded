"""Lets an agent read the files of a commit, without withheld files, secrets or hidden characters."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from agents.loop.tools.tool import LONGEST_ANSWER, Tool, ToolArguments, ToolMistake
from domain import globs
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from workspace.patches import refusals
from workspace.snapshot import CannotRead, SearchResult, Snapshot, SnapshotFile

_LONE_BRACE = re.compile(r"(\\[pPx]\{|\\.)|\{(?!\d+(?:,\d*)?\}|,\d+\})")
"""One that begins no bound. Code is full of them, and other engines take them as they are."""
_LINE_BREAK = re.compile(r"(?<![\\^])(?:\\\\)*\\n")
"""One that is to be found, unlike that of ``[^\n]``."""

LONGEST_LINE = 500  # characters; generated code has longer ones
_ROOM = LONGEST_ANSWER - 2_000  # characters of lines in an answer; notes come on top
_MOST_PATHS = 500
_MOST_FILES = 50  # named by a search without their lines
_SUGGESTIONS = 5
_MOST_STEPS = 30_000_000  # characters of paths × characters of a glob with many wildcards: a few seconds
_WITHHELD = "the repository keeps its content from models (review.never_send)"

Current = Callable[[], Awaitable[Snapshot]]
"""Returns the files as they are when a tool is called."""
NOTHING_WITHHELD: Mapping[str, Collection[int]] = {}
_HIDDEN = "[withheld: holds a credential]"


class ReadFile(ToolArguments):
    """What ``read_file`` takes."""

    path: str = Field(max_length=4096, description="From the root of the repository, such as src/app.py.")
    first_line: int = Field(default=1, ge=1, description="Number of the first line to show.")
    lines: int = Field(default=400, ge=1, le=2000, description="How many lines to show.")


class Glob(ToolArguments):
    """What ``glob`` takes."""

    pattern: str = Field(max_length=200, description="Such as src/**/*.py: * stays within a folder, ** crosses them.")


class Grep(ToolArguments):
    """What ``grep`` takes."""

    pattern: str = Field(min_length=1, max_length=500, description="A regular expression, matched within a line.")
    glob: str | None = Field(default=None, max_length=200, description="Look only into the files this matches.")
    fixed: bool = Field(default=False, description="The pattern is the text itself.")
    ignore_case: bool = Field(default=False, description="Take a to z and A to Z for the same.")


def make_file_tools(
    snapshot: Snapshot | Current,
    *,
    never_send: Sequence[str],
    withheld: Mapping[str, Collection[int]] = NOTHING_WITHHELD,
) -> tuple[Tool, ...]:
    """``read_file``, ``glob`` and ``grep`` over one commit. The same call gives the same text again.

    :param snapshot: the commit, or a function that returns it at each call, for an agent that changes files.
    :param never_send: glob patterns of files that are neither shown nor found.
    :param withheld: path → lines that are neither shown nor found.
    """

    async def files() -> ShownFiles:
        there = snapshot if isinstance(snapshot, Snapshot) else await snapshot()
        return ShownFiles(there, never_send, withheld)

    offered: tuple[tuple[str, str, type[BaseModel], Callable[[ShownFiles, Any], Awaitable[str]]], ...] = (
        ("read_file", "Shows numbered lines of a text file.", ReadFile, ShownFiles.read_file),
        ("glob", "Lists the files whose path matches a pattern.", Glob, ShownFiles.glob),
        ("grep", "Finds lines in text files, by a regular expression without look-around.", Grep, ShownFiles.grep),
    )
    return tuple(Tool(name, text, takes, redact_answers(files, call)) for name, text, takes, call in offered)


def redact_answers(
    files: "Callable[[], Awaitable[ShownFiles]]", call: "Callable[[ShownFiles, Any], Awaitable[str]]"
) -> Callable[[Any], Awaitable[str]]:
    """The call with redacted answers; mistakes are redacted too, because they name paths and patterns."""

    async def answer_redacted(arguments: BaseModel) -> str:
        try:
            return redact_outgoing(await call(await files(), arguments))
        except (ToolMistake, CannotRead) as mistake:
            raise ToolMistake(redact_outgoing(str(mistake))) from None

    return answer_redacted


@dataclass(frozen=True)
class _MatchedFiles:
    """The files that a pattern matches, and how many of them are withheld."""

    files: tuple[SnapshotFile, ...]
    withheld: int

    @property
    def notes(self) -> list[str]:
        if not self.withheld:
            return []
        return [f"[{_count_files(self.withheld)} left out: the repository keeps them from models (review.never_send).]"]


@dataclass(frozen=True)
class ShownFiles:
    """The files of one commit as an agent may see them; for its parts see :func:`make_file_tools`."""

    snapshot: Snapshot
    never_send: Sequence[str]
    withheld: Mapping[str, Collection[int]] = field(default_factory=dict[str, Collection[int]])

    async def read_file(self, arguments: ReadFile) -> str:
        path = self.require_file(arguments.path)
        lines = await self.read_lines(path)
        if not lines:
            return f"{path} is empty."
        if arguments.first_line > len(lines):
            raise ToolMistake(f"{path} ends with line {len(lines)}. Start at an earlier one.")
        return _render_page(path, lines, arguments.first_line, arguments.lines)

    async def glob(self, arguments: Glob) -> str:
        chosen = await self._match_glob(arguments.pattern)
        listed = [f"{file.path}{_kind(file)}" for file in chosen.files[:_MOST_PATHS]]
        more = len(chosen.files) - len(listed)
        notes = [f"[{_count_files(more)} more. Use a narrower pattern.]"] if more else []
        if not listed:
            notes.append(_explain_no_match(arguments.pattern))
        return "\n".join([*fit_lines(listed), *notes, *chosen.notes])

    async def grep(self, arguments: Grep) -> str:
        pattern = _check_pattern(arguments)
        chosen = await self._match_glob(arguments.glob or "**")
        paths = [file.path for file in chosen.files if not file.obstacle]
        if not chosen.files:
            return "\n".join([_explain_no_match(arguments.glob or "**"), *chosen.notes])
        found = await self.snapshot.search(pattern, paths, fixed=arguments.fixed, ignore_case=arguments.ignore_case)
        lines = await asyncio.to_thread(lambda: list(self._render_matches(found)))
        special = len(chosen.files) - len(paths)
        return "\n".join([*fit_lines(lines), *_list_notes(found, len(paths), special), *chosen.notes])

    async def read_lines(self, path: str) -> list[str]:
        """The lines of a file of the commit, as they may be shown.

        :raises CannotRead: it is not a text file, or too large.
        """
        content = await self.snapshot.read(path)
        return await asyncio.to_thread(self._list_lines, path, content)

    def _list_lines(self, path: str, content: bytes) -> list[str]:
        hidden, lines = self.withheld.get(path, ()), _lines(content)
        return [_HIDDEN if number in hidden else line for number, line in enumerate(lines, 1)] if hidden else lines

    def _render_matches(self, found: SearchResult) -> Iterator[str]:
        """Each matching line as ``path:number:text``."""
        for path, numbers in found.lines.items():
            lines, hidden = self._list_lines(path, found.contents[path]), self.withheld.get(path, ())
            yield from (f"{path}:{at}:{cut_line(lines[at - 1])}" for at in numbers if at not in hidden)
            if more := found.counts[path] - len(numbers):
                yield f"{path}: {more:,} more matching lines"

    def require_file(self, path: str) -> str:
        """The path, if it names a file that may be read; otherwise raises ``ToolMistake``."""
        path = path.removeprefix("./")
        if globs.matches(path, self.never_send):
            raise ToolMistake(f"{path} is not shown: {_WITHHELD}. Do without it.")
        if path in self.snapshot.files:
            return path
        if mistake := refusals.find_mistake(path):
            raise ToolMistake(f"The path {mistake}. Give one that glob lists.")
        raise ToolMistake(f"There is no file {path}. {self._suggest_path(path)}")

    def _suggest_path(self, path: str) -> str:
        folder = f"{path.rstrip('/')}/"
        if any(other.startswith(folder) for other in self.snapshot.files):
            return f"It is a folder: list it with glob {folder}**."
        name = path.rpartition("/")[2]
        alike = [other for other in self.snapshot.files if other.rpartition("/")[2] == name]
        shown = [other for other in alike if not globs.matches(other, self.never_send)][:_SUGGESTIONS]
        return f"Of the same name there is: {', '.join(shown)}." if shown else "Find it with glob or grep."

    async def _match_glob(self, pattern: str) -> _MatchedFiles:
        if mistake := globs.find_mistake(pattern):
            raise ToolMistake(f"The glob {mistake}.")
        return await asyncio.to_thread(self._select_files, pattern)

    def _select_files(self, pattern: str) -> _MatchedFiles:
        possible = list(_prefilter(self.snapshot.files, pattern))
        length = sum(map(len, globs.expand_pattern(pattern)))
        if pattern.count("*") > 2 and sum(map(len, possible)) * length > _MOST_STEPS:
            raise ToolMistake("The glob has too many wildcards for so many files. Begin it with a folder.")
        matching = [path for path in possible if globs.matches(path, [pattern])]
        shown = [path for path in matching if not globs.matches(path, self.never_send)]
        return _MatchedFiles(tuple(self.snapshot.files[path] for path in shown), len(matching) - len(shown))


def _prefilter(paths: Iterable[str], pattern: str) -> Iterator[str]:
    """Paths that begin and end like the pattern; this is cheaper than a full match."""
    parts = re.split(r"[*?[{\]}]", pattern)
    return (path for path in paths if path.startswith(parts[0]) and path.endswith(parts[-1].removeprefix("/")))


def _check_pattern(arguments: Grep) -> str:
    pattern = arguments.pattern
    if any(character in pattern for character in "\n\r\0") or (not arguments.fixed and _LINE_BREAK.search(pattern)):
        raise ToolMistake("The pattern holds a line break or a NUL. A search looks at one line at a time.")
    if any("\ud800" <= character <= "\udfff" for character in pattern):
        raise ToolMistake("The pattern is not UTF-8.")
    return pattern if arguments.fixed else _LONE_BRACE.sub(lambda found: found[1] or r"\{", pattern)


def _explain_no_match(pattern: str) -> str:
    return f"No path that is shown matches {pattern}. Patterns match whole paths: try **/ in front."


# --- what is shown -----------------------------------------------------------------------------------------


def _lines(content: bytes) -> list[str]:
    """The lines of a file. Secrets are removed from the whole text, because single lines may not reveal them."""
    lines = content.decode("utf-8", "replace").removesuffix("\n").split("\n") if content else []
    plain = (strip_invisible(line).replace("\n", " ") for line in lines)
    return redact_outgoing("\n".join(plain)).split("\n") if lines else []


def cut_line(line: str) -> str:
    """A line as far as it is shown."""
    more = len(line) - LONGEST_LINE
    return line if more <= 0 else f"{line[:LONGEST_LINE]}… [{more:,} more characters]"


def fit_lines(lines: Sequence[str]) -> list[str]:
    """As many lines as fit in an answer, and a note if some are missing."""
    fitting: list[str] = []
    room = _ROOM
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return [*fitting, f"[{len(lines) - len(fitting):,} more lines did not fit. Use a narrower pattern.]"]
        fitting.append(line)
    return fitting


def _render_page(path: str, lines: Sequence[str], first: int, most: int) -> str:
    """Some numbered lines, and how to continue."""
    shown: list[str] = []
    room = _ROOM
    for number, line in enumerate(lines[first - 1 : first - 1 + most], first):
        shown.append(f"{number}\t{cut_line(line)}")
        room -= len(shown[-1]) + 1
        if room < 0:
            break
    last = first + len(shown) - 1
    more = f" Go on with first_line={last + 1}." if last < len(lines) else ""
    return "\n".join([f"{path}, lines {first}-{last} of {len(lines)}.{more}", *shown])


def _kind(file: SnapshotFile) -> str:
    return f" ({file.obstacle})" if file.obstacle else ""


def _list_notes(found: SearchResult, looked_at: int, special: int) -> Iterator[str]:
    """Notes on what the lines do not show."""
    if not found.counts:
        yield f"No line matches in {_count_files(looked_at)}."
    if unnamed := [path for path in found.counts if path not in found.lines]:
        named = [f"{path} ({found.counts[path]:,})" for path in unnamed[:_MOST_FILES]]
        more = f" and {_count_files(len(unnamed) - len(named))} more" if len(unnamed) > len(named) else ""
        yield f"[Too many matches to show. Also in: {', '.join(named)}{more}. Use a narrower pattern or glob.]"
    if found.too_large:
        yield f"[{_count_files(found.too_large)} left out: too large to be searched.]"
    if special:
        yield f"[{_count_files(special)} left out: links, submodules, or odd names.]"


def _count_files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"
