"""Two statements are one where they differ in nothing that programs obey, and formatters change nothing else."""

import time

import pytest

from domain.review.identity import Statements

SAME = [
    ("a.py", "x=f(a,b)  # c", "x = f(\n    a,\n    b,\n)"),
    ("a.py", "x='a'", 'x = "a"'),
    ("a.py", "x = f(\n    a,\n)", "    x = f(a)"),
    ("a.py", "x=[1]", "x = [\n    1,\n]"),
    ("a.py", "x=a<-1", "x = a < - 1"),
    ("a.py", "x={'a':1}", 'x = {\n    "a": 1,  # n\n}'),
    ("a.js", "f('a',b=>b)", 'f(\n  "a",\n  b => b,\n)'),
    ("a.ts", "x=a||b", "x =\n  a ||\n  b"),
    ("a.js", "a.b().c()", "a\n  .b()\n  .c()"),
    ("a.js", "x = 1 // n", "x=1"),
    ("a.sh", "  rm x", "\trm x"),
]
OTHER = [
    ("a.py", "x = 'a'", "x = 'b'"),
    ("a.py", "x = 'a # b'", "x = 'a # c'"),
    ("a.js", "x = 'a // b'", "x = 'a // c'"),
    ("a.py", "x = a // b", "x = a // c"),
    ("a.py", 'x = "a\'b"', "x = 'a\"b'"),
    ("a.py", "x = (a,)", "x = (a)"),
    ("a.py", "return (a,)", "return (a)"),
    ("a.py", "x[a,]", "x[a]"),
    ("a.py", "{}[a,]", "{}[a]"),
    ("a.py", "(a or b) and c", "a or b and c"),
    ("a.py", "f(a, b)", "f(ab)"),
    ("a.py", "not x", "notx"),
    ("a.py", "b'x'", "'x'"),
    ("a.py", "x = 1\ny", "x = 1 y"),
    ("a.py", "f'{a} b'", "f'{a}  b'"),
    ("a.py", "x = '''a\n # b'''", "x = '''a\n # c'''"),
    ("a.py", 'f(f"echo {d["# a"]}")', 'f(f"echo {d["# a"]}; {c} {d["b"]}")'),
    ("a.js", "if (a) /[ //]/.test(eval(a))", "if (a) /[ //]/.test(eval(b))"),
    ("a.py", "os.chmod(p, 0o757)", "os.chmod(p, 0o777)"),
    ("a.js", "return\nx", "return x"),
    ("a.js", "[,a]", "[a]"),
    ("a.js", "[a,,]", "[a,]"),
    ("a.js", "a - -b", "a--b"),
    ("a.js", "x = /a  b/", "x = /a b/"),
    ("a.js", "x = `a  b`", "x = `a b`"),
    ("a.js", "x = `a ${`b  c`} d`", "x = `a ${`b c`} d`"),
    ("a.js", "x = 'a'", "x = `a`"),
    ("a.jsx", "<p>{x} // {y()}</p>", "<p>{x} // {z()}</p>"),
    ("a.sh", "a '$x'", 'a "$x"'),
    ("a.sh", "a # b", "a # c"),
    ("a.sh", "a= b", "a=b"),
    ("a.c", "x = 'a'", 'x = "a"'),
]


def are_one(path: str, one: str, other: str) -> bool:
    digests = {Statements(text.split("\n"), path).digest(1, text.count("\n") + 1) for text in (one, other)}
    return len(digests) == 1


def test_what_a_formatter_lays_out_anew_is_the_same() -> None:
    assert [row for row in SAME if not are_one(*row)] == []


def test_what_may_behave_otherwise_is_another() -> None:
    assert [row for row in OTHER if are_one(*row)] == []


@pytest.mark.parametrize(
    "text", ["(" * 40_000 + "]" * 40_000, "/[" * 40_000, "`${" * 40_000, '"""' + "\\" * 99_999, " //{" * 40_000]
)
@pytest.mark.parametrize("path", ["a.py", "a.js"])
def test_hostile_lines_take_time_in_proportion(path: str, text: str) -> None:
    began = time.process_time()
    Statements([text], path).digest(1, 1)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("path", "before"),
    [
        ("a.py", "x = \\\n    1"),
        ("a.py", "x = '''a\nb'''"),
        ("a.py", "x = (  # a\n    1\n)"),
        ("a.js", "x = /* a\nb */ 1"),
        ("a.js", "x = `a\nb`"),
    ],
)
def test_a_statement_of_many_lines_moves_none_of_those_behind_it(path: str, before: str) -> None:
    behind = f"{before}\nshow(1)\nshow(2)"
    last = behind.count("\n") + 1
    own, around = Statements(behind.split("\n"), path).digest_lines(last, None)
    assert own == Statements(["show(2)"], path).digest_lines(1, None)[0]
    assert Statements(["show(1)", "show(2)"], path).digest_lines(2, None)[1][0] == around[-1]
