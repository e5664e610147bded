"""Gives a diff the line ends of its files: a model neither sees nor writes the carriage returns of CRLF."""

from collections.abc import Iterator

from domain.runs.patches import EXECUTABLE, REGULAR
from workspace.patches import path_rules, unified_diff
from workspace.patches.tree import FileTree
from workspace.patches.unified_diff import FilePatch


def restore_returns(diff: bytes, tree: FileTree) -> bytes:
    """The diff with CRLF instead of LF for the files in which every line ends with CRLF.

    It leaves alone files with both line ends, and files whose hunks already hold carriage returns.

    :raises PatchRefused: it is not a diff of text files, or names one that is too large.
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
    """The numbers, from 0, of the lines of its hunks that end with a line feed in the file."""
    for hunk in patch.hunks:
        at = hunk.line  # the line below its header
        for _, text in hunk.lines:
            if text.endswith(b"\n"):
                yield at
            at += 1 if text.endswith(b"\n") else 2  # skips the mark of a line without a line feed
