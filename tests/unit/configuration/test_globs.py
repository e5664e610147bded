"""Glob patterns: two ways to match that always agree, and no pattern that takes for ever."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.globs import (
    _match_by_steps,  # the slower of two ways
    expand_pattern,
    find_mistake,
    matches,
    matches_by_name,
    permits,
    repair,
)


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
        ("[ab]", "a", True),
        ("[ab]", "[ab]", True),
        ("[ab]", "c", False),
        ("[ab]", "ab", False),
        ("[!ab].py", "c.py", True),
        ("[^ab].py", "a.py", False),
        ("a[!b]c", "a/c", False),
        ("a[+-9]c", "a/c", False),
        ("v[0-9].[0-9]/*", "v1.2/x", True),
        ("v[0-9].[0-9]/*", "v1x2/x", False),
        ("app/[post-id]/page.tsx", "app/[post-id]/page.tsx", True),
        ("app/[[...slug]]/**", "app/[[...slug]]/a/b.ts", True),
        ("[]-a]", "]", False),
        ("secrets/*.{pem,key}", "secrets/a.pem", True),
        ("secrets/*.{pem,key}", "secrets/a.key", True),
        ("secrets/*.{pem,key}", "secrets/a.txt", False),
        ("secrets/*.{pem}", "secrets/a.pem", True),
        ("{{cookiecutter.name}}/**", "{{cookiecutter.name}}/a.py", True),
        ("{src,lib/{a,b}}/**/*.py", "lib/b/c/d.py", True),
        ("{src,lib/{a,b}}/**/*.py", "lib/c/d.py", False),
        ("{a,**}/b", "b", True),
        ("a{,.min}.js", "a.js", True),
        ("a{,.min}.js", "a.min.js", True),
        ("*a*b*c[de]{f,g}", "xaxbxcdg", True),
        ("*a*b*c[de]{f,g}", "xaxbxcfg", False),
    ],
)
def test_patterns(pattern: str, path: str, match: bool) -> None:
    assert matches(path, [pattern]) == match
    assert any(_match_by_steps(path, parts) for parts in expand_pattern(pattern)) == match


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("secrets/{pem,key", "holds “{” or “}” without the other"),
        ("secrets/pem,key}", "holds “{” or “}” without the other"),
        ("secrets/{}", "holds “{” or “}” without the other"),
        ("secrets/[ab", "holds “[” or “]” without the other"),
        ("secrets/[]", "holds “[” or “]” without the other"),
        ("a[b/c]d", "holds “[” or “]” without the other"),
        ("{a,/etc}/b", "starts with “/”"),
        ("{a,..}/b", "holds “.” or “..”"),
        ("a//b", "holds “//”"),
        ("{,x}", "is empty"),
        ("secrets/", "ends in “/”"),
        ("{secrets/,keys/**}", "ends in “/”, and only files are matched: write “secrets/**”"),
        ("{keys/**,{a,secrets/}}", "ends in “/”"),
        ("{a,b}" * 7, "stands for more than 64 patterns"),
        ("{a,b}" * 40, "stands for more than 64 patterns"),
        ("[ab]" * 50, "stands for more than 64 patterns"),
        ("{" * 99 + "a,b" + "}" * 98, "holds “{”"),
    ],
)
def test_what_could_match_nothing_is_a_mistake(pattern: str, told: str) -> None:
    assert (find_mistake(pattern) or "").startswith(told)


@pytest.mark.parametrize(
    "pattern", ["app/[id]/page.tsx", "app/[[...slug]]/**", "{{name}}/**", "*.{pem,key}", "[0-9]*", "{a,b}" * 6, "[z-a]"]
)
def test_what_matches_something_is_none(pattern: str) -> None:
    assert find_mistake(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("a/{b,c}", ["a/{b,c}"]),
        ("secrets/", ["secrets/**"]),
        ("{secrets/,keys/**}", ["secrets/**", "keys/**"]),
        ("{/etc,keys/**}", ["keys/**"]),
        ("a[", []),
        ("", []),
        ("/", []),
    ],
)
def test_what_can_be_read_of_a_pattern_with_a_mistake(pattern: str, meant: list[str]) -> None:
    assert repair(pattern) == meant


@pytest.mark.parametrize(
    ("pattern", "path", "permitted"),
    [
        ("app/[id]/**", "app/[id]/x.py", True),
        ("app/[id]/**", "app/i/x.py", False),
        ("app/[[...slug]]/**", "app/[[...slug]]/a/b.ts", True),
        ("app/[post-id]/**", "app/s/x.py", False),
        ("{a,[id]}/**", "i/x", False),
        ("{a,[id]}/**", "a/x", True),
        ("v[0-9].[0-9]/*", "v1.2/x", True),
        ("[A-Za-z_]/*", "q/x", True),
        ("[!ab].py", "c.py", True),
        ("[!ab].py", "a.py", False),
        ("**/*.{js,ts}", "a/b.ts", True),
    ],
)
def test_what_permits_means_what_is_written(pattern: str, path: str, permitted: bool) -> None:
    assert permits(path, [pattern]) == permitted
    assert matches(path, [pattern]) >= permitted


@given(st.text("a/*{},[]-!^", max_size=12), st.text("a/{}[]-!^", max_size=8))
def test_what_permits_never_matches_more(pattern: str, path: str) -> None:
    assert matches(path, [pattern]) >= permits(path, [pattern])


@given(st.text("a/*{},[]-!^", max_size=12))
def test_whatever_is_read_of_a_pattern_is_a_pattern(pattern: str) -> None:
    assert all(find_mistake(each) is None for each in repair(pattern))


@given(st.text("a/*{},[]-!^", max_size=12), st.text("a/{}[]-!^", max_size=8))
def test_any_pattern_can_be_matched_both_ways_alike(pattern: str, path: str) -> None:
    assert matches(path, [pattern]) == any(_match_by_steps(path, parts) for parts in expand_pattern(pattern))
    if find_mistake(path) is None:
        assert matches(path, [path])  # what is written matches itself, whatever its characters could mean


@given(st.text("a/*?b", max_size=8), st.text("ab/", max_size=8))
def test_both_ways_agree(pattern: str, path: str) -> None:
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens: list[str] = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    plain = re.compile("".join(meanings.get(token) or re.escape(token) for token in tokens))
    [parts] = expand_pattern(pattern)
    assert _match_by_steps(path, parts) == matches(path, [pattern]) == (plain.fullmatch(path) is not None)


def test_many_wildcards_take_no_time() -> None:
    started = time.process_time()
    assert not matches("a" * 4096, ["*a" * 40 + "b", "**/" * 60 + "b", "**a" * 30 + "b"])
    assert not matches("a" * 400, ["*a" * 40 + "{a,b}" * 5 + "c", "*a[ab]" * 5 + "b"])
    assert len(expand_pattern("{a,b}" * 40)) == 64
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("path", "pattern", "by_name"),
    [
        ("web/a.js", "**/*.js", True),
        ("a.js", "*.[jt]s", True),
        ("a.js", "{src/**,*.js}", True),
        ("deep/Dockerfile", "**/Dockerfile", True),
        ("src/x.go", "src/**.go", True),
        ("a.js", "**", False),
        ("src/a.js", "src/**", False),
        ("src/a.js", "src/*", False),
        ("a.js", "*.*", False),
        ("a.js", "*.j?", False),
        ("x.js", "**/x*", False),
        ("src/.js/a", "**/*.js/**", False),
        ("a.js", "*.go", False),
    ],
)
def test_a_pattern_names_files_or_takes_all_there_are(path: str, pattern: str, by_name: bool):
    assert matches_by_name(path, [pattern]) == by_name
