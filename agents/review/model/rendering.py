"""Renders changed files for a model: with head line numbers and a little context, without secrets or hidden text."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.llm.tokens import estimate
from domain.review.changes import ChangeStatus, FileChange, Hunk
from domain.text.credential_shapes import find_key_lines
from domain.text.escaping import strip_invisible

WITHHELD = "[withheld: holds a credential]"
LONGEST_LINE = 1000  # characters; generated code has longer ones
_REMOVED_AT_ONCE = 60  # removed lines shown of one run if there is no room for more
_OWN = frozenset({"+", "-"})
_AROUND = 8  # the most lines of context on either side of a hunk, beyond the diff's own
_HEADERS = 3  # lines of enclosing functions and classes
_OPENS_A_BLOCK = re.compile(
    r"\b(class|def|func|function|fn|impl|interface|struct|trait|module|namespace|enum|type)\b|[{:(]\s*$"
)

Redact = Callable[[str], str]


@dataclass(frozen=True)
class Line:
    """One line as shown: its number at head (None: removed), its sign and its text."""

    number: int | None
    sign: str
    text: str

    def __str__(self) -> str:
        return f"{self.number or ''}{self.sign}{self.text}"


ELISION = Line(None, "", "…")


@dataclass(frozen=True)
class RenderedFile:
    """A file, or a part of one, as a model sees it.

    :param lines: head numbers of the diff's own lines in it; a finding must name one of them.
    :param is_whole: every added and every removed line is fully shown.
    """

    path: str
    text: str
    tokens: int
    lines: tuple[int, ...]
    is_whole: bool = True


def render(
    file: FileChange,
    hunks: Sequence[Hunk],
    head: Sequence[str] | None,
    *,
    withheld: Collection[int],
    redact: Redact,
    allowance: int,
    brief: bool = False,
) -> RenderedFile:
    """Render some hunks of a file.

    :param head: the file's lines at head; None if they are unknown, so that there is no context.
    :param withheld: head lines whose text must not be shown.
    :param allowance: tokens that context beyond the diff may cost.
    :param brief: show only the beginning of a long run of removed lines.
    """
    hunks, is_all = _shorten_hunks(hunks) if brief else (hunks, True)
    chosen = _lay_out(hunks, head, 0, ())
    if head is not None and file.status is not ChangeStatus.added:
        most = _cost(chosen) + allowance
        headers = tuple(number for hunk in hunks for number in find_enclosing(head, hunk.new_start))
        wider = (_lay_out(hunks, head, around, headers) for around in range(_AROUND, -1, -1))
        chosen = next((lines for lines in wider if _cost(lines) <= most), chosen)
    written = list(_render_lines(chosen, withheld, redact))
    text = "\n".join([render_title(file), *(each for each, _ in written)])
    is_whole = is_all and all(whole for line, (_, whole) in zip(chosen, written, strict=True) if line.sign in _OWN)
    lines = tuple(new for hunk in hunks for _, new, _ in hunk.number_lines() if new is not None)
    return RenderedFile(file.path, text, estimate(text), lines, is_whole)


def excerpt(head: Sequence[str], lines: Collection[int], file: FileChange | None) -> list[Line]:
    """Some head lines of a file; added lines are marked, and removed lines stand before the line that follows them."""
    added = {} if file is None else file.added_lines
    removed = {} if file is None else _map_removed(file.hunks)
    shown: list[Line] = []
    last = 0
    for number in sorted(number for number in lines if 0 < number <= len(head)):
        if last and number != last + 1:
            shown.append(ELISION)
        shown += (Line(None, "-", text) for text in removed.get(number, ())[:_REMOVED_AT_ONCE])
        shown.append(Line(number, "+" if number in added else " ", head[number - 1]))
        last = number
    return shown


def _map_removed(hunks: Sequence[Hunk]) -> dict[int, list[str]]:
    """Head line → lines that were removed right before it."""
    removed: dict[int, list[str]] = {}
    for hunk in hunks:
        at = hunk.new_start + (hunk.new_length == 0)
        for _, new, text in hunk.number_lines():
            if new is None:
                removed.setdefault(at, []).append(text)
            else:
                at = new + 1
    return removed


def find_enclosing(head: Sequence[str], start: int) -> tuple[int, ...]:
    """The numbers of the lines that open the blocks around a line: a few at most, the outermost first."""
    text = next((line for line in head[start - 1 :] if line.strip()), "")
    depth = _indentation(text)
    found: list[int] = []
    for number in range(min(start - 1, len(head)), 0, -1):
        line = head[number - 1]
        if not line.strip() or _indentation(line) >= depth or not _OPENS_A_BLOCK.search(line):
            continue
        depth = _indentation(line)
        found.append(number)
        if depth == 0 or len(found) == _HEADERS:
            break
    return tuple(reversed(found))


def render_safely(lines: Sequence[Line], withheld: Collection[int], redact: Redact) -> Iterator[str]:
    """The lines as text of bounded length, without credentials or hidden characters."""
    return (text for text, _ in _render_lines(lines, withheld, redact))


def _render_lines(lines: Sequence[Line], withheld: Collection[int], redact: Redact) -> Iterator[tuple[str, bool]]:
    """Each line as text, and whether that is all of it."""
    keys = _find_key_lines(lines)
    for index, line in enumerate(lines):
        own = make_legible(line.text)
        text = WITHHELD if index in keys or line.number in withheld else redact(own)
        shown = text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "…"
        yield str(Line(line.number, line.sign, shown)), shown == own


def _find_key_lines(lines: Sequence[Line]) -> set[int]:
    """The places of lines that hold a part of a private key, at head or before the change."""
    found: set[int] = set()
    for other in "+-":
        side = [index for index, line in enumerate(lines) if line.sign != other]
        texts = ["" if lines[index] is ELISION else lines[index].text for index in side]
        found.update(side[place - 1] for place in find_key_lines(texts))
    return found


def make_legible(text: str) -> str:
    """One line in which invisible characters become visible code points, because they can change a program."""
    text = text.removesuffix("\r")
    if strip_invisible(text) == text:
        return text
    return "".join(each if strip_invisible(each) == each else f"<U+{ord(each):04X}>" for each in text)


def render_title(file: FileChange) -> str:
    """The heading of a file."""
    told = f" ({file.status.value})" if file.status is not ChangeStatus.modified else ""
    moved = f", was {clean_name(file.old_path)}" if file.old_path not in {None, file.path} else ""
    return f"== {clean_name(file.path)}{told}{moved}"


def clean_name(name: str | None) -> str:
    """An untrusted name on one line."""
    return " ".join(strip_invisible(name or "").split())[:300]


def _cost(lines: Sequence[Line]) -> int:
    return sum(estimate(str(line)[:LONGEST_LINE]) + 1 for line in lines)


def _lay_out(hunks: Sequence[Hunk], head: Sequence[str] | None, around: int, headers: Collection[int]) -> list[Line]:
    """The lines of the hunks, with context of the file between them, in order."""
    lines: list[Line] = []
    last = 0  # the last head line shown
    for index, hunk in enumerate(hunks):
        following = hunks[index + 1].new_start if index + 1 < len(hunks) else (len(head) + 1 if head else 0)
        start = hunk.new_start + (hunk.new_length == 0)
        before = range(max(last + 1, start - around), start)
        opening = [number for number in headers if last < number < before.start]
        for number in sorted({*opening, *before}):
            last = _add(lines, last, Line(number, " ", head[number - 1] if head else ""))
        for line in _list_lines(hunk):
            last = _add(lines, last, line)
        end = start + hunk.new_length
        for number in range(end, min(end + around, following)):
            last = _add(lines, last, Line(number, " ", head[number - 1] if head else ""))
    return lines


def _add(lines: list[Line], last: int, line: Line) -> int:
    """Append a line, after an elision if lines are missing before it. Returns the last head line shown."""
    if line.number is None:
        lines.append(line)
        return last
    if last and line.number != last + 1:
        lines.append(ELISION)
    lines.append(line)
    return line.number


def _list_lines(hunk: Hunk) -> Iterator[Line]:
    for old, new, text in hunk.number_lines():
        if new is None:
            yield Line(None, "-", text)
        else:
            yield Line(new, " " if old is not None else "+", text)


def _shorten_hunks(hunks: Sequence[Hunk]) -> tuple[list[Hunk], bool]:
    """The hunks with only the beginning of each long run of removed lines, and whether nothing was cut."""
    kept = [hunk.model_copy(update={"lines": tuple(_keep_beginnings(hunk.lines))}) for hunk in hunks]
    return kept, all(short.lines == hunk.lines for short, hunk in zip(kept, hunks, strict=True))


def _keep_beginnings(lines: Sequence[str]) -> Iterator[str]:
    run = 0
    for line in lines:
        run = run + 1 if line.startswith("-") else 0
        if run <= _REMOVED_AT_ONCE:
            yield line
        elif run == _REMOVED_AT_ONCE + 1:
            yield "-… more removed lines"


def _indentation(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))
