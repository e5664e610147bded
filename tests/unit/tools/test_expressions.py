"""An expression finds in a search what Python's finds, or is refused."""

import re

import pytest

from agents.loop.tools.tool import Result
from tests.unit.tools.conftest import Opened
from tests.unit.workspace.remotes import Author

LINES = (
    "def f(a1, b_2):", "    return {'x': 3}", "a.b-c", "tab\there", "[1]", "back\\slash", "^caret", "x", "", "foo",
    "foobar", "`quoted`", "it's", "<div class=\"a\">", "a{2}", "aa", "$5", "price: 12.50", "]", "-", "dd", "\\d", "w.",
)  # fmt: skip
PATTERNS = (
    r"\d", r"\d+\.\d{2}", r"\D\d", r"[\w.]+-", r"[^\w\s]", r"\bfoo\b", r"(?:foo|bar)+$", r"^def \w+\(", r"\{'x'",
    r"return {", r"\t", r"[\t]", r"\[\d\]", r"[\[\]]", r"[\]]", r"[]]", r"[^\]]$", r"\\", r"[\\]", r"[\^]", r"[\^-]",
    r"^[-\d]", r"[a\-c]", r"[\^\[]", r"\`", r"it\'s", r"<div.*?>", r"a{2}", r"a\{2\}", r"^$", r"\$\d", r"[a-c]\d",
    r"\S", r"[\[.]", r"[^^]", r"[-^]", r"^\W", r"\.", r"[\d.]+$", r"x|y", r"(a|b)\d", r"\"a\"", r"a\-?",
    r"[\s\S]x", r"[x&~]$", r"[1\[]1", r"\w{1,}-",
    r"(?i)FOO", r"(?P<x>a)b|aa", r"\x41|\x61", r"[^\n]-", r"(?:\d{1,3}\.){1}\d{1,3}", r".{0,200}x.{0,200}",
    r"(?:\{'x'|def f)", r"=\"a\">|{}?'",
)  # fmt: skip


async def test_the_same_lines_are_found(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": "\n".join(LINES) + "\n", "crlf": "\r\n".join(LINES) + "\r\n"}))
    for pattern in PATTERNS:
        outcome = await call("grep", pattern=pattern)
        wanted = {i for i, line in enumerate(LINES, 1) if re.search(pattern, line)}
        assert wanted, pattern
        assert list_lines(outcome, "a") == wanted, pattern
        assert list_lines(outcome, "crlf") >= wanted, pattern


def list_lines(outcome: Result, file: str) -> set[int]:
    return {int(number) for number in re.findall(rf"^{file}:(\d+):", outcome.text, re.MULTILINE)}


@pytest.mark.parametrize("pattern", [r"a\\{", r"interface{}", r"\${x}", r"\p{Lu}", r"\x{e9}"])
async def test_a_brace_is_one_where_it_bounds_nothing(author: Author, opened: Opened, pattern: str) -> None:
    call = await opened(author.commit({"a": "a\\{\nx interface{} y\n${x}\nÉ\né\n"}))
    found = list_lines(await call("grep", pattern=pattern), "a")
    assert found == {r"a\\{": {1}, r"interface{}": {2}, r"\${x}": {3}, r"\p{Lu}": {4}, r"\x{e9}": {5}}[pattern]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "backreferences are not supported"),
        (r"(?=a)", "look-around"),
        (r"[1[]1", "unclosed character class"),
        (r"a{,3}$", "repetition quantifier"),
        (r"((a{1,100}){1,100}){1,100}b", "size limit"),
        (r"(?:a{2000}){2000}", "size limit"),
        (r"a\nb", "one line at a time"),
    ],
)
async def test_what_cannot_be_searched_is_refused(author: Author, opened: Opened, pattern: str, why: str) -> None:
    call = await opened(author.commit({"a": "a\n"}))
    refused = await call("grep", pattern=pattern)
    assert refused.is_error
    assert why in refused.text


async def test_a_fixed_text_may_hold_what_would_be_a_line_break(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": "x\nprint('a\\n')\n"}))
    assert list_lines(await call("grep", pattern=r"a\n'", fixed=True), "a") == {2}
