"""An expression finds in a search what Python's finds, or is refused."""

import re

import pytest

from agents.loop.tools.files import to_linear
from agents.loop.tools.tool import Result, ToolMistake
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
    r"[\s\S]x", r"[x&~]$", r"[1[]1", r"\w{1,}-", r"a{,3}$",
)  # fmt: skip


async def test_the_same_lines_are_found(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": "\n".join(LINES) + "\n", "crlf": "\r\n".join(LINES) + "\r\n"}))
    for pattern in PATTERNS:
        outcome = await call("grep", pattern=pattern)
        wanted = {i for i, line in enumerate(LINES, 1) if re.search(pattern, line)}
        assert wanted, pattern
        assert list_lines(outcome, "a") == wanted, (pattern, to_linear(pattern))
        assert list_lines(outcome, "crlf") >= wanted, (pattern, to_linear(pattern))


def list_lines(outcome: Result, file: str) -> set[int]:
    return {int(number) for number in re.findall(rf"^{file}:(\d+):", outcome.text, re.MULTILINE)}


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", r"(?=a)", r"(?i)a", r"(?P<x>a)", r"\x41", r"\p{L}", r"[\x00-\x1f]", r"\n"]
)
def test_what_cannot_be_said_is_refused(pattern: str) -> None:
    with pytest.raises(ToolMistake, match="does not know"):
        to_linear(pattern)


def test_what_repeats_what_repeats_is_refused_before_it_is_written_out() -> None:
    for pattern in (r"((a{1,100}){1,100}){1,100}b", r"(?:a{2000}){2000}"):
        with pytest.raises(ToolMistake, match="too often"):
            to_linear(pattern)
    for pattern in (r"(\d{1,3}\.){3}\d{1,3}", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r".{0,200}x.{0,200}"):
        assert to_linear(pattern)
