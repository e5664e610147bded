"""Knows what the program had before a change and has no more, so that a test which names it went with its code."""

import re
from collections.abc import Mapping, Sequence

from agents.testing.earlier_tests.choice import Entry
from agents.testing.earlier_tests.names import (
    find_missing,
    find_unwarned,
    is_defined_less,
    keep_gone,
    list_words,
    shorten,
)
from agents.testing.earlier_tests.reading import Reader, is_of_program
from agents.testing.earlier_tests.texts import Version

_EXPECTS_VALUE = re.compile(r"==|equal|toBe\(|\beq\b|assert_eq|IsEqual|\bsame\b|EqualTo|\bis\(", re.IGNORECASE)
_TEXTS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")


class GoneNames:
    """What is gone from the program between two commits.

    :param before: path → content, of the program's files that differ, before the change; :param after: at head.
    """

    def __init__(self, reader: Reader, head: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._reader = reader
        self._head = head
        self._before = before
        self._after = after

    @classmethod
    async def of(
        cls, reader: Reader, commits: tuple[str, str], base: Mapping[str, Entry], head: Mapping[str, Entry]
    ) -> "GoneNames":
        """Read what differs between two commits."""
        touched = [path for path in base if base[path] != head.get(path) and is_of_program(path)]
        return cls(reader, commits[1], await reader.read(commits[0], touched), await reader.read(commits[1], touched))

    def verify(self, output: str) -> tuple[str, ...]:
        """The names that an output misses and the program defined, and defines no more; kinds of warnings: named."""
        missing = [name for name in find_missing(output) if is_defined_less(name, self._before, self._after)]
        return (*missing, *keep_gone(find_unwarned(output), self._before, self._after))

    async def find_in(self, version: Version, beside: Version | None) -> tuple[str, ...]:
        """The names and texts in a test that no file of the program has any more.

        A value that an assertion expects is none: a program that answers another one has not lost it.

        :param beside: what stands in its place; what that still names is not gone.
        """
        words = list_words([_TEXTS.sub("", line) if _EXPECTS_VALUE.search(line) else line for line in version.lines])
        still = "" if beside is None else "\n".join(beside.lines)
        candidates = [word for word in keep_gone(words, self._before, self._after) if word not in still]
        candidates = [word for word in candidates if not word.isidentifier() or self._is_undefined(word)]
        return tuple(await self._reader.keep_unused(self._head, candidates))[:10]

    def _is_undefined(self, word: str) -> bool:
        return is_defined_less(word, self._before, self._after)


def name_for_people(names: Sequence[str]) -> tuple[str, ...]:
    """The names without the places they were looked for in, each once."""
    return tuple(dict.fromkeys(shorten(name) if name.startswith((".", "/")) else name for name in names))
