"""Decides which lines agents may not write, because people would read something else in them than machines."""

from collections.abc import Iterator

from domain.paths import is_document, is_source
from domain.text.hidden_characters import (
    HiddenText,
    find_alike,
    find_hidden_message,
    find_invisible,
    find_turned,
)


def find_unwritable(path: str, before: bytes, after: bytes) -> Iterator[tuple[int, HiddenText]]:
    """The new lines with such text, by number, each with the first of it.

    It is stricter than the review of a person's change, which knows what is a string: an agent can write an escape
    sequence there.

    :param before: the file's content; empty if it is new.
    """
    if after.isascii():
        return
    known = set(_split(before))
    for number, line in enumerate(_split(after), 1):
        if not line.isascii() and line not in known:
            text = line.removeprefix("\ufeff") if number == 1 else line
            found = _find(path, text)
            if found is not None:
                yield number, found


def _split(content: bytes) -> list[str]:
    return content.decode(errors="replace").split("\n")


def _find(path: str, line: str) -> HiddenText | None:
    if is_document(path):
        return find_hidden_message(line)
    program = is_source(path)
    found = [find_turned(line, is_translation=not program), next(find_invisible(line), None)]
    found += [next(find_alike(line), None)] if program else []
    return next((each for each in found if each is not None), None)
