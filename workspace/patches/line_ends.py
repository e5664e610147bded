"""Writes a diff with the line ends of the files it is for: a model neither sees nor writes the returns of CRLF."""

from collections.abc import Iterator

from domain.runs.patches import EXECUTABLE, REGULAR
from workspace.patches import path_rules, unified_diff
from workspace.patches.tree import FileTree
from workspace.patches.unified_diff import FilePatch


def restore_returns(diff: bytes, tree: FileTree) -> bytes:
    """The diff with a carriage return before each line feed of the files that have one at every line.

    A file that ends its lines in both ways is left as it is, and so is one whose hunks hold carriage returns.

    :raises PatchRefused: it is no diff of text files, or names one that is too large.
    """
    lines = diff.split(b"\n")
    for patch in unified_diff.read(diff):
        if _lacks_returns(patch, tree):
            for at in _find_line_feeds(patch):
                lines[at] = (lines[at] or b" ") + b"\r"
    return b"\n".join(lines)


def _lacks_returns(patch: FilePatch, tree: FileTree) -> bool:
    is_there = patch.new_mode is None and tree.modes.get(patch.path) in {REGULAR, EXECUTABLE}
    if not is_there or path_rules.find_mistake(patch.path) is not None:
        return False
    if any(text.endswith((b"\r\n", b"\r")) for hunk in patch.hunks for _, text in hunk.lines):
        return False
    content = tree.read(patch.path)
    return 0 < content.count(b"\n") == content.count(b"\r\n")


def _find_line_feeds(patch: FilePatch) -> Iterator[int]:
    """The numbers, from 0, of the lines of its hunks that end at a line feed in the file."""
    for hunk in patch.hunks:
        at = hunk.line  # the one below its header
        for _, text in hunk.lines:
            if text.endswith(b"\n"):
                yield at
            at += 1 if text.endswith(b"\n") else 2  # behind the mark of a line without one
