"""Names what of a change nobody read: source that neither a linter of its language nor a model looked into."""

from collections.abc import Collection, Sequence

from domain.paths import is_document, may_run
from domain.review.changes import Change, FileChange, TouchedFile


def list_unread(touched: Sequence[TouchedFile], read: Collection[str]) -> tuple[str, ...]:
    """The paths at head of what is new, may run, and was read by nobody.

    :param touched: the files of a change as far as the repository wants them looked at.
    :param read: paths that a linter of their language or a model read. A search for credentials reads nothing.
    """
    return tuple(each.path for each in touched if each.may_run and not _was_read(each.path, read))


def is_all_read(touched: Sequence[TouchedFile], read: Collection[str]) -> bool:
    """Whether every changed file was read, deleted ones and mere data included; documents need not be.

    :param touched: all files of a change. Of none nothing is known, so that is a no.
    """
    return bool(touched) and all(_was_read(each.path, read) or _is_prose(each) for each in touched)


def _was_read(path: str, read: Collection[str]) -> bool:
    """Two names may look alike once what cannot be seen in one is escaped: such a name counts for neither."""
    return path in read and "\\" not in path


def _is_prose(file: TouchedFile) -> bool:
    """A document that was one before."""
    return not file.may_run and is_document(file.path) and (file.old_path is None or is_document(file.old_path))


def list_read_before(read: Collection[str], compared: Change, change: Change, since: Change) -> frozenset[str]:
    """The files of a change of which the model had read everything at the last reviewed head, by their paths now.

    Not those that were compared with something else then: where the base has moved on in such a file, a head that is
    as it was takes away what the base brought. Nor those of which nobody can tell what changed since: the attributes
    of that head, which are the author's, may call them generated.

    :param read: the paths that it had read by then.
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
    """What names alone tell about the files of a change, where nothing else was kept."""
    return tuple(TouchedFile(path=path, may_run=may_run(path)) for path in paths)
