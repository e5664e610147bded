"""Reads ``.github/forge-memory.md``: one memory for each bullet.

::

    # What Forge should know            a title: no context
    Words between lists are for people.

    ## Tests                            the context of what follows; ### adds to it
    tags: pytest, tests                 of all bullets of the section

    - Start the database with `make db` before the tests;
      plain pytest skips half of them.
      tags: database                    of this bullet, as its last line

Skips HTML comments on lines of their own. Anything else that is neither prose nor such a bullet is a
mistake, and a file with mistakes yields nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from domain.config.values import MAX_MISTAKES, Mistake
from domain.memories import (
    MOST_CONTEXT,
    Archived,
    Memory,
    MemoryKind,
    Origin,
    Scope,
    find_mistakes,
    is_html,
    make_content_key,
    to_one_line,
)
from domain.runs.run import RepositoryRef
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value, new_id

MOST_LINES = 20_000
LONGEST_LINE = 20_000
"""Characters."""


PATH = ".github/forge-memory.md"
LARGEST = 64 * 1024
"""Bytes of the file."""
MOST_MEMORIES = 200

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_BULLET = re.compile(r"(\s*)[-*+](?:[ \t]+(.*))?")
_NUMBERED = re.compile(r"\s*\d{1,9}[.)][ \t].*")
_TAGS = re.compile(r"\s*tags:(.*)", re.IGNORECASE)
_RULE = re.compile(r" {0,3}([-*_=])(?:[ \t]*\1){2,}[ \t]*|\s{0,3}=+\s*")
_FENCE = re.compile(r"\s*(?:[-*+][ \t]+)?(`{3,}|~{3,})")


@dataclass(frozen=True)
class MemoryFileEntry:
    """One bullet.

    :param line: where it begins, 1-based.
    """

    line: int
    content: str
    context: str = ""
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return make_content_key(self.content, self.context, self.tags)


@dataclass(frozen=True)
class ParsedFile:
    """The content of a file; empty if there are mistakes.

    :param mistakes: from top to bottom, at most 20.
    """

    entries: tuple[MemoryFileEntry, ...] = ()
    mistakes: tuple[Mistake, ...] = ()


def parse(content: bytes) -> ParsedFile:
    """Parses a file, or lists its mistakes."""
    if len(content) > LARGEST:
        return ParsedFile(mistakes=(_mistake(1, "file", f"has {len(content):,} bytes", f"at most {LARGEST:,}"),))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return ParsedFile(mistakes=(_mistake(line, "file", "is not UTF-8", "text in UTF-8"),))
    reader = _Reader()
    for number, line in enumerate(re.split(r"\r\n?|\n", text), 1):
        reader.read(number, line)
    return reader.result()


@dataclass
class _Bullet:
    line: int
    context: str
    lines: list[str]
    tags: list[str] = field(default_factory=list[str])
    is_closed: bool = False  # by its tags


class _Reader:
    """The state of the parser."""

    def __init__(self) -> None:
        self._entries: list[MemoryFileEntry] = []
        self._mistakes: list[Mistake] = []
        self._headings: list[tuple[int, str]] = []
        self._section_tags: list[str] = []
        self._in_list = False  # the section has bullets
        self._bullet: _Bullet | None = None
        self._after_blank = True
        self._fence = ""
        self._comment = 0  # the line in which an open comment begins

    def read(self, number: int, line: str) -> None:
        """Reads the next line."""
        if self._is_skipped(number, line):
            return
        blank = not line.strip()
        if not blank:
            self._read(number, line)
        self._after_blank = blank

    def result(self) -> ParsedFile:
        """The parsed file."""
        self._finish()
        if self._comment:
            self._add_mistake(self._comment, "comment", "is never closed", "`-->` at its end")
        self._find_repeated()
        if len(self._entries) > MOST_MEMORIES:
            line = self._entries[MOST_MEMORIES].line
            self._add_mistake(line, "file", f"has {len(self._entries)} memories", f"at most {MOST_MEMORIES}")
        if self._mistakes:
            return ParsedFile(mistakes=tuple(sorted(self._mistakes)[:MAX_MISTAKES]))
        return ParsedFile(tuple(self._entries))

    def _is_skipped(self, number: int, line: str) -> bool:
        """Whether a line belongs to a comment or to a block of code."""
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
            return True
        if self._comment:
            self._end_comment(number, line)
            return True
        if line.startswith("<!--"):
            self._finish()
            self._comment = number
            self._end_comment(number, line[4:])
            return True
        fence = _FENCE.match(line)
        if fence:
            self._add_mistake(number, "code block", "cannot be remembered", "code within a line, in backticks")
            self._fence = fence[1]
        return fence is not None

    def _end_comment(self, number: int, line: str) -> None:
        _, end, rest = line.partition("-->")
        if end:
            self._comment = 0
            if rest.strip():
                self._add_mistake(number, "line", "goes on after a comment", "the text on a line of its own")

    def _read(self, number: int, line: str) -> None:
        if _RULE.fullmatch(line):
            self._finish()
        elif heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            self._finish()
            self._section_tags, self._in_list = [], False
            kept = [each for each in self._headings if each[0] < level]
            self._headings = [*kept, (level, to_one_line(heading[2] or ""))] if level > 1 else []
            if len(self._context) > MOST_CONTEXT:
                self._add_mistake(
                    number, "heading", "is too long", f"at most {MOST_CONTEXT} characters with those above it"
                )
        elif bullet := _BULLET.fullmatch(line):
            self._begin_bullet(number, bullet[1], bullet[2] or "")
        elif _NUMBERED.fullmatch(line):
            self._add_mistake(number, "line", "is part of a numbered list", "bullets that begin with `-`")
        elif tags := _TAGS.fullmatch(line):
            self._tag(number, tags[1], indented=line[:1].isspace())
        else:
            self._continue_text(number, line)

    def _begin_bullet(self, number: int, indent: str, text: str) -> None:
        if len(indent.expandtabs(4)) >= 2:
            self._add_mistake(
                number, "bullet", "stands within another", "one level of bullets, each a memory of its own"
            )
            return
        self._finish()
        self._in_list = True
        self._bullet = _Bullet(number, self._context, [text])

    def _tag(self, number: int, text: str, *, indented: bool) -> None:
        tags = [to_one_line(each) for each in text.split(",")]
        if self._bullet is not None and (indented or not self._after_blank):
            if self._bullet.tags:
                self._add_mistake(number, "tags", "are given twice", "one line `tags:` as the bullet's last")
            self._bullet.tags, self._bullet.is_closed = tags, True
        elif self._in_list:
            self._add_mistake(number, "tags", "stand below a list", "below the heading, or indented in their bullet")
        else:
            self._section_tags = [*self._section_tags, *tags]

    def _continue_text(self, number: int, line: str) -> None:
        """Continues a bullet as GitHub would show it, or prose."""
        bullet = self._bullet
        if bullet is None or (self._after_blank and not line[:1].isspace()):
            self._finish()
            if is_html(line):
                self._add_mistake(number, "line", "holds HTML, which hides things", "words, and comments of their own")
        elif bullet.is_closed:
            self._add_mistake(
                number, "line", "goes on after the tags of its bullet", "`tags:` as the bullet's last line"
            )
        else:
            bullet.lines.append(line)

    def _finish(self) -> None:
        """Ends the bullet."""
        bullet, self._bullet = self._bullet, None
        if bullet is None:
            return
        tags = tuple(dict.fromkeys([*self._section_tags, *bullet.tags]))
        for part, what, allowed in find_mistakes("\n".join(bullet.lines), bullet.context, tags):
            self._add_mistake(bullet.line, part, what, allowed)
        self._entries.append(MemoryFileEntry(bullet.line, to_one_line(" ".join(bullet.lines)), bullet.context, tags))

    def _find_repeated(self) -> None:
        first: dict[str, int] = {}
        for entry in self._entries:
            line = first.setdefault(entry.key, entry.line)
            if line != entry.line:
                self._add_mistake(entry.line, "text", f"is that of line {line} once more")

    @property
    def _context(self) -> str:
        return " › ".join(title for _, title in self._headings if title)

    def _add_mistake(self, line: int, part: str, what: str, allowed: str = "") -> None:
        self._mistakes.append(_mistake(line, part, what, allowed))


def _mistake(line: int, part: str, what: str, allowed: str = "") -> Mistake:
    return Mistake(line, 1, part, what, allowed)


@dataclass(frozen=True)
class LineMistake:
    """A mistake in a line.

    :param what: a sentence without its full stop.
    """

    line: int
    what: str


class ExportedMemory(Value):
    """An exported memory. An import requires only ``content``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = ""
    repository: str = ""
    scope: Scope = Field(default=Scope.repository, strict=False)
    kind: MemoryKind = Field(default=MemoryKind.semantic, strict=False)
    content: str
    context: str = ""
    tags: tuple[str, ...] = Field(default=(), strict=False)
    confidence: float | None = Field(default=None, ge=0, le=1)
    origin: Origin = Field(default=Origin.person, strict=False)
    source: str = Field(default="", max_length=1000)
    pinned: bool = True
    created_at: AwareDatetime | None = Field(default=None, strict=False)
    used_at: AwareDatetime | None = Field(default=None, strict=False)
    archived_at: AwareDatetime | None = Field(default=None, strict=False)
    archived_why: Archived | None = Field(default=None, strict=False)

    def to_memory(self, repository: RepositoryRef, named: str, now: datetime) -> Memory:
        """The memory as stored in a repository.

        :param named: the file it comes from.
        """
        came = to_one_line(self.source)
        return Memory(
            id=new_id(),
            installation_id=repository.installation_id,
            repository_id=repository.id,
            scope=self.scope,
            kind=self.kind,
            content=to_one_line(self.content),
            context=to_one_line(self.context),
            tags=tuple(dict.fromkeys(map(to_one_line, self.tags))),
            confidence=self.origin.confidence if self.confidence is None else self.confidence,
            origin=self.origin,
            source=f"imported from {named}{f'; there: {came}' if came else ''}"[:1000],
            pinned=self.pinned,
            created_at=self.created_at or now,
            used_at=self.used_at or self.created_at or now,
        )


def dump_line(memory: Memory, full_name: str) -> str:
    """A memory as one line of ASCII, safe for terminals and without our secrets."""
    own = {"installation_id", "repository_id"}
    fields = memory.model_dump(mode="json", exclude=own)
    ordered = {name: fields.get(name, full_name) for name in ExportedMemory.model_fields}
    return json.dumps(PROCESS_REDACTOR.redact_values(ordered))


def parse_lines(lines: Iterable[str], now: datetime) -> tuple[Sequence[ExportedMemory], Sequence[LineMistake]]:
    """Parses the memories of a file; returns none if there is a mistake. Skips empty lines."""
    found: list[ExportedMemory] = []
    mistakes: list[LineMistake] = []
    for number, text in enumerate(lines, 1):
        if number > MOST_LINES:
            mistakes.append(LineMistake(number, f"there are more than {MOST_LINES:,} lines"))
            break
        if not text.strip():
            continue
        line = _parse_line(text, now)
        if isinstance(line, ExportedMemory):
            found.append(line)
        else:
            mistakes.append(LineMistake(number, line))
    return ([], mistakes) if mistakes else (found, [])


def _parse_line(text: str, now: datetime) -> ExportedMemory | str:
    """Parses a line, or returns its mistake."""
    if len(text) > LONGEST_LINE:
        return f"it has {len(text):,} characters; at most {LONGEST_LINE:,}"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(value, dict):
        return "it is not a JSON object"
    try:
        line = ExportedMemory.model_validate(value)
    except ValidationError as error:
        return _describe_error(error.errors(include_url=False, include_input=False)[0])
    return next(_find_mistakes(line, now), line)


def _find_mistakes(line: ExportedMemory, now: datetime) -> Iterator[str]:
    for part, what, allowed in find_mistakes(line.content, line.context, line.tags):
        name = {"text": "content", "tag": "tags"}.get(part, part)
        yield f"`{name}` {what}{f'; {allowed}' if allowed else ''}"
    for name, moment in (("created_at", line.created_at), ("used_at", line.used_at)):
        if moment is not None and moment > now:
            yield f"`{name}` is in the future"


def _describe_error(error: Mapping[str, Any]) -> str:
    name = ".".join(map(str, error["loc"]))
    match error["type"]:
        case "missing":
            return f"`{name}` is missing"
        case "extra_forbidden":
            return f"`{name[:60]}` is not a field; there are {', '.join(ExportedMemory.model_fields)}"
        case "enum":
            return f"`{name}` is none of {error['ctx']['expected']}"
        case _:
            return f"`{name}`: {str(error['msg'])[:1].lower()}{str(error['msg'])[1:]}"
