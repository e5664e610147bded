# ruff: noqa: E501 - the tables of cases hold whole files on a line
"""What a row of the table quotes: the lines whose demand changed, whole, and otherwise none."""

import pytest

from agents.syntax.tests import find_tests
from agents.testing.earlier_tests import outcomes
from agents.testing.earlier_tests.outcomes import SharedChange, judge
from agents.testing.earlier_tests.texts import list_versions, quote
from domain.runs.earlier_tests import EarlierOutcome, EarlierTest, EarlierTests, Fate
from domain.runs.testing import CaseOutcome, TestCase
from messages.earlier_tests import render_section

_LANGUAGES = {"py": "python", "js": "javascript", "go": "go", "php": "php"}
_LONG = "'" + 40 * "long " + "'"


def show(path: str, before: str, after: str, failing: int = 0, rest: SharedChange | None = None) -> list[str]:
    """The cells of the row of the one test in a file.

    :param failing: the line at which it fails on the new code; 0: its output tells none.
    """
    (old,), (new,) = (
        list_versions(path, each, find_tests(each, _LANGUAGES[path.rpartition(".")[2]])) for each in (before, after)
    )
    name = f"{path}::{old.test.name}"
    red = TestCase(id=name, path=path, outcome=CaseOutcome.failed, details=f"{path}:{failing}: E" if failing else "")
    green = TestCase(id=name, path=path, outcome=CaseOutcome.passed)
    test = judge(
        outcomes.TestEvidence(name, path, red, red, passed_before=True, before=old, after=new, now=[green], rest=rest)
    )
    assert test.outcome is EarlierOutcome.changed
    [row] = [line for line in render_section(EarlierTests(tests=(test,))).split("\n") if line.startswith("| `")]
    return row.strip("| ").split(" | ")[1:]


@pytest.mark.parametrize(
    ("path", "before", "after", "failing", "cells"),
    [
        (  # the check itself is as it was
            "test_a.py",
            "def test_a():\n    wanted = 'a : b'\n    assert say() == wanted\n",
            "def test_a():\n    wanted = 'a: b'\n    assert say() == wanted\n",
            3,
            ["`wanted = 'a : b'`", "`wanted = 'a: b'`"],
        ),
        (  # a part of a check that is too long to be shown
            "test_a.py",
            "def test_a():\n    assert rules() == {\n        'inline': [\n            'text',\n        ],\n    }\n",
            "def test_a():\n    assert rules() == {\n        'inline': [\n            'text',\n            'linkify',\n        ],\n    }\n",
            2,
            ["-", "`'linkify',`"],
        ),
        (  # nothing stands in its place
            "test_a.py",
            "def test_a():\n    assert say() == 1\n    assert sing() == 2\n",
            "def test_a():\n    assert sing() == 2\n",
            2,
            ["`assert say() == 1`", "removed"],
        ),
        (  # a line that is cut says something else
            "test_a.py",
            f"def test_a():\n    assert say() == {_LONG}\n",
            f"def test_a():\n    assert say() == 1 + {_LONG}\n",
            2,
            ["in `test_a.py:2`", "in `test_a.py:1`"],
        ),
        (  # the output of an example is a comment
            "a_test.go",
            'package a\n\nfunc ExampleA() {\n\tif mustBreak() {\n\t\tfmt.Print("x")\n\t}\n\t// Output: (First\n\t//)! a\n}\n',
            'package a\n\nfunc ExampleA() {\n\tif mustBreak() {\n\t\tfmt.Print("x")\n\t}\n\t// Output: (First\n\t//)! b\n}\n',
            0,
            ["`)! a`", "`)! b`"],
        ),
        (  # the title says "should", and is no check
            "a.test.js",
            "it('should parse', function (done) {\n  request()\n    .send('a')\n    .expect(200, '1', done)\n})\n",
            "it('should parse', function (done) {\n  request()\n    .send('a')\n    .expect(200, '2', done)\n})\n",
            0,
            ["`.expect(200, '1', done)`", "`.expect(200, '2', done)`"],
        ),
        (  # more lines than a cell holds
            "test_a.py",
            "def test_a():\n    assert say() == '''\n" + "".join(f"a{at} :\n" for at in range(9)) + "'''\n",
            "def test_a():\n    assert say() == '''\n" + "".join(f"a{at}:\n" for at in range(9)) + "'''\n",
            2,
            [
                "`a0 :`<br>`a1 :`<br>`a2 :`<br>`a3 :`<br>`a4 :`<br>`a5 :`<br>and more",
                "`a0:`<br>`a1:`<br>`a2:`<br>`a3:`<br>`a4:`<br>`a5:`<br>and more",
            ],
        ),
    ],
)
def test_a_row_quotes_the_lines_whose_demand_changed(
    path: str, before: str, after: str, failing: int, cells: list[str]
) -> None:
    assert show(path, before, after, failing) == cells


def test_a_bracket_beside_the_test_is_no_demand() -> None:
    text = "it('passes', function () {\n  run().should.equal(1)\n})\n"
    rest = SharedChange("a.test.js", ("}",), ("},", "pause: function(){},", "resume: function(){}"))
    assert show("a.test.js", text, text, rest=rest) == ["-", "`pause: function(){},`<br>`resume: function(){}`"]


def test_of_many_lines_beside_the_test_none_is_picked() -> None:
    """Nothing tells which of them it needs."""
    text = "it('passes', function () {\n  run().should.equal(1)\n})\n"
    rest = SharedChange("a.test.js", (), tuple(f"case{at}()" for at in range(20)))
    assert show("a.test.js", text, text, rest=rest) == ["in `a.test.js`", "in `a.test.js`"]


def test_a_check_over_several_lines_is_quoted_as_one() -> None:
    text = "def test_a():\n    exc = pytest.raises(\n        TypeError, call\n    )\n"
    [version] = list_versions("test_a.py", text, find_tests(text, "python"))
    assert quote(version, 2) == ("exc = pytest.raises( TypeError, call )",)


def tell(number: int, **known: object) -> EarlierTest:
    facts = {
        "id": f"test_a.py::test_{number}",
        "path": "test_a.py",
        "outcome": EarlierOutcome.changed,
        "fate": Fate.rewritten,
    }
    return EarlierTest.model_validate({**facts, "demanded": (f"assert a == {number}",), **known})


def test_what_the_code_of_before_meets_as_well_shows_no_changed_behaviour() -> None:
    said = render_section(EarlierTests(tests=(tell(1, now=("a",)), tell(2, now=("b",), is_blind=True))))
    shown, _, other = said.partition("**Tests that ask for something else.**")
    assert ("test_1" in shown, "test_2" in shown) == (True, False)
    assert ("test_1" in other, "test_2" in other) == (False, True)
    assert "**Behaviour that tests show" not in render_section(EarlierTests(tests=(tell(2, is_blind=True),)))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            EarlierTests(left_out=3),
            "- 3 tests were left out, because their files are more than Forge runs for one change.",
        ),
        (EarlierTests(untold=1), "- 1 more test that does not hold is not told here, because they are more than 100."),
    ],
)
def test_why_tests_are_left_out_is_said(said: EarlierTests, line: str) -> None:
    assert render_section(said).split("\n")[2:] == [line]


def test_tests_that_went_with_the_same_lines_are_one_row() -> None:
    taken = [tell(number, culprits=("a.py:3-4",), fate=Fate.removed) for number in range(3)]
    rows = [line for line in render_section(EarlierTests(tests=tuple(taken))).split("\n") if line[:3] == "| `"]
    assert rows == [
        "| `test_a.py::test_0` and 2 more like it | `assert a == 0` | removed with its code<br>for `a.py:3-4` |"
    ]
