"""Layer 2 for the names of new files: one that looks like another name."""

from collections.abc import Iterator

from agents.review.checks.inputs import is_test_or_document
from domain.paths import runs_as_text
from domain.review.changes import Change, ChangeStatus, FileChange
from domain.review.findings import Category, Layer, RawFinding, Severity
from domain.text.hidden_characters import (
    FileWords,
    HiddenText,
    find_alike,
    find_invisible,
    find_turned,
    read_words,
    to_plain,
)

_NEW = frozenset({ChangeStatus.added, ChangeStatus.renamed, ChangeStatus.copied})


def find_deceiving(change: Change) -> tuple[RawFinding, ...]:
    """The new names that deceive, each once: by a character that cannot be seen, or by letters of another script."""
    odd = [file for file in change.files if file.status in _NEW and not file.path.isascii()]
    names = read_words("\n".join(change.paths)).ascii if odd else frozenset[str]()
    return tuple(_build(file, found) for file in odd for found in [next(_find(file, names), None)] if found is not None)


def _find(file: FileChange, names: frozenset[str]) -> Iterator[HiddenText]:
    """:param names: words of the names of all files in the change."""
    turned = find_turned(file.path, is_translation=True)
    yield from [turned] if turned is not None else []
    yield from find_invisible(file.path)
    words = find_alike(file.path, FileWords(names, scripts := _list_scripts(file), scripts))
    yield from (each for each in words if to_plain(each.text).isascii())  # else nobody takes it for a Latin one


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
