"""Decides which fixes may be offered or made automatically, and applies them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import Match
from functools import lru_cache

from domain.review.findings import Finding, Fix, Layer
from domain.text.line_diff import match_lines
from safety.protected_files import decides_about_runs

_LOST = "\ufffd"  # what a text shows of bytes that are not UTF-8
_COMMENT_AT_END = re.compile(r"(?<=\S)\s+(?:#|//)\s[^'\"`]*$")
_EMPTY_LINES = re.compile(r"\A([ \t]*\r?\n)+")


def is_fit(fix: Fix, lines: Sequence[str]) -> bool:
    """Whether a replacement of lines fits the file.

    :param lines: of the file at head; bytes that are not UTF-8 are replaced.
    """
    old = _strip_returns(lines[fix.start_line - 1 : fix.end_line])
    if _LOST in fix.replacement or any(_LOST in line for line in old):
        return False
    if not fix.replacement:
        return True
    new = _strip_returns(fix.replacement.split("\n"))
    before = _strip_returns(lines[max(fix.start_line - 1 - len(new), 0) : fix.start_line - 1])
    after = _strip_returns(lines[fix.end_line : fix.end_line + len(new)])
    is_new = new != old and not _adds_only_blanks(new, old)
    return is_new and not (
        _repeats_above(new, old, before)
        or any(_is_copy(new[-count:], after[:count], old[-count:]) for count in range(1, len(after) + 1))
    )


def apply(fix: Fix, text: str) -> str:
    """The file with the replacement, in the line ends of the lines that it replaces."""
    lines = text.split("\n")
    ending = "\r" if lines[fix.start_line - 1].endswith("\r") else ""
    new = [line + ending for line in _strip_returns(fix.replacement.split("\n"))] if fix.replacement else []
    return "\n".join([*lines[: fix.start_line - 1], *new, *lines[fix.end_line :]])


def apply_all(fixes: Iterable[Fix], content: bytes) -> bytes:
    """The file with replacements of which no two are of the same lines.

    Where they take away what stood above everything, the empty lines below that go, too; of what stood between empty
    lines, only those of the larger side stay.
    """
    text = content.decode(errors="surrogateescape")
    for fix in sorted(fixes, key=lambda fix: fix.start_line, reverse=True):
        text = apply(fix, text)
        if not fix.replacement:
            text = _close_gap(text, fix.start_line - 1)
    text = text if content[:1].isspace() else _EMPTY_LINES.sub("", text)
    return text.encode(errors="surrogateescape")


def _close_gap(text: str, at: int) -> str:
    """The text without the empty lines that are too many where lines were removed.

    :param at: how many lines stand before that place.
    """
    lines = text.split("\n")
    above = next((n for n in range(at) if lines[at - 1 - n].strip()), 0)
    below = next((n for n in range(len(lines) - at) if lines[at + n].strip()), len(lines) - at - 1)
    return "\n".join([*lines[:at], *lines[at + min(above, below) :]])


def is_made(fix: Fix, old: bytes, new: bytes) -> bool:
    """Whether a later version of the file has the replacement already, with the lines beside it.

    :param old: the version that it is of.
    """
    made = apply(fix, old.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    count = fix.replacement.count("\n") + 1 if fix.replacement else 0
    first, last = max(fix.start_line - 2, 0), min(fix.start_line + count, made.count(b"\n") + 1)
    return _find_block(made, new, first, last) is not None and _find_block(old, new, *_reach(fix, old)) is None


def find_instead(fix: Fix, old: bytes, new: bytes) -> str:
    """What a later version of the file has instead of the lines that are to be replaced; empty if nothing.

    :param old: the version that the replacement is of.
    """
    blocks, lines = _match(old, new), new.split(b"\n")
    above = (each.b + min(each.size, fix.start_line - 1 - each.a) for each in blocks if each.a < fix.start_line)
    start = max(above, default=0)
    end = min(each.b + max(0, fix.end_line - each.a) for each in blocks if each.a + each.size >= fix.end_line)
    return b"\n".join(lines[start:end]).decode(errors="replace")


def _reach(fix: Fix, text: bytes) -> tuple[int, int]:
    """The lines that a replacement takes away, and those beside it."""
    return max(fix.start_line - 2, 0), min(fix.end_line + 1, text.count(b"\n") + 1)


def _find_block(one: bytes, other: bytes, first: int, last: int) -> Match | None:
    """Where a text has a range of lines of another."""
    return next((each for each in _match(one, other) if each.a <= first and last <= each.a + each.size), None)


@lru_cache(maxsize=4)
def _match(old: bytes, new: bytes) -> Sequence[Match]:
    """The lines that both versions of a file have."""
    return match_lines(old.split(b"\n"), new.split(b"\n"))


def overlap(one: Fix, other: Fix) -> bool:
    """Whether two replacements are of the same lines."""
    return one.start_line <= other.end_line and other.start_line <= one.end_line


def _adds_only_blanks(new: Sequence[str], old: Sequence[str]) -> bool:
    """Whether nothing but blanks at the ends of lines differs, and not because some went."""
    same = [line.rstrip() for line in new] == [line.rstrip() for line in old]
    return same and sum(map(len, new)) >= sum(map(len, old))


def _repeats_above(new: Sequence[str], old: Sequence[str], before: Sequence[str]) -> bool:
    """Whether it begins with lines that stand above already, as of a model that copied too much."""
    return any(_is_copy(new[:count], before[-count:], old[:count]) for count in range(1, len(before) + 1))


def _is_copy(part: Sequence[str], beside: Sequence[str], was: Sequence[str]) -> bool:
    """Whether lines repeat those beside them, however they are indented, and whatever comments end them; what was
    replaced may have done so, too.
    """
    bare = [_bare(line) for line in part]
    return bare == [_bare(line) for line in beside] and bare != [_bare(line) for line in was] and any(bare)


def _bare(line: str) -> str:
    """A line without its indentation and the comment at its end; a line that is a comment as it is."""
    return _COMMENT_AT_END.sub("", line.strip())


def _strip_returns(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]


_SIMPLE = (
    *("I", "W", "E1", "E2", "E3", "Q", "COM", "D2"),  # formatting
    *("F401", "F541", "UP", "PIE79"),  # lint whose safe fix does not change behaviour
)
MOST_FINDINGS = 50
MOST_FILES = 20


def is_simple(finding: Finding) -> bool:
    """Whether it is formatting or simple lint that its tool can fix safely, where agents may write; never a security or
    model finding.
    """
    tool, _, code = finding.rule.partition("/")
    return (
        finding.layer is Layer.static
        and finding.fix is not None
        and tool == "ruff"
        and not decides_about_runs(finding.path)
        and any(code.startswith(family) and _continues_number(code, family) for family in _SIMPLE)
    )


def select_fixable(findings: Sequence[Finding]) -> list[Finding]:
    """Selects simple findings whose fixes can be applied together, by place.

    Of overlapping fixes it takes the first. Two removals of indented lines in one file could empty
    a block, so it takes only one of them; a later review offers the other.
    """
    taken: dict[str, list[Finding]] = {}
    for finding in sorted(filter(is_simple, findings), key=_place):
        kept = taken.setdefault(finding.path, [])
        if not kept or _place(kept[-1])[2] < _place(finding)[1]:
            kept.append(finding)
    files = sorted(path for path, kept in taken.items() if kept)[:MOST_FILES]
    return [finding for path in files for finding in taken[path]][:MOST_FINDINGS]


def apply_fixes(files: Mapping[str, bytes], findings: Sequence[Finding]) -> tuple[dict[str, bytes], list[Finding]]:
    """The new contents of the files that change, and the findings that were corrected.

    :param files: path → content at head, without those that cannot be read.
    :param findings: from :func:`select_fixable`.
    """
    contents: dict[str, bytes] = {}
    done: list[Finding] = []
    for path in dict.fromkeys(finding.path for finding in findings):
        before = files.get(path)
        made = None if before is None else _fix_file(before, [each for each in findings if each.path == path])
        if made is not None and made[0] != before:
            contents[path] = made[0]
            done += made[1]
    return contents, done


def _fix_file(content: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Finding]] | None:
    """The file with its fixes, and those that were made; None if it is not plain text or has other lines."""
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    done: list[Finding] = []
    for finding in sorted(findings, key=_place, reverse=True):
        fix = finding.fix
        if fix is None or not 1 <= fix.start_line <= fix.end_line <= len(lines):
            return None
        if not (_empties_block(finding, lines) and any(_empties_block(each, lines) for each in done)):
            done.append(finding)
    return apply_all([each.fix for each in done if each.fix is not None], content), done[::-1]


def _empties_block(finding: Finding, lines: Sequence[str]) -> bool:
    """Whether it removes indented lines."""
    fix = finding.fix
    return fix is not None and not fix.replacement and lines[fix.start_line - 1][:1].isspace()


def _place(finding: Finding) -> tuple[str, int, int]:
    fix = finding.fix
    return (finding.path, 0, 0) if fix is None else (finding.path, fix.start_line, fix.end_line)


def _continues_number(code: str, family: str) -> bool:
    """Whether the code continues with a number: ``I`` holds I001 and not INT001."""
    return family[-1].isdigit() or code[len(family) :][:1].isdigit()
