"""Edits of one file by its text: a passage that stands there once is replaced, or the file is written whole."""

from dataclasses import dataclass

from domain.review.findings import Severity
from domain.runs.patches import EXECUTABLE, REGULAR, ChangedFile, ChangeSet
from workspace.patches import refusals
from workspace.patches.refusals import PatchRefused, refusal, violation
from workspace.patches.tree import FileTree

_MOST_PLACES = 5  # lines that are named where a passage is there several times
_PLAIN_PATH = "Name a regular file by its path relative to the root of the repository."
_COPY = "Read the file again and copy the passage exactly, with its spaces, from what it holds now."


@dataclass(frozen=True, slots=True)
class Replacement:
    """One passage of an existing file, and what stands there afterwards.

    :param old: it must be there exactly once.
    """

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file and all that it holds afterwards; it is made if it does not exist."""

    path: str
    content: str


TextEdit = Replacement | WrittenFile


def list_paths(edit: TextEdit) -> tuple[str, ...]:
    """The files that must be read to carry out an edit."""
    return () if refusals.find_mistake(edit.path) else (edit.path,)


def build_change(edit: TextEdit, tree: FileTree) -> ChangeSet:
    """The change that an edit makes to the files of a tree.

    Line feeds become CRLF in a file whose lines all end so, because models do not see the difference.

    :raises PatchRefused: the path is no file that may be edited, or the passage is not there once.
    """
    mode = require_mode(edit.path, tree)
    if mode is None and isinstance(edit, Replacement):
        raise refusal(edit.path, "base", "The file does not exist.", "Correct the path, or write the file whole.")
    before = None if mode is None else tree.read(edit.path)
    if before is not None and b"\0" in before:
        raise refusal(edit.path, "syntax", "The file is binary.", "Leave binary files as they are.")
    after = _replace(edit, before or b"") if isinstance(edit, Replacement) else _encode(edit.content, before)
    if b"\0" in after:
        raise refusal(edit.path, "syntax", "It would hold a NUL character, so it is not text.", "Write text only.")
    if after == before:
        raise refusal(edit.path, "syntax", "The edit changes nothing.", "Leave it out.")
    changed = ChangedFile(path=edit.path, before=before, after=after, mode=mode or REGULAR, old_mode=mode)
    return ChangeSet(files=(changed,))


def require_mode(path: str, tree: FileTree) -> str | None:
    """The mode of the file; None if it does not exist.

    :raises PatchRefused: it is no regular file, or its path leads elsewhere.
    """
    if wrong := refusals.find_mistake(path):
        raise PatchRefused([violation(path, "path", Severity.critical, f"The path {wrong}.", _PLAIN_PATH)])
    mode = tree.modes.get(path)
    if mode not in {None, REGULAR, EXECUTABLE}:
        message = "It is a symlink or a submodule."
        raise PatchRefused([violation(path, "mode", Severity.critical, message, _PLAIN_PATH)])
    return mode


def _replace(edit: Replacement, before: bytes) -> bytes:
    """The content with the passage replaced. A refusal does not quote the file: not everybody may read every file."""
    old, new = _encode(edit.old, before), _encode(edit.new, before)
    places = _find_places(before, old)
    if not places:
        raise refusal(edit.path, "base", "The passage is not in the file.", _COPY)
    if len(places) > 1:
        lines = ", ".join(str(before.count(b"\n", 0, at) + 1) for at in places[:_MOST_PLACES])
        is_all = len(places) <= _MOST_PLACES
        times = f"{len(places)} times, in lines {lines}" if is_all else f"often, in lines {lines} and others"
        message = f"The passage is in the file {times}."
        raise refusal(edit.path, "base", message, "Add lines above or below to the passage until it is there once.")
    (at,) = places
    return before[:at] + new + before[at + len(old) :]


def _find_places(text: bytes, part: bytes) -> list[int]:
    """The first places where a passage begins, also where it overlaps itself; one more than are named."""
    places: list[int] = []
    at = text.find(part)
    while at >= 0 and len(places) <= _MOST_PLACES:
        places.append(at)
        at = text.find(part, at + 1)
    return places


def _encode(text: str, before: bytes | None) -> bytes:
    """The text in UTF-8, with the line ends of the file it goes into."""
    encoded = text.encode()
    ends_in_crlf = before is not None and 0 < before.count(b"\n") == before.count(b"\r\n")
    return encoded.replace(b"\n", b"\r\n") if ends_in_crlf and b"\r" not in encoded else encoded
