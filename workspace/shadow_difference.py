"""Compares two states of the same files, each given as the change that leads to it from a commit."""

from collections.abc import Collection
from typing import NamedTuple

from domain.runs.patches import ChangedFile, ChangeSet


class _State(NamedTuple):
    """A file at one time; ``content`` is None if it is not there."""

    content: bytes | None
    mode: str


def find_difference(first: ChangeSet, second: ChangeSet, only: Collection[str] | None = None) -> ChangeSet:
    """The change that leads from the first state to the second.

    :param only: the paths to look at; all by default.
    """
    old = {file.path: file for file in first.files}
    new = {file.path: file for file in second.files}
    paths = sorted(path for path in old.keys() | new.keys() if only is None or path in only)
    found = (_compare(path, old.get(path), new.get(path)) for path in paths)
    return ChangeSet(files=tuple(file for file in found if file is not None))


def find_new_changes(before: ChangeSet, after: ChangeSet, draft: ChangeSet) -> ChangeSet:
    """The change of the draft by what a program did to files of which some were not the draft's.

    :param before: the files that the program found.
    :param after: those that it left.
    """
    touched = {file.path for file in find_difference(before, after).files}
    return find_difference(draft, after, touched)


def _compare(path: str, old: ChangedFile | None, new: ChangedFile | None) -> ChangedFile | None:
    known = old or new
    assert known is not None
    committed = _State(known.before, known.old_mode or known.mode)
    first, second = (committed if each is None else _State(each.after, each.mode) for each in (old, new))
    if first == second or (first.content is None and second.content is None):
        return None
    is_switched = None not in {first.content, second.content} and first.mode != second.mode
    mode = first.mode if second.content is None else second.mode
    old_mode = first.mode if is_switched else None
    return ChangedFile(path=path, before=first.content, after=second.content, mode=mode, old_mode=old_mode)
