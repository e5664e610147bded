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

import re
from dataclasses import dataclass, field

from domain.config.mistakes import MAX_MISTAKES, Mistake
from domain.memories.memory import MOST_CONTEXT, find_mistakes, is_html, make_content_key, to_one_line

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
            self._begin_section(number, len(heading[1]), heading[2] or "")
        elif bullet := _BULLET.fullmatch(line):
            self._begin_bullet(number, bullet[1], bullet[2] or "")
        elif _NUMBERED.fullmatch(line):
            self._add_mistake(number, "line", "is part of a numbered list", "bullets that begin with `-`")
        elif tags := _TAGS.fullmatch(line):
            self._tag(number, tags[1], indented=line[:1].isspace())
        else:
            self._continue_text(number, line)

    def _begin_section(self, number: int, level: int, title: str) -> None:
        self._finish()
        self._section_tags, self._in_list = [], False
        kept = [each for each in self._headings if each[0] < level]
        self._headings = [*kept, (level, to_one_line(title))] if level > 1 else []
        if len(self._context) > MOST_CONTEXT:
            self._add_mistake(
                number, "heading", "is too long", f"at most {MOST_CONTEXT} characters with those above it"
            )

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
