"""Tables of cases in the forms that languages and frameworks have for them."""

from collections.abc import Mapping

import pytest

from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

RUST = """\
static WORDS: &[&str] = &["one", "two words", "three"];

#[test]
fn splits() {
    for word in WORDS {
        assert!(split(word).is_some());
    }
}
"""
TABLES: Mapping[str, tuple[str, str]] = {
    "tests/test_a.py": ("def test_a():\n    for x in ['one', 'two', 'six']:\n        assert f(x)\n", ", 'two'"),
    "tests/test_b.py": (
        "@pytest.mark.parametrize('x', ['one', 'two', 'six'])\ndef test_a(x):\n    assert f(x)\n",
        ", 'two'",
    ),
    "test/a.test.js": ("test.each([1.5, 22, 37])('of %s', (x) => {\n  expect(f(x)).toBe(true);\n});\n", ", 22"),
    "test/b.test.ts": (
        "it.each`\n  a | b\n  ${1} | ${2}\n  ${3} | ${4}\n`('f($a)', ({ a, b }) => {\n  expect(f(a)).toBe(b);\n});\n",
        "  ${3} | ${4}\n",
    ),
    "a_test.go": (
        (
            'package a\n\nfunc TestA(t *testing.T) {\n\tfor _, x := range []string{"one", "two", "six"} {\n'
            "\t\tif !f(x) {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n}\n"
        ),
        ', "two"',
    ),
    "b_test.go": (
        (
            'package a\n\nfunc TestA(t *testing.T) {\n\tcases := map[string]int{"one": 1, "two": 2, "six": 6}\n'
            "\tfor x, y := range cases {\n\t\tif f(x) != y {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n}\n"
        ),
        ', "two": 2',
    ),
    "src/test/java/ATest.java": (
        (
            'class ATest {\n  @Theory\n  @ValueSource(strings = {"one", "two", "six"})\n  void a(String x) {\n'
            "    assertTrue(f(x));\n  }\n}\n"
        ),
        ', "two"',
    ),
    "spec/a_spec.rb": (
        "%w[one two six].each do |x|\n  it x do\n    expect(f(x)).to be(true)\n  end\nend\n",
        " two",
    ),
    "tests/a.rs": (RUST, ', "two words"'),
    "tests/ATest.php": (
        (
            "<?php\nclass ATest extends TestCase {\n  public function testA(): void {\n"
            "    foreach (['one', 'two', 'six'] as $x) {\n      $this->assertTrue(f($x));\n    }\n  }\n}\n"
        ),
        ", 'two'",
    ),
}


@pytest.mark.parametrize("path", TABLES)
def test_a_case_that_is_gone_is_named(path: str) -> None:
    before, case = TABLES[path]
    assert list_kinds(compare({path: before}, {path: before.replace(case, "", 1)})) == {AvoidanceKind.test_removed}
    assert list_kinds(compare({path: before.replace(case, "", 1)}, {path: before})) == set()


@pytest.mark.parametrize("path", TABLES)
def test_another_value_in_the_place_of_a_case_is_no_loss(path: str) -> None:
    before, case = TABLES[path]
    after = before.replace(case, case.replace("two", "two-again").replace("22", "23").replace("${4}", "${5}"), 1)
    assert AvoidanceKind.test_removed not in list_kinds(compare({path: before}, {path: after}))


def test_a_row_that_expects_something_else_is_no_lost_one() -> None:
    before = (
        'CASES = [("a b c", None), ("d e f", 2)]\n\n\ndef test_a():\n    for x, y in CASES:\n        assert f(x) == y\n'
    )
    after = before.replace('"a b c", None', '"a b c", ["a", "b", "c", "more", "than", "before"]')
    found = compare({"tests/test_a.py": before}, {"tests/test_a.py": after})
    assert {each.kind for each in found} == {AvoidanceKind.expectation_changed}


def test_values_that_nothing_goes_through_are_no_cases() -> None:
    before = "def test_a():\n    assert f(['one', 'two', 'six']) == 3\n"
    after = before.replace(", 'six'", "").replace("3", "2")
    assert AvoidanceKind.test_removed not in {
        each.kind for each in compare({"tests/test_a.py": before}, {"tests/test_a.py": after})
    }


def test_the_parts_of_a_row_are_no_cases() -> None:
    before = 'CASES = {"a": ("one", "two"), "b": ("six", "ten")}\n\n\ndef test_a():\n    assert f(CASES)\n'
    after = before.replace('("one", "two")', '("one",)')
    assert list_kinds(compare({"tests/test_a.py": before}, {"tests/test_a.py": after})) == set()
