"""Applies a diff to the files it was written against: each hunk is a passage, and its header says which of several."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import accumulate

from domain.runs.patches import EXECUTABLE, LIMITS, REGULAR, ChangedFile, ChangeSet, PatchLimits, Violation
from workspace.patches import refusals, unified_diff
from workspace.patches.edits import require_mode
from workspace.patches.refusals import PatchRefused, refusal
from workspace.patches.tree import FileTree
from workspace.patches.unified_diff import FilePatch, PatchHunk


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
    if not is_there or refusals.find_mistake(patch.path) is not None:
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


_READ_AGAIN = "Read the file again and write the diff against what it holds now."
_COUNT = "Count the lines of the hunk again, or show more unchanged lines around the change."
_SMALLER = "Make the change in several smaller diffs."
_MOST_SEARCHED = 200_000_000  # bytes that are searched for hunks whose header is wrong


def parse(diff: bytes, tree: FileTree, limits: PatchLimits = LIMITS) -> ChangeSet:
    """The change that a unified diff makes to the files of a tree. Every path is judged before its file is read.

    What ``git apply`` takes of it, it applies with the same result, with ``--recount`` where a header miscounts.

    :raises PatchRefused: it is not a diff of text files, names a file in a way that is not allowed, or does not fit.
        The error lists what is wrong with all of its files.
    """
    patches = _read_within(limits, diff)
    wrong: list[Violation] = []
    files: list[ChangedFile] = []
    seen: set[str] = set()
    search = _Search()
    for patch in patches:
        try:
            files.append(_change_file(patch, tree, seen, search))
        except PatchRefused as refused:
            wrong += refused.violations
    if wrong:
        raise PatchRefused(wrong)
    return ChangeSet(files=tuple(files))


def list_paths(diff: bytes, limits: PatchLimits = LIMITS) -> tuple[str, ...]:
    """The existing files that must be read to parse the diff.

    :raises PatchRefused: it is not a diff of text files, or is too large.
    """
    there = (patch.path for patch in _read_within(limits, diff) if patch.new_mode is None)
    return tuple(path for path in there if refusals.find_mistake(path) is None)


def _read_within(limits: PatchLimits, diff: bytes) -> list[FilePatch]:
    if len(diff) > limits.patch_bytes:
        message = f"The diff is {len(diff):,} bytes long, and {limits.patch_bytes:,} are allowed."
        raise refusal("", "limits", message, _SMALLER)
    patches = unified_diff.read(diff)
    if len(patches) > limits.files:
        message = f"The diff has {len(patches):,} files, and {limits.files:,} are allowed."
        raise refusal("", "limits", message, _SMALLER)
    return patches


def _change_file(patch: FilePatch, tree: FileTree, seen: set[str], search: "_Search") -> ChangedFile:
    """One file of the patch.

    :param seen: paths of the files before it; this one is added.
    :raises PatchRefused: it cannot be changed as the patch asks.
    """
    mode = require_mode(patch.path, tree)
    if patch.path in seen:
        raise refusal(patch.path, "syntax", "The file is in the diff twice.", "Put all its hunks below one header.")
    seen.add(patch.path)
    if patch.new_mode is not None and mode is not None:
        raise refusal(patch.path, "base", "The diff makes the file, but it exists.", _READ_AGAIN)
    if patch.new_mode is None and mode is None:
        advice = "Correct the path, or write “--- /dev/null” and “new file mode 100644”."
        raise refusal(patch.path, "base", "The file does not exist.", advice)
    before = None if mode is None else tree.read(patch.path)
    _check_shape(patch, before)
    after = _apply_hunks(patch, before or b"", search)
    if patch.is_gone and after:
        raise refusal(patch.path, "base", "The file is deleted, but its hunk leaves lines of it.", _READ_AGAIN)
    if after == before and not patch.is_gone:
        raise refusal(patch.path, "syntax", "The hunks change nothing.", "Leave the file out.")
    return ChangedFile(
        path=patch.path,
        before=before,
        after=None if patch.is_gone else after,
        mode=patch.new_mode or mode or REGULAR,
        old_mode=mode,
    )


def _check_shape(patch: FilePatch, before: bytes | None) -> None:
    """Check that a new file has no old lines, a deleted one no new lines, and either has one hunk."""
    if patch.new_mode is None and not patch.is_gone:
        return
    if len(patch.hunks) > 1:
        text = "A new or deleted file has more than one hunk."
        raise refusal(patch.path, "syntax", text, "Write it as one hunk.")
    if any(hunk.old if patch.new_mode else hunk.new for hunk in patch.hunks):
        side = "A new file has old lines." if patch.new_mode else "A deleted file has new lines."
        raise refusal(patch.path, "syntax", side, "Count “-0,0” for a new file and “+0,0” for a deleted one.")
    if before and not patch.hunks:
        text = "The file is deleted without its lines."
        raise refusal(patch.path, "base", text, "Write each of its lines with a minus.")


def _apply_hunks(patch: FilePatch, before: bytes, search: "_Search") -> bytes:
    """The content with each hunk's old lines replaced by its new ones.

    :raises PatchRefused: a hunk fits neither where its header says nor in one other place only.
    """
    starts = list(accumulate(map(len, BytesIO(before).readlines()), initial=0))  # a line ends at a line feed only
    parts: list[bytes] = []
    at = added = 0
    for hunk in patch.hunks:
        old = b"".join(hunk.old)
        start = _find_said(hunk, before, starts, added)
        if start is None or start < at:
            places = [0] if patch.new_mode is not None else search.find(before, old)
            if len(places) != 1 or places[0] < at:
                raise _explain_misfit(patch, hunk, places)
            [start] = places
        is_inside = start + len(old) < len(before)
        if (is_inside and not hunk.ends_in_context) or (hunk.old_start == 1 and not old):  # git takes no such hunk
            text = f"The hunk at line {hunk.line} of the diff ends without context, but not at the end of the file."
            raise refusal(patch.path, "base", text, "End every hunk with up to three unchanged lines.")
        parts += [before[at:start], b"".join(hunk.new)]
        at = start + len(old)
        added += len(hunk.new) - len(hunk.old)
    parts = [part for part in (*parts, before[at:]) if part]
    if not all(part.endswith(b"\n") for part in parts[:-1]):
        text = "A line without a line feed is followed by another one."
        raise refusal(patch.path, "base", text, "Write “\\ No newline at end of file” after the last line only.")
    return b"".join(parts)


def _find_said(hunk: PatchHunk, before: bytes, starts: Sequence[int], added: int) -> int | None:
    """Where the header says that a hunk begins, if all of the header is right and its lines are there.

    :param starts: where each line begins, and the end.
    :param added: how many lines more the hunks before it have on their new side.
    """
    line = hunk.old_start - (hunk.old != [])
    end = line + len(hunk.old)
    is_right = not hunk.miscounted and hunk.new_start == line + added + (hunk.new != [])
    if not is_right or line < 0 or end >= len(starts):
        return None
    return starts[line] if before[starts[line] : starts[end]] == b"".join(hunk.old) else None


def _explain_misfit(patch: FilePatch, hunk: PatchHunk, places: Sequence[int]) -> PatchRefused:
    """Why a hunk does not fit. The file's own lines are not quoted, because not everybody may read every file."""
    named = f"The hunk at line {hunk.line} of the diff"
    if not hunk.old:
        return refusal(patch.path, "syntax", f"{named} has no old line, so its header must be right.", _COUNT)
    if len(places) == 1:
        text = f"{named} begins before the one above it ends."
        return refusal(patch.path, "syntax", text, "Order hunks by line, and join those that touch.")
    if places:
        text = f"{named} does not fit in one place only, and not where its header says."
        return refusal(patch.path, "syntax", text, _COUNT)
    return refusal(patch.path, "base", f"{named} does not fit: its old lines are not in the file.", _READ_AGAIN)


class _Search:
    """Finds whole lines in files, within a bound for the whole diff."""

    def __init__(self) -> None:
        self._left = _MOST_SEARCHED

    def find(self, before: bytes, old: bytes) -> list[int]:
        """The first two places where some lines begin.

        :raises PatchRefused: too much was searched before.
        """
        self._left -= len(before)
        if self._left < 0:
            text = "Too many hunks are not where their headers say; each must fit there, or in one place only."
            raise refusal("", "syntax", text, _COUNT)
        text, lines = b"\n" + before, b"\n" + old
        if not old.endswith(b"\n"):  # it can only be the end
            return [len(before) - len(old)] if old and text.endswith(lines) else []
        first = text.find(lines)
        second = text.find(lines, first + 1) if first >= 0 else -1
        return [place for place in (first, second) if place >= 0]
