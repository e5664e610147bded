"""Parses unified diffs strictly: whatever could be understood in two ways is refused.

Lines end at a line feed only, so that a carriage return stays part of its content. Models miscount: where a header does
not fit its hunk, the lines up to the next header are the hunk.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from domain.runs.patches import EXECUTABLE, REGULAR, Constraint
from workspace.diff import LINK, MODULE, to_printable
from workspace.patches.refusals import refusal

NOWHERE = b"/dev/null"
_NUMBER = rb"(0|[1-9]\d{0,8})"
_HUNK = re.compile(rb"@@ -%b(?:,%b)? \+%b(?:,%b)? @@(?: .*)?" % ((_NUMBER,) * 4))
_END_MARK = b"\\ No newline at end of file"
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})|\\')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))

_HEADER = re.compile(
    rb'(?:diff --git (?P<quote>"?)a/(?P<name>[^\r\n]{0,5000})(?P=quote) (?P=quote)b/(?P=name)(?P=quote)\n'
    rb"(?:new file mode (?P<made>\d{6})\n|deleted file mode (?P<gone>\d{6})\n)?"
    rb"(?:index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: (?P<kept>\d{6}))?\n)?)?"
    rb"(?:--- (?P<old>[^\t\r\n]+)\t?\n\+\+\+ (?P<new>[^\t\r\n]+)\t?\n)?"
)
_LONGEST_HEADER = 5  # lines

_FIRST = "Begin each file with a line “diff --git a/PATH b/PATH”, and write nothing before, between or after the files."
_NO_RENAME = "Write a renamed file as two: the old path deleted, the new path with its whole content."
_ALIKE = (
    "Write the same path, relative to the root of the repository, wherever the header names it: a/PATH and b/PATH. "
    "“--- /dev/null” needs a line “new file mode 100644”, “+++ /dev/null” a line “deleted file mode 100644”."
)
_COUNTS = "Count the lines of the hunk again: “@@ -START,LINES +START,LINES @@” counts context on both sides."
_TEXT_ONLY = "Leave binary files as they are; only text can be changed."
_ONE_BASE = "Write a diff against one version."

_REFUSED: tuple[tuple[bytes, Constraint, str, str], ...] = (
    (rb".*\r$", "syntax", "ends with CRLF", "End the lines of the diff with LF; content keeps its own."),
    (rb"diff --(?:cc|combined) |@@@", "syntax", "is of a combined diff of a merge", _ONE_BASE),
    (rb"(?:old|new) mode ", "mode", "changes the mode of a file", "Leave the modes of files as they are."),
    (rb"rename |copy |(?:dis)?similarity ", "syntax", "is of a rename or a copy, which are not taken", _NO_RENAME),
    (rb"GIT binary patch|Binary files ", "syntax", "is of a binary file, which cannot be changed", _TEXT_ONLY),
    (rb"(?:new|deleted) file mode |index ", "syntax", "is not complete, or contradicts a line before it", _FIRST),
    (rb"diff --git ", "syntax", "does not name one path as “a/PATH b/PATH”", _NO_RENAME),
    (rb"--- |\+\+\+ ", "syntax", "is not one of “--- a/PATH” and “+++ b/PATH” with nothing behind the path", _ALIKE),
    (rb"[ +@\\-]", "syntax", "is beyond what the hunk's header counts", _COUNTS),
    (rb"", "syntax", "stands where a file or its line “--- a/PATH” belongs", _FIRST),
)
"""How a line begins that no header has in this place, and why it is refused: the first that fits."""


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """One hunk; its lines keep their line feeds.

    :param line: where it begins in the diff, counted from 1.
    :param old_start: as its header says, like ``new_start``.
    :param lines: (mark, content); the mark is a space, a plus or a minus.
    :param miscounted: whether its header counts other lines.
    """

    line: int
    old_start: int
    new_start: int
    lines: tuple[tuple[bytes, bytes], ...]
    miscounted: bool

    @property
    def old(self) -> list[bytes]:
        return [text for mark, text in self.lines if mark != b"+"]

    @property
    def new(self) -> list[bytes]:
        return [text for mark, text in self.lines if mark != b"-"]

    @property
    def ends_in_context(self) -> bool:
        return self.lines[-1][0] == b" "


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The part of a diff about one file.

    :param line: where it begins in the diff, counted from 1.
    :param path: as it is written, not yet judged.
    :param new_mode: of a new file, six octal digits; None if the file is not new.
    """

    line: int
    path: str
    new_mode: str | None
    is_gone: bool
    hunks: tuple[PatchHunk, ...]


def read(diff: bytes) -> list[FilePatch]:
    """The files of a diff, at least one.

    :raises PatchRefused: anything in it is not exactly what a diff of text files needs.
    """
    if b"\0" in diff:
        raise refusal("", "syntax", "The diff holds a NUL character, so it is not text.", _TEXT_ONLY)
    if not diff.strip(b"\n"):
        raise refusal("", "syntax", "The diff is empty.", _FIRST)
    if not diff.endswith(b"\n"):
        raise refusal(
            "", "syntax", "The last line of the diff is not ended, so part of it may be missing.", "Write it all again."
        )
    return list(_Reader(diff[:-1].split(b"\n")).files())


class _Reader:
    """Goes through the lines of a diff once."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.end = max(number for number, line in enumerate(lines, 1) if line)
        self.at = 0
        self.path = ""

    def files(self) -> Iterator[FilePatch]:
        while self.at < self.end:  # empty lines at the end mean nothing
            yield self._file()

    def refuse(self, constraint: Constraint, message: str, suggestion: str, line: int | None = None) -> NoReturn:
        """Refuse the diff.

        :param line: counted from 0; the current one by default.
        """
        number = (self.at if line is None else line) + 1
        raise refusal(self.path, constraint, f"Line {number} of the diff: {message}", suggestion)

    def line(self) -> bytes:
        """The current line; empty past the end."""
        return self.lines[self.at] if self.at < len(self.lines) else b""

    # --- header ---

    def _file(self) -> FilePatch:
        begins, self.path = self.at, ""
        header = _HEADER.match(b"\n".join(self.lines[self.at : self.at + _LONGEST_HEADER]) + b"\n")
        if header is None or not header[0] or header["old"] == header["new"] == NOWHERE:
            self._refuse_line()
        is_plain = header["name"] is None
        old, new = (None if side is None else self._unquote(side) for side in header.group("old", "new"))
        is_new = old == NOWHERE if is_plain else header["made"] is not None
        is_gone = new == NOWHERE if is_plain else header["gone"] is not None
        side = header["new" if is_new else "old"]
        name = self._unquote(side if is_plain else header["quote"] + b"a/" + header["name"] + header["quote"])[2:]
        self._set_path(name)
        sides = (NOWHERE if is_new else b"a/" + name, NOWHERE if is_gone else b"b/" + name)
        if (old, new) not in {sides, (None, None)}:
            self.refuse("syntax", "the lines of the header do not go together, or name two paths.", _ALIKE)
        self._check_modes(header)
        self.at += header[0].count(b"\n")
        if old is None and not is_new and not is_gone:
            self._refuse_line()
        hunks = () if old is None else self._hunks()
        if is_plain:
            self._check_plain(is_new, is_gone, hunks, begins)
        new_mode = (header["made"] or REGULAR.encode()).decode() if is_new else None
        return FilePatch(begins + 1, self.path, new_mode, is_gone, hunks)

    def _refuse_line(self) -> NoReturn:
        line = self.line()
        _, constraint, text, advice = next(row for row in _REFUSED if re.match(row[0], line))
        self.refuse(constraint, f"{_quote_start(line)} {text}.", advice)

    def _set_path(self, name: bytes) -> None:
        try:
            self.path = name.decode()
        except UnicodeDecodeError:
            self.path = to_printable(name)
            self.refuse("path", "the path is not UTF-8.", "Choose a path that is.")

    def _check_modes(self, header: re.Match[bytes]) -> None:
        for mode in filter(None, header.group("made", "gone", "kept")):
            if mode.decode() in {LINK, MODULE}:
                message = "a symlink or a submodule is neither made, changed nor deleted."
                self.refuse("mode", message, "Change regular files only.")
            if mode.decode() not in {REGULAR, EXECUTABLE}:
                self.refuse("mode", f"{mode.decode()} is not the mode of a regular file.", "Write 100644.")

    def _check_plain(self, is_new: bool, is_gone: bool, hunks: Sequence[PatchHunk], begins: int) -> None:
        """Without ``diff --git``, git ends a path at a space, and takes a side without lines for no file."""
        if any(character.isspace() for character in self.path):
            self.refuse("syntax", "a path with a space needs the line “diff --git”.", _FIRST, begins)
        if not (is_new or any(hunk.old for hunk in hunks)) or not (is_gone or any(hunk.new for hunk in hunks)):
            self.refuse("syntax", "without “diff --git”, a file needs a line on either side.", _FIRST, begins)

    def _unquote(self, name: bytes) -> bytes:
        """A name without git's quotation marks, if it has them."""
        if not name.startswith(b'"'):
            return name
        if len(name) < 2 or not name.endswith(b'"') or _is_cut(name[1:-1]):
            self.refuse("syntax", f"the quotation marks of {_quote_start(name)} are not closed.", _ALIKE)
        return _ESCAPE.sub(_unescape, name[1:-1])

    # --- hunks ---

    def _hunks(self) -> tuple[PatchHunk, ...]:
        hunks: list[PatchHunk] = []
        while self.line().startswith(b"@@"):
            hunks.append(self._hunk())
        if not hunks:
            self.refuse("syntax", f"{_quote_start(self.line())} where a hunk “@@ -1,3 +1,4 @@” belongs.", _COUNTS)
        return tuple(hunks)

    def _hunk(self) -> PatchHunk:
        begins = self.at
        header = _HUNK.fullmatch(self.line())
        if header is None:
            self.refuse("syntax", f"{_quote_start(self.line())} is not the header of a hunk.", _COUNTS)
        old_start, old_length, new_start, new_length = (1 if part is None else int(part) for part in header.groups())
        self.at += 1
        lines = self._read_counted(old_length, new_length)
        miscounted = lines is None
        if lines is None:
            self.at = begins + 1
            lines = self._read_to_header()
            if _is_ambiguous(lines) or self.line().startswith(b"\\"):
                self.refuse("syntax", "the hunk has other lines than its header counts.", _COUNTS, begins)
        hunk = PatchHunk(begins + 1, old_start, new_start, lines, miscounted)
        if all(mark == b" " for mark, _ in lines):
            self.refuse("syntax", "the hunk changes nothing.", "Leave it out.", begins)
        if any(not text.endswith(b"\n") for side in (hunk.old, hunk.new) for text in side[:-1]):
            advice = "Write “\\ No newline at end of file” after the last line of the file only."
            self.refuse("syntax", "a line without a line feed is followed by another one.", advice, begins)
        return hunk

    def _read_counted(self, old_left: int, new_left: int) -> tuple[tuple[bytes, bytes], ...] | None:
        """The lines of a hunk, counted by its header, so that their content cannot end it early.

        None if the header miscounts: one of them is no line of a hunk, or the hunk goes on after them.
        """
        lines: list[tuple[bytes, bytes]] = []
        while old_left or new_left:
            mark, text = self._content()
            old_left -= mark != b"+"
            new_left -= mark != b"-"
            if old_left < 0 or new_left < 0 or not mark:
                return None
            lines.append((mark, text))
        goes_on = self.line()[:1] in {b" ", b"+", b"-"} and not self._begins_plain_file()
        return None if goes_on else tuple(lines)

    def _read_to_header(self) -> tuple[tuple[bytes, bytes], ...]:
        """The lines up to what no hunk holds; empty ones at the end of the diff mean nothing."""
        lines: list[tuple[bytes, bytes]] = []
        while self.at < self.end and not self.line().startswith((b"@@", b"diff --git ")):
            mark, text = self._content()
            if not mark:
                break
            lines.append((mark, text))
        return tuple(lines)

    def _begins_plain_file(self) -> bool:
        """Whether a file without the line ``diff --git`` may begin here."""
        below = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else b""
        return self.line().startswith(b"--- ") and below.startswith(b"+++ ")

    def _content(self) -> tuple[bytes, bytes]:
        """One line of a hunk: its mark, empty if it is none, and its content."""
        if self.at >= len(self.lines):
            return b"", b""
        line = self.line() or b" "  # an empty line of context often loses its space, and git accepts that
        if line[:1] not in {b" ", b"+", b"-"}:
            return b"", b""
        self.at += 1
        if self.line() == _END_MARK:
            self.at += 1
            return line[:1], line[1:]
        return line[:1], line[1:] + b"\n"


def _is_ambiguous(lines: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether lines of an uncounted hunk may be the header of a file without ``diff --git``, or the end of a mail."""
    begins_file = any(
        first == b"-" and old.startswith(b"-- ") and second == b"+" and new.startswith(b"++ ")
        for (first, old), (second, new) in pairwise(lines)
    )
    return begins_file or (b"-", b"- \n") in lines


def _is_cut(quoted: bytes) -> bool:
    """Whether a quotation mark stands alone, or a backslash escapes nothing."""
    rest = _ESCAPE.sub(lambda match: b"\\" if match[1] is None else b"", quoted)
    return b'"' in rest or b"\\" in rest


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) if len(code) == 3 else _ESCAPED[code[0]]])


def _quote_start(line: bytes) -> str:
    """The beginning of a line, made printable."""
    return f"“{to_printable(line[:80])}”" if line else "the end of the diff or an empty line"
