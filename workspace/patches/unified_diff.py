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
_INDEX = re.compile(rb"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: ([0-7]{6}))?")
_END_MARK = b"\\ No newline at end of file"
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})|\\')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))

_FIRST = "Begin each file with a line “diff --git a/PATH b/PATH”, and write nothing before, between or after the files."
_NO_RENAME = "Write a renamed file as two: the old path deleted, the new path with its whole content."
_NO_MODE = "Leave the modes of files as they are."
_ALIKE = "Write the same path, relative to the root of the repository, wherever the header names it: a/PATH and b/PATH."
_COUNTS = "Count the lines of the hunk again: “@@ -START,LINES +START,LINES @@” counts context on both sides."
_TEXT_ONLY = "Leave binary files as they are; only text can be changed."


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """One hunk; its lines keep their line feeds.

    :param line: where it begins in the diff, counted from 1.
    :param old_start: as its header says, like ``new_start``; the lengths are those of its lines.
    :param lines: (mark, content); the mark is a space, a plus or a minus.
    :param miscounted: the numbers of its header, and how many lines it has, where these differ; else empty.
    """

    line: int
    old_start: int
    old_length: int
    new_start: int
    new_length: int
    lines: tuple[tuple[bytes, bytes], ...]
    miscounted: str = ""

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
        begins = self.at
        self.path = ""
        line = self.line()
        if line.endswith(b"\r"):
            self.refuse("syntax", "the lines of the diff end with CRLF.", "End them with LF; content keeps its own.")
        if line.startswith(b"diff --git "):
            return self._git_file(begins)
        if not line.startswith(b"--- "):
            if line.startswith((b"diff --cc ", b"diff --combined ", b"@@@")):
                self.refuse("syntax", "a combined diff of a merge is not taken.", "Write a diff against one version.")
            if line[:1] in {b" ", b"+", b"-", b"@", b"\\"}:
                self.refuse("syntax", f"{_quote_start(line)} is beyond what the hunk's header counts.", _COUNTS)
            self.refuse("syntax", f"{_quote_start(line)} does not begin a file.", _FIRST)
        return self._plain_file(begins)

    def _git_file(self, begins: int) -> FilePatch:
        name = self._both_names(self.line().removeprefix(b"diff --git "))
        self.at += 1
        new_mode, is_gone = self._modes()
        if not self.line().startswith(b"--- "):
            # An empty file that is added or deleted.
            if not new_mode and not is_gone:
                self.refuse("syntax", f"{_quote_start(self.line())} where “--- a/{self.path}” belongs.", _FIRST)
            return FilePatch(begins + 1, self.path, new_mode, is_gone, ())
        old, new = self._sides()
        expected = (NOWHERE if new_mode else b"a/" + name, NOWHERE if is_gone else b"b/" + name)
        if (old, new) != expected:
            self.refuse("syntax", self._odd_sides(old, new, new_mode, is_gone), _ALIKE, begins)
        return FilePatch(begins + 1, self.path, new_mode, is_gone, self._hunks())

    def _odd_sides(self, old: bytes, new: bytes, new_mode: str | None, is_gone: bool) -> str:
        if old == NOWHERE and not new_mode:
            return "the file is new, but its header has no line “new file mode 100644”."
        if new == NOWHERE and not is_gone:
            return "the file is deleted, but its header has no line “deleted file mode 100644”."
        return f"{_quote_start(b'--- ' + old)} and {_quote_start(b'+++ ' + new)} do not go with the lines above them."

    def _plain_file(self, begins: int) -> FilePatch:
        """A file without the line ``diff --git``."""
        old, new = self._sides()
        if old == new == NOWHERE:
            self.refuse("syntax", "both sides are /dev/null.", _ALIKE, begins)
        names = {side[2:] for side in (old, new) if side != NOWHERE}
        if len(names) > 1 or (old != NOWHERE and old[:2] != b"a/") or (new != NOWHERE and new[:2] != b"b/"):
            shown = f"{_quote_start(b'--- ' + old)} and {_quote_start(b'+++ ' + new)}"
            self.refuse("syntax", f"{shown} are not one path.", _ALIKE, begins)
        self._set_path(names.pop(), begins)
        if any(character.isspace() for character in self.path):
            self.refuse("syntax", "a path with a space needs the line “diff --git”.", _FIRST, begins)
        new_mode = REGULAR if old == NOWHERE else None
        found = self._hunks()
        self._require_lines(old, sum(hunk.old_length for hunk in found), begins)
        self._require_lines(new, sum(hunk.new_length for hunk in found), begins)
        return FilePatch(begins + 1, self.path, new_mode, new == NOWHERE, found)

    def _require_lines(self, side: bytes, lines: int, begins: int) -> None:
        """Without ``diff --git``, git treats a side without lines as a file that does not exist."""
        if side != NOWHERE and not lines:
            self.refuse("syntax", "without “diff --git”, a file needs a line on either side.", _FIRST, begins)

    def _both_names(self, names: bytes) -> bytes:
        """The one path of ``a/PATH b/PATH``."""
        half = len(names) // 2
        first, second = names[:half], names[half + 1 :]
        if names[half : half + 1] != b" " or first.startswith(b'"') is not second.startswith(b'"'):
            self.refuse("syntax", f"{_quote_start(names)} names two paths.", _NO_RENAME)
        first, second = self._unquote(first), self._unquote(second)
        if first[:2] != b"a/" or second[:2] != b"b/" or first[2:] != second[2:]:
            self.refuse("syntax", f"{_quote_start(names)} is not “a/PATH b/PATH” with one path.", _NO_RENAME)
        self._set_path(first[2:], self.at)
        return first[2:]

    def _set_path(self, name: bytes, line: int) -> None:
        try:
            self.path = name.decode()
        except UnicodeDecodeError:
            self.path = to_printable(name)
            self.refuse("path", "the path is not UTF-8.", "Choose a path that is.", line)

    def _sides(self) -> tuple[bytes, bytes]:
        old = self._side(b"--- ")
        return old, self._side(b"+++ ")

    def _side(self, mark: bytes) -> bytes:
        line = self.line()
        if not line.startswith(mark):
            self.refuse("syntax", f"{_quote_start(line)} where “{mark.decode()}” belongs.", _FIRST)
        name, _, time = line[len(mark) :].partition(b"\t")
        if time:
            self.refuse("syntax", "a path is followed by something else.", "Write nothing after the path.")
        name = self._unquote(name)
        self.at += 1
        return name

    def _unquote(self, name: bytes) -> bytes:
        """A name without git's quotation marks, if it has them."""
        if not name.startswith(b'"'):
            return name
        if len(name) < 2 or not name.endswith(b'"') or _is_cut(name[1:-1]):
            self.refuse("syntax", f"the quotation marks of {_quote_start(name)} are not closed.", _ALIKE)
        return _ESCAPE.sub(_unescape, name[1:-1])

    def _modes(self) -> tuple[str | None, bool]:
        """The lines between ``diff --git`` and ``---``: mode of a new file, whether it is deleted."""
        new_mode, is_gone, seen = None, False, set[bytes]()
        while (kind := _kind(self.line())) is not None:
            if kind in seen or {kind, *seen} >= {b"new file mode ", b"deleted file mode "}:
                self.refuse("syntax", f"{_quote_start(self.line())} contradicts a line before it.", _FIRST)
            seen.add(kind)
            mode = self._mode(kind)
            new_mode = mode if kind == b"new file mode " else new_mode
            is_gone = is_gone or kind == b"deleted file mode "
            self.at += 1
        return new_mode, is_gone

    def _mode(self, kind: bytes) -> str | None:
        line = self.line()
        match = _INDEX.fullmatch(line) if kind == b"index " else re.fullmatch(re.escape(kind) + rb"(\d{6})", line)
        if kind not in _TAKEN:
            self.refuse(*_REFUSED[kind])
        if match is None:
            self.refuse(
                "syntax", f"{_quote_start(line)} is not complete.", f"Write “{kind.decode()}…” in full or not at all."
            )
        mode = None if match[1] is None else match[1].decode()
        if mode in {LINK, MODULE}:
            what = "a symlink" if mode == LINK else "a submodule"
            self.refuse("mode", f"{what} is neither made, changed nor deleted.", "Change regular files only.")
        if mode not in {None, REGULAR, EXECUTABLE}:
            self.refuse("mode", f"{mode} is not the mode of a regular file.", "Write 100644.")
        return mode

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
        miscounted = ""
        lines = self._read_counted(old_length, new_length)
        if lines is None:
            self.at = begins + 1
            lines = self._read_to_header()
            old, new = (sum(mark != other for mark, _ in lines) for other in (b"+", b"-"))
            miscounted = f"says -{old_length} +{new_length}, but the hunk has -{old} +{new} lines"
            if _is_ambiguous(lines) or self.line().startswith(b"\\"):
                self.refuse("syntax", f"its header {miscounted}.", _COUNTS, begins)
            old_length, new_length = old, new
        if all(mark == b" " for mark, _ in lines):
            self.refuse("syntax", "the hunk changes nothing.", "Leave it out.", begins)
        return PatchHunk(begins + 1, old_start, old_length, new_start, new_length, lines, miscounted)

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


_TAKEN = (b"new file mode ", b"deleted file mode ", b"index ")
_Refused = tuple[Constraint, str, str]
_MODE_CHANGE: _Refused = ("mode", "the mode of a file is not changed.", _NO_MODE)
_RENAME: _Refused = ("syntax", "renames and copies are not taken.", _NO_RENAME)
_BINARY: _Refused = ("syntax", "a binary file cannot be changed.", _TEXT_ONLY)
_REFUSED = {
    b"old mode ": _MODE_CHANGE,
    b"new mode ": _MODE_CHANGE,
    b"rename ": _RENAME,
    b"copy ": _RENAME,
    b"similarity index ": _RENAME,
    b"dissimilarity index ": _RENAME,
    b"GIT binary patch": _BINARY,
    b"Binary files ": _BINARY,
}


def _kind(line: bytes) -> bytes | None:
    """The kind of a line of a header; None if it is none."""
    return next((kind for kind in (*_TAKEN, *_REFUSED) if line.startswith(kind)), None)


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
