"""Glob patterns: two ways to match that always agree, and no pattern that takes for ever."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.globs import _by_steps, matches  # pyright: ignore[reportPrivateUsage]  # the slower of two ways


@pytest.mark.parametrize(
    ("pattern", "path", "match"),
    [
        ("**", "a/b.py", True),
        ("**", "a\nb", True),
        ("*", "a/b", False),
        ("*.py", "a.py", True),
        ("*.py", "a/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("src/**", "src/a/b", True),
        ("src/**", "srcs/a", False),
        ("src/**/test/**/*.py", "src/test/a.py", True),
        ("src/**/test/**/*.py", "src/a/b/test/c/a.py", True),
        ("src/**/test/**/*.py", "src/attest/a.py", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
    ],
)
def test_patterns(pattern: str, path: str, match: bool) -> None:
    assert matches(path, [pattern]) == match
    assert _by_steps(path, pattern) == match


@given(st.text("a/*?b", max_size=8), st.text("ab/", max_size=8))
def test_both_ways_agree(pattern: str, path: str) -> None:
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens: list[str] = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    plain = re.compile("".join(meanings.get(token) or re.escape(token) for token in tokens))
    assert _by_steps(path, pattern) == matches(path, [pattern]) == (plain.fullmatch(path) is not None)


def test_many_wildcards_take_no_time() -> None:
    started = time.process_time()
    assert not matches("a" * 4096, ["*a" * 40 + "b", "**/" * 60 + "b", "**a" * 30 + "b"])
    assert time.process_time() - started < 5
