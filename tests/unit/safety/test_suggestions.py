"""Suggestions: none destroys text, repeats the lines beside it or changes nothing."""

import pytest

from agents.syntax.validity import find_broken
from domain.review.findings import Fix
from safety.suggestions import apply, is_fit

LOOP = ["for (const c of costs) {", "    total += c.price", "  }", "  return total;"]
GO = ["if x {", "\treturn 1", "}", "return 2"]


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (LOOP, Fix(start_line=2, end_line=2, replacement="    total += c;\n  }")),
        (GO, Fix(start_line=1, end_line=1, replacement="if y {\n\treturn 1\n}")),
        (["a = 1", "b = a"], Fix(start_line=2, end_line=2, replacement="a = 1\nb = a + 1")),
        (["a=1", "    return a"], Fix(start_line=1, end_line=1, replacement="a=2\n    return a ")),
        (["a=1", "    return a"], Fix(start_line=1, end_line=1, replacement="a=2\n\treturn a")),
        (["var m = '\ufffd\ufffd'.lenght;"], Fix(start_line=1, end_line=1, replacement="var m = 'x'.length;")),
        (["var m = 'x'.lenght;"], Fix(start_line=1, end_line=1, replacement="var m = '\ufffd'.length;")),
        (["a = 1\r", "b = 2\r"], Fix(start_line=1, end_line=1, replacement="a = 1")),
    ],
)
def test_what_would_do_harm_does_not_fit(lines: list[str], fix: Fix) -> None:
    assert not is_fit(fix, lines)


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (LOOP, Fix(start_line=2, end_line=2, replacement="    total += c;")),
        (LOOP, Fix(start_line=2, end_line=3, replacement="    total += c;\n  }")),
        (["import os", "import re"], Fix(start_line=1, end_line=1, replacement="")),
        (["a()", "return 0", "return 0"], Fix(start_line=1, end_line=2, replacement="b()\nreturn 0")),
        (["a()  # x", "  return 0", "return 0"], Fix(start_line=1, end_line=2, replacement="b()\nc()\nreturn 0")),
        (["a", "", "b"], Fix(start_line=1, end_line=1, replacement="c\n")),
        (["x = 1", "x = 1"], Fix(start_line=1, end_line=1, replacement="x = 2")),
        (["caf\u00e9 = 1\r"], Fix(start_line=1, end_line=1, replacement="caf\u00e9 = 2")),
    ],
)
def test_what_corrects_fits(lines: list[str], fix: Fix) -> None:
    assert is_fit(fix, lines)


def test_line_ends_stay() -> None:
    assert apply(Fix(start_line=1, end_line=1, replacement="a\nb"), "x\r\ny\r\n") == "a\r\nb\r\ny\r\n"
    assert apply(Fix(start_line=1, end_line=1, replacement=""), "x\ny\n") == "y\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "is_broken"),
    [
        ("a.ts", "for (const c of a) {\n  t += c;\n}\n", "for (const c of a) {\n  t += c;\n}\n}\n", True),
        ("a.ts", "for (const c of a) {\n  t += c;\n}\n", "for (const c of a) {\n  t -= c;\n}\n", False),
        ("A.java", "class A {\n}\n", "class A {\n}\n}\n", True),
        ("a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n", True),
        ("a.py", "type A = int\nx = f(1)\n", "type A = int\nx = f(1))\n", True),
        ("a.py", "print 'x'\n)\n", "print 'x'\n))\n", False),  # it never parsed
        ("a.md", "x\n", "(\n", False),
    ],
)
def test_syntax_that_held_is_not_broken(path: str, before: str, after: str, is_broken: bool) -> None:
    assert find_broken({"path": path, "before": before, "after": [after]}) == ([after] if is_broken else [])
