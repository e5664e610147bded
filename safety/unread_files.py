"""Lists the unread source of a change: read neither by a linter of its language nor by a model."""

from collections.abc import Collection, Sequence

from domain.paths import is_document, may_run
from domain.review.changes import Change, FileChange, TouchedFile


def list_unread(touched: Sequence[TouchedFile], read: Collection[str]) -> tuple[str, ...]:
    """The paths at head of new, runnable and unread content.

    :param touched: the files of a change that the repository wants reviewed.
    :param read: paths that a linter of their language or a model read. A search for credentials reads nothing.
    """
    return tuple(each.path for each in touched if each.may_run and not _was_read(each.path, read))


def is_all_read(touched: Sequence[TouchedFile], read: Collection[str]) -> bool:
    """Whether every changed file was read, including deleted ones and data, but not documents.

    :param touched: all files of a change. Without any, the answer is no.
    """
    return bool(touched) and all(_was_read(each.path, read) or _is_prose(each) for each in touched)


def _was_read(path: str, read: Collection[str]) -> bool:
    """An escaped name may equal another file's, so it counts as unread."""
    return path in read and "\\" not in path


def _is_prose(file: TouchedFile) -> bool:
    """Whether it is a document and was one before."""
    return not file.may_run and is_document(file.path) and (file.old_path is None or is_document(file.old_path))


def list_read_before(read: Collection[str], compared: Change, change: Change, since: Change) -> frozenset[str]:
    """The files that the model had read completely at the last reviewed head, by their current paths.

    Without files whose base has moved: an unchanged head would then undo the
    base's changes. And without files whose later changes are hidden, because that
    head's own attributes call them generated.

    :param read: the paths it had read then.
    :param compared: the change as it was at that head.
    :param since: the difference between that head and this one.
    """
    names = {file.path: file.old_path or file.path for file in since.files}
    dark = {each.path for each in since.touched if each.lines is None}

    def was_read(file: FileChange) -> bool:
        name = names.get(file.path, file.path)
        then = compared.file(name)
        is_alike = then is not None and _find_base(then) == _find_base(file)
        return is_alike and name in read and file.path not in dark

    return frozenset(file.path for file in change.files if was_read(file))


def _find_base(file: FileChange) -> tuple[str, str] | None:
    """The path and the content in the base; None for a new file."""
    return None if file.old_blob is None else (file.old_path or file.path, file.old_blob)


def touch_by_name(paths: Sequence[str]) -> tuple[TouchedFile, ...]:
    """The touched files by name only, if nothing else is stored."""
    return tuple(TouchedFile(path=path, may_run=may_run(path)) for path in paths)
