"""Reads git's diffs and decides which lines may have a review comment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


@dataclass(frozen=True)
class DiffLine:
    position: int  # lines below the file's first hunk header, as in GitHub's older API
    hunk: int
    old: int | None
    new: int | None
    text: str


@dataclass(eq=False)
class FileDiff:
    path: str
    status: str
    old_path: str
    sha: str
    header: str
    patch: str  # the hunks only, as GitHub gives them; empty for binary files
    additions: int = 0
    deletions: int = 0
    lines: list[DiffLine] = field(default_factory=list[DiffLine])

    @cached_property
    def _places(self) -> dict[tuple[str, int], DiffLine]:
        left = {("LEFT", line.old): line for line in self.lines if line.old is not None}
        right = {("RIGHT", line.new): line for line in self.lines if line.new is not None}
        return {**left, **right}

    def place(self, side: str, number: int) -> DiffLine | None:
        """The diff's line at that number on that side, if it lies inside a hunk."""
        return self._places.get((side, number))

    def at_position(self, position: int) -> DiffLine | None:
        return next((line for line in self.lines if line.position == position), None)

    def hunk_up_to(self, line: DiffLine) -> str:
        """The hunk from its header down to the line, as `diff_hunk` shows it."""
        wanted = [other.text for other in self.lines if other.hunk == line.hunk and other.position <= line.position]
        headers = [text for text in self.patch.split("\n") if text.startswith("@@")]
        return "\n".join([headers[line.hunk], *wanted])

    @property
    def text(self) -> str:
        return self.header + ("\n" + self.patch if self.patch else "") + "\n"


def parse_diff(raw: str, patch: str) -> list[FileDiff]:
    """Join `git diff --raw -z` (what happened to each file) with the patches, which come in the same order."""
    blocks = _split_files(patch)
    files: list[FileDiff] = []
    for status, sha, old_path, path in _raw_entries(raw):
        block = blocks.pop(0) if blocks else ""
        if status == "T" and blocks:  # a change of type is written as a removal and an addition
            block += blocks.pop(0)
        files.append(_file_diff(status, sha, old_path, path, block))
    return files


def shift(changes: Sequence[FileDiff], path: str, number: int) -> tuple[str, int] | None:
    """Where a line went between two commits: its new path and number, None when it was changed or removed."""
    change = next((change for change in changes if change.old_path == path and change.status != "copied"), None)
    if change is None:
        return path, number
    if change.status == "removed" or not change.lines:
        return None if change.status != "renamed" else (change.path, number)
    kept = change.place("LEFT", number)
    if kept is not None:
        return None if kept.new is None else (change.path, kept.new)
    return change.path, number + _offset_before(change.lines, number)


def _offset_before(lines: Sequence[DiffLine], number: int) -> int:
    """How far the hunks above a line have moved it."""
    hunks = {line.hunk: line for line in lines if line.old is not None and line.old < number}
    last = max(hunks, default=-1)
    added = sum(1 for line in lines if line.hunk <= last and line.old is None)
    removed = sum(1 for line in lines if line.hunk <= last and line.new is None)
    return added - removed


def _split_files(patch: str) -> list[str]:
    parts = re.split(r"(?m)^(?=diff --git )", patch)
    return [part for part in parts if part]


def _raw_entries(raw: str) -> list[tuple[str, str, str, str]]:
    fields = raw.split("\0")
    found: list[tuple[str, str, str, str]] = []
    index = 0
    while index < len(fields) and fields[index].startswith(":"):
        _, _, old_sha, sha, letter = fields[index].split()
        renamed = letter[0] in "RC"
        old_path, path = fields[index + 1], fields[index + 2 if renamed else index + 1]
        found.append((letter[0], old_sha if letter[0] == "D" else sha, old_path, path))
        index += 3 if renamed else 2
    return found


def _file_diff(letter: str, sha: str, old_path: str, path: str, block: str) -> FileDiff:
    header, hunks = _cut_header(block)
    change = FileDiff(path, _STATUS.get(letter, "changed"), old_path, sha, header, hunks)
    change.lines = parse_hunks(hunks)
    change.additions = sum(1 for line in change.lines if line.old is None)
    change.deletions = sum(1 for line in change.lines if line.new is None)
    return change


def _cut_header(block: str) -> tuple[str, str]:
    found = re.search(r"(?m)^@@ ", block)
    if found is None:
        return block.rstrip("\n"), ""
    return block[: found.start()].rstrip("\n"), block[found.start() :].removesuffix("\n")


def parse_hunks(patch: str) -> list[DiffLine]:
    lines: list[DiffLine] = []
    old = new = 0
    hunk = -1
    for position, text in enumerate(patch.split("\n") if patch else []):
        header = _HUNK.match(text)
        if header:
            hunk, old, new = hunk + 1, int(header[1]), int(header[3])
        elif text.startswith("+"):
            lines.append(DiffLine(position, hunk, None, new, text))
            new += 1
        elif text.startswith("-"):
            lines.append(DiffLine(position, hunk, old, None, text))
            old += 1
        elif text.startswith(" "):
            lines.append(DiffLine(position, hunk, old, new, text))
            old, new = old + 1, new + 1
    return lines
