"""Layer 2 for the names of new files: one that looks like another name."""

import re
from collections.abc import Collection, Iterator

from agents.review.checks.inputs import is_test_or_document
from domain.paths import holds_prose, is_document, runs_as_text
from domain.review.changes import Change, ChangeStatus, FileChange
from domain.review.findings import Category, Layer, RawFinding, Severity
from domain.text.hidden_characters import (
    Deception,
    FileWords,
    HiddenText,
    find_alike,
    find_invisible,
    find_turned,
    find_unseen,
    fold_alike,
    read_words,
    to_plain,
)

_MOST_DOUBLES = 100
_CONTROL = re.compile(r"[\x00-\x1f\x85]")
_NEW = frozenset({ChangeStatus.added, ChangeStatus.renamed, ChangeStatus.copied})


def list_doubles(change: Change) -> tuple[str, ...]:
    """The paths of ASCII letters that new ones would be taken for, the first ones."""
    plain = {fold_alike(file.path) for file in _list_odd(change)} - set(change.paths)
    return tuple(sorted(filter(str.isascii, plain))[:_MOST_DOUBLES])


def find_deceiving(change: Change, beside: Collection[str] = ()) -> tuple[RawFinding, ...]:
    """The new names that deceive, each once: by a character that cannot be seen, or by letters of another script.

    :param beside: those of :func:`list_doubles` that the merge base has.
    """
    odd = _list_odd(change)
    names = read_words("\n".join((*change.paths, *beside))).ascii if odd else frozenset[str]()
    return tuple(_build(file, found) for file in odd for found in [next(_find(file, names), None)] if found is not None)


def _list_odd(change: Change) -> list[FileChange]:
    return [
        file for file in change.files if file.status in _NEW and not (file.path.isascii() and file.path.isprintable())
    ]


def _find(file: FileChange, names: frozenset[str]) -> Iterator[HiddenText]:
    """:param names: words of the names of all files in the change."""
    turned = find_turned(file.path, is_translation=True)
    yield from [turned] if turned is not None else []
    yield from find_invisible(file.path)
    yield from (
        each for each in find_unseen("", file.path) if each.kind is not Deception.space or _is_for_programs(file.path)
    )
    if control := _CONTROL.search(file.path):
        yield HiddenText(Deception.control, control.start(), control[0])
    words = find_alike(file.path, FileWords(names, scripts := _list_scripts(file), scripts))
    yield from (each for each in words if to_plain(each.text).isascii())  # else nobody takes it for a Latin one


def _is_for_programs(path: str) -> bool:
    """Whether more than people find a file by its name: these write spaces of all kinds in those of documents."""
    return not (is_document(path) or holds_prose(path))


def _list_scripts(file: FileChange) -> frozenset[str]:
    """The scripts that its name may be in: of a document, also those that it is written in."""
    text = () if runs_as_text(file.path) else tuple(file.added_lines.values())
    return read_words("\n".join((file.path, *text))).scripts


def _build(file: FileChange, found: HiddenText) -> RawFinding:
    is_mild = is_test_or_document(file.path)
    return RawFinding(
        rule="hidden-text/name",
        category=Category.security,
        severity=Severity.warning if is_mild else Severity.error,
        confidence=0.9,
        path=file.path,
        line=next(iter(file.added_lines), None),
        end_line=next(iter(file.added_lines), None),
        message=(
            f"The name of this file has {found.codes}, which nobody sees or takes for something else: it is another "
            "file than it seems. Write its name with letters of one script that can be seen."
        ),
        layer=Layer.security,
        help_url="https://trojansource.codes",
    )
