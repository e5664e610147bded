"""Decides which files of a change can alter the program, which nobody read, and what a model reads first."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from domain.globs import matches
from domain.paths import holds_tests, is_data, is_document, is_test, is_test_data, may_run, tells_terms
from domain.review.changes import Change, ChangeStatus, FileChange, TouchedFile
from domain.review.findings import RawFinding
from domain.review.reading import NO_OUTLINE, Impact, Outline
from safety.protected_files import decides_about_runs
from safety.risk import is_sensitive

_STARTS = re.compile(
    r"process|popen|\bsystem\(|\bexec|\bspawn|\bfork\b|\beval\b|socket|https?:|urlopen|\bcurl\b|\bwget\b|\brm\b|rmtree"
    r"|unlink|environ|getenv|\.env\b|secret",
    re.IGNORECASE,
)
"""What names a process, a network, the environment or a deletion."""
_NEXT = 3
"""Lines before and after a changed one that a diff shows with it."""

Span = tuple[int, int]
"""The first and the last of some lines at head."""


def assess_impact(
    touched: Sequence[TouchedFile],
    parsed: Mapping[str, Impact],
    instructions: Sequence[str] = (),
    files: Sequence[FileChange] = (),
) -> dict[str, Impact]:
    """Path of each file → its impact, which is ``behaviour`` unless something else is certain.

    :param parsed: what the syntax trees of files say, by path at head.
    :param instructions: globs of the files that tell Forge's own agents how code is written here.
    :param files: those that could be read.
    """
    calm = {each.path for each in files if not any(map(_STARTS.search, each.added_lines.values()))}
    parsed = {**{each.path: Impact.comment for each in files if _is_blank(each)}, **parsed}
    return {
        each.path: Impact.behaviour
        if matches(each.path, instructions) or matches(each.old_path or each.path, instructions)
        else _assess_file(each, parsed, calm)
        for each in touched
    }


def _is_blank(file: FileChange) -> bool:
    """Whether all that is added to it or removed are blank lines."""
    removed = (line for hunk in file.hunks for line in hunk.list_removed())
    is_changed = file.status is ChangeStatus.modified and file.old_mode == file.new_mode and bool(file.hunks)
    return is_changed and not any(line.strip() for line in (*file.added_lines.values(), *removed))


def _assess_file(file: TouchedFile, parsed: Mapping[str, Impact], calm: Collection[str]) -> Impact:
    names = {file.path, file.old_path or file.path}
    found = parsed.get(file.path)
    if any(map(decides_about_runs, names)):
        is_surely_same = found is Impact.layout and file.path.endswith((".yml", ".yaml")) and len(names) == 1
        return Impact.layout if is_surely_same else Impact.behaviour
    is_input = all(is_document(name) and is_test_data(name) for name in names)
    if is_input and not file.may_run and (found is not None or file.is_gone):
        return Impact.test
    if found is Impact.behaviour and not file.may_run and all(map(is_document, names)):
        return Impact.behaviour if any(map(tells_terms, names)) else Impact.guide
    if found in {None, Impact.behaviour} and file.path in calm and all(map(holds_tests, names)) and not file.is_gone:
        return Impact.test
    if found is not None and not (found is Impact.document and file.may_run):
        return found
    if file.may_run:
        return Impact.behaviour
    if all(map(is_document, names)):
        return Impact.document if _stays_the_same(file) else Impact.behaviour
    return Impact.data if all(map(is_data, names)) else Impact.behaviour


def _stays_the_same(file: TouchedFile) -> bool:
    """Whether a document that nobody parsed has no new content: it is gone, or has another name. The terms under which
    the work may be used, and what says where to report a weakness, are kept.
    """
    kept = file.old_path or (file.path if file.is_gone else None)
    return not file.has_new_content and not (
        kept is not None and tells_terms(kept) and not (not file.is_gone and tells_terms(file.path))
    )


def list_riskiest(files: Sequence[FileChange], found: Sequence[RawFinding], sensitive: Sequence[str]) -> frozenset[str]:
    """The paths of files to read before all others: sensitive ones, and those in which a tool found an error.

    :param sensitive: glob patterns (`paths.sensitive`), besides what is sensitive everywhere.
    """
    marked = {finding.path for finding in found if finding.blocks}
    return frozenset(
        file.path
        for file in files
        if file.path in marked or any(is_sensitive(path, sensitive) for path in {file.path, file.old_path or file.path})
    )


def rank(file: FileChange, riskiest: Collection[str]) -> tuple[int, str]:
    """The place of a file: the riskiest first, tests last. Neighbours stay together: they explain each other."""
    place = 0 if file.path in riskiest else 2 if is_test(file.path) else 1
    return place, file.path


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


def list_reached(read: Collection[str], since: Change, outlines: Mapping[str, Outline]) -> dict[str, tuple[Span, ...]]:
    """Path of each changed file that a model had read → the lines of it that the changes since then reach.

    These are the changed lines, those next to them, and the innermost functions that they stand in. All other lines of
    these files passed an earlier review.

    :param read: see :func:`list_read_before`.
    :param since: the difference between the last reviewed head and this one.
    """
    files = {file.path: file for file in since.files if file.path in read}
    return {path: tuple(_find_spans(file, outlines.get(path, NO_OUTLINE))) for path, file in files.items()}


def _find_spans(file: FileChange, outline: Outline) -> Iterator[Span]:
    for line in file.changed_lines:
        around = [span for span in outline.spans if span.start <= line <= span.end]
        inner = max(around, key=lambda span: span.start, default=None)
        yield min(line - _NEXT, inner.start if inner else line), max(line + _NEXT, inner.end if inner else line)


def is_late(finding: RawFinding, reached: Mapping[str, Sequence[Span]]) -> bool:
    """Whether a new remark is about lines that passed an earlier review; what blocks is never too late.

    :param reached: as :func:`list_reached` tells it.
    """
    spans, line = reached.get(finding.path), finding.line
    if spans is None or line is None or finding.blocks:
        return False
    return not any(start <= (finding.end_line or line) and line <= end for start, end in spans)


def _find_base(file: FileChange) -> tuple[str, str] | None:
    return None if file.old_blob is None else (file.old_path or file.path, file.old_blob)


def touch_by_name(paths: Sequence[str]) -> tuple[TouchedFile, ...]:
    """The touched files by name only, if nothing else is stored."""
    return tuple(TouchedFile(path=path, may_run=may_run(path)) for path in paths)
