"""What the settings of a repository add to each call of pytest, and which of its files they keep from it."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.testing.runners.runner import RepositoryFacts

_FILES = ("pytest.ini", ".pytest.ini")
_TABLES = ("pyproject.toml", "setup.cfg", "tox.ini")
_ITEM = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_IGNORED = re.compile(r"^(collect_ignore(?:_glob)?)(?:\s*:[^=\n]+)?\s*=\s*\[([^\]]*)\]", re.MULTILINE)


def list_added(facts: RepositoryFacts) -> list[str]:
    """The words of ``addopts``."""
    return _read(facts, "addopts")


def drop_coverage(words: Sequence[str]) -> list[str]:
    """The words without the options of pytest-cov, which may be missing, and their values."""
    kept: list[str] = []
    is_value = False
    for word in words:
        is_option = word.startswith(("--cov", "--no-cov"))
        if not is_option and not (is_value and not word.startswith("-")):
            kept.append(word)
        is_value = is_option and "=" not in word
    return kept


def find_left_out(facts: RepositoryFacts) -> re.Pattern[str] | None:
    """Matches the paths that a repository keeps from pytest; None if it keeps none.

    A file that is named on its command line is run in spite of ``norecursedirs``.
    """
    found = [*_list_folders(facts), *_list_options(list_added(facts)), *_list_in_conftests(facts)]
    return re.compile("|".join(found)) if found else None


def _list_folders(facts: RepositoryFacts) -> Iterator[str]:
    for pattern in _read(facts, "norecursedirs"):
        yield f"(?:^|/){_translate(pattern.strip('/'))}/"


def _list_options(words: Sequence[str]) -> Iterator[str]:
    for word, after in pairwise([*words, ""]):
        name, mark, value = word.partition("=")
        if name in {"--ignore", "--ignore-glob"}:
            yield _build(value if mark else after)


def _list_in_conftests(facts: RepositoryFacts) -> Iterator[str]:
    for path in facts.paths:
        folder, _, name = path.rpartition("/")
        for _, items in _IGNORED.findall(facts.text(path)) if name == "conftest.py" else ():
            for one, other in _ITEM.findall(items):
                yield _build(f"{folder}/{one or other}" if folder else one or other)


def _build(place: str) -> str:
    return f"^{_translate(place.removeprefix('./').rstrip('/'))}(?:/|$)"


def _translate(pattern: str) -> str:
    """A pattern of a shell as a regular expression; an empty one matches nothing."""
    return re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") or "(?!)"


def _read(facts: RepositoryFacts, name: str) -> list[str]:
    """The words of a setting: of a list, or as a shell takes them."""
    own = next((each for each in _FILES if each in facts.paths), None)
    text = facts.text(own) if own else facts.text(*_TABLES)
    found = re.search(rf"^{name}[ \t]*=[ \t]*(.*(?:\n[ \t]+\S.*)*)", text, re.MULTILINE)
    value = found[1].strip() if found else ""
    if value.startswith("["):
        return [one or other for one, other in _ITEM.findall(value)]
    try:
        return shlex.split(value.strip("\"'"), comments=True)
    except ValueError:
        return []
