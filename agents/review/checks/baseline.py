"""Decides which findings a change introduced: those at head that were not at the merge base."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TypeVar

from domain.review.changes import FileChange
from domain.review.findings import RawFinding, compute_secondary_fingerprint
from domain.review.identity import list_bare

Some = TypeVar("Some", bound=RawFinding)


def find_introduced(
    change: FileChange,
    head: Sequence[Some],
    base: Sequence[RawFinding],
    *,
    head_lines: Sequence[str],
    base_lines: Sequence[str],
) -> tuple[Some, ...]:
    """The findings of one file that the change introduced, in the order of ``head``.

    A finding is old if the merge base has one of the same rule and message (numbers aside) on a matching line. These
    lines match, in this order: the line that became its line; for code that moved, a line that is equal but for its
    indentation; a line that says the same, as without a comment, or that takes the same action or image in another
    version.
    Each finding of the merge base explains at most one at head, and none that is graver.

    :param change: the file's hunks, which map lines of the merge base to lines at head.
    :param head: findings at head.
    :param base: findings of the same tools at the merge base, under any path.
    :param head_lines: the file's lines at head.
    :param base_lines: the file's lines at the merge base.
    """
    by_line = _drop_explained(
        list(head),
        list(base),
        lambda finding: finding.line,
        lambda finding: None if finding.line is None else change.head_line(finding.line) or _GONE,
    )
    by_text = _drop_explained(
        *by_line,
        lambda finding: _text(head_lines, finding.line),
        lambda finding: _text(base_lines, finding.line),
    )
    new, _ = _drop_explained(
        *by_text,
        _Gist(head_lines, change.path, _NEW).read,
        _Gist(base_lines, change.old_path or change.path, _GONE).read,
    )
    return tuple(new)


def keep_on_added_lines(change: FileChange, head: Sequence[Some]) -> tuple[Some, ...]:
    """The findings that touch an added line; the best guess if the merge base could not be analysed."""
    return tuple(
        finding
        for finding in head
        if finding.line is not None
        and any(line in change.added_lines for line in range(finding.line, (finding.end_line or finding.line) + 1))
    )


_GONE = -1
_NEW = -2


def _drop_explained(
    head: list[Some],
    base: list[RawFinding],
    head_place: Callable[[RawFinding], Hashable],
    base_place: Callable[[RawFinding], Hashable],
) -> tuple[list[Some], list[RawFinding]]:
    """Both sides without the pairs of equal rule, message and place, of which the one at head is no graver."""
    left: defaultdict[Hashable, list[RawFinding]] = defaultdict(list)
    for each in sorted(base, key=lambda each: each.severity.rank):
        left[_key(each, base_place)].append(each)
    new: list[Some] = []
    for finding in head:
        there = left[_key(finding, head_place)]
        at = next((at for at, each in enumerate(there) if each.severity.rank >= finding.severity.rank), None)
        if at is None:
            new.append(finding)
        else:
            del there[at]
    return new, [each for there in left.values() for each in there]


def _key(finding: RawFinding, place: Callable[[RawFinding], Hashable]) -> Hashable:
    return compute_secondary_fingerprint(finding.rule, "", finding.message), place(finding)


class _Gist:
    """What the lines of a file say.

    :param otherwise: stands for a line that is not there.
    """

    def __init__(self, lines: Sequence[str], path: str, otherwise: int) -> None:
        self._lines, self._path, self._otherwise = lines, path, otherwise

    def read(self, finding: RawFinding) -> Hashable:
        """The line as its statement says it; the version of an action or an image without its numbers."""
        if finding.line is None or not 1 <= finding.line <= len(self._lines):
            return self._otherwise
        versioned = _VERSIONED.match(self._lines[finding.line - 1])
        if versioned:
            return re.sub(r"\d+", "0", versioned[1])
        return self._bare[finding.line - 1].strip() or self._otherwise

    @cached_property
    def _bare(self) -> Sequence[str]:
        return list_bare(self._path, self._lines)


_VERSIONED = re.compile(r"\s*(?:- )?((?:(?:uses|image): *|FROM )[\w./-]+[@:]v?\d[\d.]*)(?:[ \t]+#.*)?\s*$")


def _text(lines: Sequence[str], line: int | None) -> str | None:
    return None if line is None or not 1 <= line <= len(lines) else lines[line - 1].strip(" \t\r\f")
