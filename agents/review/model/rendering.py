"""Renders changed files for a model: with head line numbers and a little context, without secrets or hidden text."""

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.llm.prices import estimate
from agents.review.model.moved_code import NO_MOVES, MovedBlock, Moves
from domain.paths import clean_name
from domain.review.changes import ChangeStatus, FileChange, Hunk
from domain.review.reading import NO_OUTLINE, FunctionSpan, Outline
from domain.text.credential_shapes import find_key_lines
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing

WITHHELD = "[withheld: holds a credential]"
LONGEST_LINE = 1000  # characters; generated code has longer ones
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_UNREADABLE = f" (not in UTF-8: {_REPLACED} stands for what could not be read; replace no line that has it)"
_REMOVED_AT_ONCE = 60  # removed lines shown of one run if there is no room for more
_OWN = frozenset({"+", "-"})
_AROUND = 8  # the most lines of context on either side of a hunk, beyond the diff's own
_HEADERS = 3  # lines of enclosing functions and classes
LONGEST_FUNCTION = 100  # lines of one that is shown whole
_LONGEST_SIGNATURE = 12
_OF_CALLED = 8  # lines of a function that a changed line calls
_AFTER_EXIT = 40  # lines that an added exit may skip, where the function is too long to be shown whole
_OPENS_A_BLOCK = re.compile(
    r"\b(class|def|func|function|fn|impl|interface|struct|trait|module|namespace|enum|type)\b|[{:(]\s*$"
)


@dataclass(frozen=True)
class Line:
    """One line as shown: its number at head (None: removed), its sign and its text.

    :param old: the number of a removed line before the change, where that matters.
    """

    number: int | None
    sign: str
    text: str
    old: int | None = None

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
    allowance: int,
    outline: Outline = NO_OUTLINE,
    brief: bool = False,
    moves: Moves = NO_MOVES,
) -> RenderedFile:
    """Render some hunks of a file.

    :param head: the file's lines at head; None if they are unknown, so that there is no context.
    :param withheld: head lines whose text must not be shown.
    :param allowance: tokens that context beyond the diff may cost.
    :param outline: what surrounds the changed lines.
    :param brief: show only the beginning of a long run of removed lines.
    :param moves: what the change moves: its lines are shown where they are now, with a note where they were.
    """
    chosen = _lay_out(hunks, head, ())
    if head is not None and file.status is not ChangeStatus.added:
        chosen = _add_context(chosen, hunks, head, outline, _cost(chosen) + allowance)
    written = list(zip(chosen, _render_lines(chosen, withheld), strict=True))
    kept = list(_mark_moves(file.path, [(line, text) for line, (text, _) in written], moves))
    is_whole = all(whole for line, (_, whole) in written if line.sign in _OWN)
    short = list(_shorten_runs(kept)) if brief else kept
    below = "\n".join(text for _, text in short)
    text = f"{render_title(file)}{_UNREADABLE if _REPLACED in below else ''}\n{below}"
    lines = tuple(new for hunk in hunks for _, new, _ in hunk.number_lines() if new is not None)
    return RenderedFile(file.path, text, estimate(text), lines, is_whole and short == kept)


def _mark_moves(path: str, shown: Iterable[tuple[Line, str]], moves: Moves) -> Iterator[tuple[Line, str]]:
    """The lines of a file without those that moved away, but with a note where they were, and before those that came.

    A note begins unlike any line of a file.
    """
    last: tuple[str, MovedBlock] | None = None
    for line, text in shown:
        block = _find_move(path, line, moves)
        if block is not None and (line.sign, block) != last:
            yield ELISION, redact_outgoing(_tell_where_to(block) if line.sign == "-" else _tell_where_from(block))
        last = None if block is None else (line.sign, block)
        if block is None:
            yield line, text
        elif line.sign == "+":
            yield line, text.replace("+", ">", 1)


def _find_move(path: str, line: Line, moves: Moves) -> MovedBlock | None:
    if line.sign == "-" and line.old is not None:
        return moves.removed.get((path, line.old))
    return moves.added.get((path, line.number)) if line.sign == "+" and line.number is not None else None


def _tell_where_to(block: MovedBlock) -> str:
    path, start = block.reached
    where = "" if path == block.left[0] else f" of {clean_name(path)}"
    return f"… {block.length} lines moved from here to {start}–{start + block.length - 1}{where}"


def _tell_where_from(block: MovedBlock) -> str:
    (left, old), (path, start) = block.left, block.reached
    where = f"line {old} before the change" if path == left else clean_name(block.old_path)
    by = f"{abs(block.deeper)} {'more' if block.deeper > 0 else 'less'}"
    indented = f" but indented by {by}" if block.deeper else ""
    return f"… {start}–{start + block.length - 1} (>) moved here from {where}, unchanged{indented}"


def _shorten_runs(shown: Iterable[tuple[Line, str]]) -> Iterator[tuple[Line, str]]:
    """The lines with only the beginning of each long run of removed ones."""
    run = 0
    for line, text in shown:
        run = run + 1 if line.sign == "-" else 0
        if run <= _REMOVED_AT_ONCE:
            yield line, text
        elif run == _REMOVED_AT_ONCE + 1:
            yield ELISION, "-… more removed lines"


def _add_context(
    lines: list[Line], hunks: Sequence[Hunk], head: Sequence[str], outline: Outline, most: int
) -> list[Line]:
    """The lines with as much context as fits, the most telling first.

    :param most: tokens of all lines together.
    """
    wanted = set[int]()
    for group in _list_context(hunks, head, outline):
        wider = _lay_out(hunks, head, wanted | set(group))
        if _cost(wider) <= most:
            lines, wanted = wider, wanted | set(group)
    return lines


def _list_context(hunks: Sequence[Hunk], head: Sequence[str], outline: Outline) -> Iterator[Iterable[int]]:
    """Groups of lines that explain a change: signatures, functions, what exits skip, uses of names, what is near."""
    spans = [span for span in outline.spans if any(_meet(span, hunk) for hunk in hunks)]
    yield [line for hunk in hunks for line in find_enclosing(head, hunk.new_start)]
    yield [line for span in spans for line in range(span.start, min(span.body, span.start + _LONGEST_SIGNATURE) + 1)]
    for span in reversed(spans):
        if span.end - span.start < LONGEST_FUNCTION:
            yield range(span.start, span.end + 1)
    for line in outline.exits:
        ends = [span.end for span in spans if span.start <= line <= span.end]
        yield range(line, min([*ends, line + _AFTER_EXIT]) + 1) if ends else ()
    yield from (range(each.start, min(each.end, each.start + _OF_CALLED) + 1) for each in outline.called)
    yield outline.uses
    yield from ([line for hunk in hunks for line in _list_near(hunk, around)] for around in range(_AROUND, 0, -1))


def _meet(span: FunctionSpan, hunk: Hunk) -> bool:
    return span.start < hunk.new_start + max(hunk.new_length, 1) and hunk.new_start <= span.end


def _list_near(hunk: Hunk, around: int) -> range:
    return range(hunk.new_start - around, hunk.new_start + hunk.new_length + around)


def excerpt(head: Sequence[str], lines: Collection[int], file: FileChange | None) -> list[Line]:
    """Some head lines of a file; added lines are marked, and removed lines stand before the line that follows them.

    Numbers tell where lines are missing; only before removed lines, which have none, an elision does.
    """
    added: Mapping[int, str] = {} if file is None else file.added_lines
    removed = {} if file is None else _map_removed(file.hunks)
    shown: list[Line] = []
    last = 0
    for number in sorted(number for number in lines if 0 < number <= len(head)):
        gone = removed.get(number, ())[:_REMOVED_AT_ONCE]
        if gone and last and number != last + 1:
            shown.append(ELISION)
        shown += (Line(None, "-", text) for text in gone)
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


def render_safely(lines: Sequence[Line], withheld: Collection[int]) -> Iterator[str]:
    """The lines as text of bounded length, without credentials or hidden characters."""
    return (text for text, _ in _render_lines(lines, withheld))


def _render_lines(lines: Sequence[Line], withheld: Collection[int]) -> Iterator[tuple[str, bool]]:
    """Each line as text, and whether that is all of it."""
    keys = _find_key_lines(lines)
    for index, line in enumerate(lines):
        own = make_legible(line.text)
        text = WITHHELD if index in keys or line.number in withheld else redact_outgoing(own)
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


def _cost(lines: Sequence[Line]) -> int:
    return sum(estimate(str(line)[:LONGEST_LINE]) + 1 for line in lines)


def _lay_out(hunks: Sequence[Hunk], head: Sequence[str] | None, context: Collection[int]) -> list[Line]:
    """The lines of the hunks and of their context, in order; where lines are missing, their numbers jump.

    :param context: head lines to show as well; those of the hunks themselves, and such as do not exist, count for
        nothing.
    """
    own = {new for hunk in hunks for _, new, _ in hunk.number_lines() if new is not None}
    text = () if head is None else head
    others = deque(Line(number, " ", text[number - 1]) for number in sorted(context) if _is_free(number, own, text))
    shown: list[Line] = []
    for hunk in hunks:
        start = hunk.new_start + (hunk.new_length == 0)
        while others and (others[0].number or 0) < start:
            shown.append(others.popleft())
        shown += _list_lines(hunk)
    return [*shown, *others]


def _is_free(number: int, own: Collection[int], head: Sequence[str]) -> bool:
    return 0 < number <= len(head) and number not in own


def _list_lines(hunk: Hunk) -> Iterator[Line]:
    for old, new, text in hunk.number_lines():
        if new is None:
            yield Line(None, "-", text, old)
        else:
            yield Line(new, " " if old is not None else "+", text)


def _indentation(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))
