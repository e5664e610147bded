"""Applies a diff to the files it was written against, in their line ends and without fuzz."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

from domain.review.findings import Severity
from domain.runs.patches import EXECUTABLE, LIMITS, REGULAR, ChangedFile, ChangeSet, Constraint, PatchLimits, Violation
from workspace.patches import refusals, unified_diff
from workspace.patches.refusals import PatchRefused, refusal, violation
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
_MOST_COMPARED = 2_000_000  # lines that are compared to find hunks whose header is wrong
_PLAIN_PATH = "Name a regular file by its path relative to the root of the repository."


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
        except _Unfit as unfit:
            wrong.append(unfit.violation)
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


@dataclass
class _Unfit(Exception):
    """A file cannot be changed as the patch asks."""

    violation: Violation


def _unfit(
    patch: FilePatch,
    constraint: Constraint,
    message: str,
    suggestion: str = _READ_AGAIN,
    severity: Severity = Severity.error,
) -> _Unfit:
    return _Unfit(violation(patch.path, constraint, severity, message, suggestion))


def _change_file(patch: FilePatch, tree: FileTree, seen: set[str], search: "_Search") -> ChangedFile:
    """One file of the patch.

    :param seen: paths of the files before it; this one is added.
    :raises _Unfit: if it cannot be changed as the patch asks.
    """
    if wrong := refusals.find_mistake(patch.path):
        raise _unfit(patch, "path", f"The path {wrong}.", _PLAIN_PATH, Severity.critical)
    if patch.path in seen:
        raise _unfit(patch, "syntax", "The file is in the diff twice.", "Put all hunks of a file below one header.")
    seen.add(patch.path)
    before, old_mode = _read_before(patch, tree)
    after = _apply_hunks(patch, before or b"", search)
    if patch.is_gone and after:
        raise _unfit(patch, "base", "The file is deleted, but its hunk leaves lines of it.", _READ_AGAIN)
    if after == before and not patch.is_gone:
        raise _unfit(patch, "syntax", "The hunks change nothing.", "Leave the file out.")
    return ChangedFile(
        path=patch.path,
        before=before,
        after=None if patch.is_gone else after,
        mode=patch.new_mode or old_mode or REGULAR,
        old_mode=old_mode,
    )


def _read_before(patch: FilePatch, tree: FileTree) -> tuple[bytes | None, str | None]:
    """The content and mode of the file; None if it is new.

    :raises _Unfit: if the file exists and should not, or the other way round, or is not a regular file.
    """
    mode = tree.modes.get(patch.path)
    if patch.new_mode is not None:
        if mode is not None:
            raise _unfit(patch, "base", "The diff makes the file, but it exists.", _READ_AGAIN)
        return None, None
    if mode is None:
        text = "The file does not exist."
        raise _unfit(patch, "base", text, "Correct the path, or write “--- /dev/null” and “new file mode 100644”.")
    if mode not in {REGULAR, EXECUTABLE}:
        raise _unfit(patch, "mode", "It is a symlink or a submodule.", _PLAIN_PATH, Severity.critical)
    return tree.read(patch.path), mode


def _apply_hunks(patch: FilePatch, before: bytes, search: "_Search") -> bytes:
    """The content after all hunks.

    :raises _Unfit: if a hunk does not fit exactly where its header says.
    """
    _check_shape(patch, before)
    lines = BytesIO(before).readlines()  # each ends at a line feed only
    done: list[bytes] = []
    at = 0
    for hunk in patch.hunks:
        start = _find_start(patch, hunk, lines, at, len(done), search)
        end = start + hunk.old_length
        if _lacks_context(hunk, end < len(lines)):
            text = f"The hunk at line {hunk.line} of the diff ends without context, but not at the end of the file."
            raise _unfit(patch, "base", text, "End every hunk with up to three unchanged lines.")
        done += lines[at:start]
        done += hunk.new
        at = end
    done += lines[at:]
    after = b"".join(done)
    if after.count(b"\n") + (not after.endswith(b"\n")) < len(done):
        text = "A line without a line feed is followed by another one."
        raise _unfit(patch, "base", text, "Write “\\ No newline at end of file” after the last line only.")
    return after


def _lacks_context(hunk: PatchHunk, is_inside: bool) -> bool:
    """Whether git could not place the hunk: it applies one without trailing context only at the end of the file.

    :param is_inside: whether lines of the file follow.
    """
    return (is_inside and not hunk.ends_in_context) or (hunk.old_start, hunk.old_length) == (1, 0)


def _check_shape(patch: FilePatch, before: bytes) -> None:
    """Check that a new file has no old lines, a deleted one no new lines, and either has one hunk."""
    if patch.new_mode is None and not patch.is_gone:
        return
    if len(patch.hunks) > 1:
        raise _unfit(patch, "syntax", "A new or deleted file has more than one hunk.", "Write it as one hunk.")
    sides = [hunk.old_length if patch.new_mode else hunk.new_length for hunk in patch.hunks]
    if any(sides):
        side = "A new file has old lines." if patch.new_mode else "A deleted file has new lines."
        raise _unfit(patch, "syntax", side, "Count “-0,0” for a new file and “+0,0” for a deleted one.")
    if patch.is_gone and before and not patch.hunks:
        raise _unfit(patch, "base", "The file is deleted without its lines.", "Write each of its lines with a minus.")


def _find_start(
    patch: FilePatch, hunk: PatchHunk, lines: Sequence[bytes], at: int, written: int, search: "_Search"
) -> int:
    """Where a hunk begins in the file, counted from 0.

    :param at: where the hunk before ended, counted from 0.
    :param written: how many lines the hunks and the lines between them gave so far.
    :raises _Unfit: its header is wrong, and its lines are not at one place of the file.
    """
    start = hunk.old_start - (hunk.old_length > 0)
    new_start = written + start - at + (hunk.new_length > 0)
    is_there = lines[start : start + hunk.old_length] == hunk.old and start + hunk.old_length <= len(lines)
    if is_there and at <= start and hunk.new_start == new_start and not hunk.miscounted:
        return start
    places = [0] if patch.new_mode is not None else search.find(lines, hunk.old)
    if len(places) == 1 and places[0] >= at:
        return places[0]
    raise _explain_misfit(patch, hunk, lines, at, start, new_start)


def _explain_misfit(
    patch: FilePatch, hunk: PatchHunk, lines: Sequence[bytes], at: int, start: int, new_start: int
) -> _Unfit:
    """Why a hunk does not fit. The file's own lines are not quoted, because not everybody may read every file."""
    named = f"The hunk at line {hunk.line} of the diff"
    if hunk.miscounted:
        return _unfit(
            patch, "syntax", f"{named} does not fit in one place only, and its header {hunk.miscounted}.", _COUNT
        )
    if start < at:
        text = f"{named} begins before the one above it ends."
        return _unfit(patch, "syntax", text, "Order hunks by line, and join those that touch.")
    differs = next((i for i, line in enumerate(hunk.old) if lines[start + i : start + i + 1] != [line]), None)
    if differs is None and start + hunk.old_length <= len(lines):
        text = f"{named} says +{hunk.new_start}, but it begins at +{new_start}."
        return _unfit(patch, "syntax", text, "Count the start of the new lines again.")
    where = f"{named} does not fit: line {start + (differs or 0) + 1} of the file"
    if start + (differs or 0) >= len(lines):
        return _unfit(patch, "base", f"{where} does not exist; it has {len(lines)}.")
    return _unfit(patch, "base", f"{where} is another one.", _READ_AGAIN)


class _Search:
    """Finds lines in files, within a bound for the whole diff."""

    def __init__(self) -> None:
        self._left = _MOST_COMPARED

    def find(self, lines: Sequence[bytes], part: Sequence[bytes]) -> list[int]:
        """Where some lines occur, counted from 0; empty if too much was looked at before."""
        if not part:
            return []
        found: list[int] = []
        self._left -= len(lines)
        for start in (i for i, line in enumerate(lines) if line == part[0]):
            self._left -= len(part)
            if self._left < 0:
                return []
            if list(lines[start : start + len(part)]) == list(part):
                found.append(start)
        return found if self._left >= 0 else []
