"""What the settings of a repository add to each call of pytest, and which of its files they keep from it."""

import posixpath
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from agents.testing.runners.runner import RepositoryFacts

_FILES = ("pytest.ini", ".pytest.ini")
_TABLES = ("pyproject.toml", "setup.cfg", "tox.ini")
_ITEM = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_IGNORED = re.compile(r"^collect_ignore(?:_glob)?(?:\s*:[^=\n]+)?\s*=\s*\[([^\]]*)\]", re.MULTILINE)


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
    folders = [f"(?:^|/){_translate(each.strip('/'))}/" for each in _read(facts, "norecursedirs")]
    options = [(word.partition("="), after) for word, after in pairwise([*list_added(facts), ""])]
    named = [value or after for (name, _, value), after in options if name in {"--ignore", "--ignore-glob"}]
    named += [
        posixpath.join(posixpath.dirname(path), one or other)
        for path in facts.paths
        if posixpath.basename(path) == "conftest.py"
        for items in _IGNORED.findall(facts.text(path))
        for one, other in _ITEM.findall(items)
    ]
    found = [*folders, *(f"^{_translate(each.removeprefix('./').rstrip('/'))}(?:/|$)" for each in named)]
    return re.compile("|".join(found)) if found else None


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
