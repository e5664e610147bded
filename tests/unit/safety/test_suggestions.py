"""Suggestions: none destroys text, repeats the lines beside it or changes nothing."""

import pytest

from agents.syntax.validity import find_broken
from domain.review.findings import Fix
from safety.autofix import apply, apply_all, find_instead, is_fit, is_made, overlap

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
        (["a = 1", "b = 2"], Fix(start_line=1, end_line=2, replacement="a = 1  \nb = 2")),
        (["a = 1  # one", "b = a"], Fix(start_line=2, end_line=2, replacement="a = 1  # the first\nb = a + 1")),
        (["a = 1; // one", "b = a;"], Fix(start_line=2, end_line=2, replacement="a = 1;\nb = a + 1;")),
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
        (["a = 1  ", "b = 2"], Fix(start_line=1, end_line=1, replacement="a = 1")),
        (["# one", "b = 2"], Fix(start_line=2, end_line=2, replacement="# two\nb = 2")),
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
        ("a.go", "package a\n\nfunc f() {\n\tg(1)\n}\n", "package a\n\nfunc f() {\n\tg(1\n}\n", True),
        ("a.ts", "f(a, b);\n", "f(a, b;\n", True),
        ("A.java", "class A {\n  int a = 1;\n}\n", "class A {\n  int a = 1\n}\n", True),
        ("a.py", "print 'x'\n)\n", "print 'x'\n))\n", False),  # it never parsed
        ("a.md", "x\n", "(\n", False),
    ],
)
def test_syntax_that_held_is_not_broken(path: str, before: str, after: str, is_broken: bool) -> None:
    assert find_broken(path, before, [after]) == ([after] if is_broken else [])


FILE = b"one\r\ntwo\r\nthree\r\nfour\r\n"


def test_several_keep_line_ends_and_each_others_lines() -> None:
    fixes = [
        Fix(start_line=1, end_line=1, replacement="zero\none"),
        Fix(start_line=3, end_line=4, replacement=""),
    ]
    assert apply_all(fixes, FILE) == b"zero\r\none\r\ntwo\r\n"


def test_what_stood_above_a_file_leaves_no_gap() -> None:
    first = Fix(start_line=1, end_line=1, replacement="")
    assert apply_all([first], b"import os\r\n\r\nx = 1\r\n") == b"x = 1\r\n"
    assert apply_all([first.move(1)], b"\nimport os\n\nx = 1\n") == b"\n\nx = 1\n"


def test_what_stood_between_empty_lines_leaves_no_more_of_them() -> None:
    file = b'"""Doc."""\n\nimport os\nimport sys\n\n\nx = 1\n'
    fixes = [Fix(start_line=line, end_line=line, replacement="") for line in (3, 4)]
    assert apply_all(fixes, file) == b'"""Doc."""\n\n\nx = 1\n'
    assert apply_all(fixes[:1], file) == b'"""Doc."""\n\nimport sys\n\n\nx = 1\n'
    assert apply_all([Fix(start_line=3, end_line=3, replacement="")], b"a\n\nb\n\n") == b"a\n\n"


def test_bytes_that_are_no_text_stay() -> None:
    assert apply_all([Fix(start_line=1, end_line=1, replacement="one")], b"uno\ncaf\xe9\n") == b"one\ncaf\xe9\n"


IMPORTS = b"import os\nimport sys\n\nx = 1\n"
TAKES_AWAY, REPLACES = Fix(start_line=2, end_line=2, replacement=""), Fix(start_line=4, end_line=4, replacement="x = 2")


@pytest.mark.parametrize(
    ("fix", "new", "is_there", "instead"),
    [
        (TAKES_AWAY, IMPORTS, False, "import sys"),
        (TAKES_AWAY, IMPORTS.replace(b"import sys\n", b""), True, ""),
        (TAKES_AWAY, b"# The app.\n" + IMPORTS.replace(b"import sys\n", b""), True, ""),
        (TAKES_AWAY, IMPORTS.replace(b"sys", b"re"), False, "import re"),
        (REPLACES, IMPORTS.replace(b"x = 1", b"x = 2"), True, "x = 2"),
        (REPLACES, IMPORTS.replace(b"x = 1", b"x = 3"), False, "x = 3"),
        (REPLACES, IMPORTS + b"print(x)\n", False, "x = 1"),
        (REPLACES, b"", False, ""),
    ],
)
def test_what_a_later_version_has_instead(fix: Fix, new: bytes, is_there: bool, instead: str) -> None:
    assert is_made(fix, IMPORTS, new) is is_there
    assert find_instead(fix, IMPORTS, new) == instead


@pytest.mark.parametrize(("first", "last", "is_same"), [(1, 1, False), (1, 2, True), (3, 9, True), (4, 9, False)])
def test_replacements_of_the_same_lines(first: int, last: int, is_same: bool) -> None:
    one = Fix(start_line=2, end_line=3, replacement="x")
    assert overlap(one, Fix(start_line=first, end_line=last, replacement="")) is is_same
