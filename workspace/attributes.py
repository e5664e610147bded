"""Reads what ``.gitattributes`` says about generated, vendored and binary files, and ignores the rest of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

_READ = frozenset({"linguist-generated", "linguist-vendored", "diff"})
_MOST_RULES = 500


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """One line of a ``.gitattributes`` file. A value of ``None`` takes a setting back."""

    directory: str
    pattern: str
    values: Mapping[str, bool | None]

    def matches(self, path: str) -> bool:
        inside = path.removeprefix(self.directory)
        if self.directory and inside == path:
            return False
        if "/" not in self.pattern:
            return fnmatchcase(inside.rsplit("/", 1)[-1], self.pattern)
        return _match_glob(self.pattern.lstrip("/").split("/"), inside.split("/"))


class Attributes:
    """What the ``.gitattributes`` files of the merge base say, read as data.

    :param files: directory ("" or ending in a slash) → content. Deeper files and later lines win (gitattributes(5)).
    """

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        ordered = sorted((files or {}).items(), key=lambda item: item[0].count("/"))
        rules = [rule for directory, content in ordered for rule in _rules(directory, content)]
        self._rules = rules[:_MOST_RULES]

    def of(self, path: str, name: str) -> bool | None:
        """Whether an attribute is set (True), unset (False) or not mentioned (None)."""
        for rule in reversed(self._rules):
            if name in rule.values and rule.matches(path):
                return rule.values[name]
        return None


def _rules(directory: str, content: bytes) -> Iterator[AttributeRule]:
    for line in content[:100_000].decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) < 2 or words[0].startswith(("#", "!", "[attr]", '"')) or words[0].endswith("/"):
            continue
        values = dict(_value(word) for word in _expand_macros(words[1:]))
        if known := {name: value for name, value in values.items() if name in _READ}:
            yield AttributeRule(directory, re.sub(r"\\(.)", r"[\1]", words[0]), known)


def _expand_macros(words: Sequence[str]) -> Iterator[str]:
    """``binary`` is git's built-in macro for ``-diff -merge -text``."""
    for word in words:
        yield from ("-diff",) if word == "binary" else (word,)


def _value(word: str) -> tuple[str, bool | None]:
    if word.startswith("!"):
        return word[1:], None
    if word.startswith("-"):
        return word[1:], False
    name, _, value = word.partition("=")
    return name, value.lower() not in {"false", "no", "0"}


def _match_glob(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether path components match those of a pattern; ``**`` stands for any number.

    The time is never exponential, because only the latest ``**`` is retried.
    """
    at = place = 0
    star = retry = -1
    while place < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            star, retry = at, place
            at += 1
            if at == len(pattern):
                return True
        elif at < len(pattern) and fnmatchcase(parts[place], pattern[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            retry += 1
            at, place = star + 1, retry
        else:
            return False
    return at == len(pattern)
