"""Decides which lines agents may not write, because people would read something else in them than machines."""

from collections import Counter
from collections.abc import Collection, Iterator

from domain.paths import holds_prose, is_document
from domain.text.hidden_characters import (
    Deception,
    FileWords,
    HiddenText,
    find_alike,
    find_control,
    find_false_host,
    find_hidden_message,
    find_invisible,
    find_line_end,
    find_turned,
    find_unseen,
    may_deceive,
    read_words,
)
from domain.text.places import find_in_document_code, list_fenced_lines


def find_unwritable(path: str, before: bytes, after: bytes) -> Iterator[tuple[int, HiddenText]]:
    """The new lines with such text, by number, each with the first of it.

    It is stricter than the review of a person's change, which knows what is a string: an agent can write an escape
    sequence there. What the lines had that it replaces may stay.

    :param before: the file's content; empty if it is new.
    """
    old, new = _split(before), _split(after)
    if not any(may_deceive(path, line) for line in new):
        return
    words, fenced, fenced_before = read_words("\n".join(new)), list_fenced_lines(new), list_fenced_lines(old)
    excused = Counter(
        _name(found)
        for number, line in _list_changed(path, old, new)
        for found in _find(path, line, words, is_fenced=number in fenced_before)
    )
    for number, line in _list_changed(path, new, old):
        text = line.removeprefix("\ufeff") if number == 1 else line
        wrong = None
        for found in _find(path, text, words, is_fenced=number in fenced):
            excused[_name(found)] -= 1
            if excused[_name(found)] < 0:
                wrong = wrong or found
        if wrong is not None:
            yield number, wrong


def _name(found: HiddenText) -> tuple[Deception, str]:
    return found.kind, found.text


def _split(content: bytes) -> list[str]:
    return content.decode(errors="replace").split("\n")


def _list_changed(path: str, lines: Collection[str], others: Collection[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines with anything that could deceive that the other version has not."""
    known = set(others)
    for number, line in enumerate(lines, 1):
        if may_deceive(path, line) and line not in known:
            yield number, line


def _find(path: str, line: str, words: FileWords, *, is_fenced: bool) -> Iterator[HiddenText]:
    if is_document(path):
        found = (find_hidden_message(line), find_in_document_code(line, words, is_fenced=is_fenced))
    elif holds_prose(path):
        found = (find_turned(line, is_translation=True), *find_invisible(line, is_translation=True))
    else:
        found = (
            find_line_end(path, line),
            find_turned(line),
            *find_invisible(line),
            *find_alike(line, words),
            *find_unseen(path, line),
        )
    yield from (each for each in (find_control(line), *found, find_false_host(line)) if each is not None)
