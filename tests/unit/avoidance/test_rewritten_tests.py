"""Tests that are written anew check what they did, and those that look so and check less are still found."""

from collections.abc import Mapping

import pytest

from domain.review.avoidance import AvoidanceKind, list_certain
from tests.unit.avoidance.samples import compare, list_kinds

# --- tests within a program that moved to a file of their own ---------------------------------------------------

RUST = """\
pub fn order(a: &str, b: &str) -> Ordering {
    a.cmp(b)
}
"""
INLINE = """
#[cfg(test)]
mod tests {
    use super::order;

    fn check_order(all: &[&str]) {
        for (i, x) in all.iter().enumerate() {
            for (j, y) in all.iter().enumerate() {
                assert!(order(x, y) == i.cmp(&j), "{} and {}", x, y);
            }
        }
    }

    #[test]
    fn test_plain() {
        check_order(&["a0", "a1", "a2"]);
    }
}
"""
OUTSIDE = """\
fn check_order(by: fn(&str, &str) -> Ordering, all: &[&str]) {
    for (i, x) in all.iter().enumerate() {
        for (j, y) in all.iter().enumerate() {
            assert_eq!(by(x, y), i.cmp(&j), "{} and {}", x, y);
        }
    }
}

fn check_both(all: &[&str]) {
    check_order(shop::order, all);
    check_order(shop::order_loosely, all);
}

#[test]
fn plain() {
    check_both(&["a0", "a1", "a2"]);
}

#[test]
fn empty() {
    assert_eq!(shop::order("", ""), Ordering::Equal);
}
"""


def test_inline_tests_may_move_and_hand_their_values_to_another_helper() -> None:
    assert not list_kinds(compare({"lib.rs": RUST + INLINE}, {"lib.rs": RUST, "tests/order.rs": OUTSIDE}))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('"a1", "a2"]);\n}\n\n#[test]\nfn empty', '"a1"]);\n}\n\n#[test]\nfn empty'),
        ('assert_eq!(by(x, y), i.cmp(&j), "{} and {}", x, y);', "by(x, y);"),
        ("    check_order(shop::order, all);\n    check_order(shop::order_loosely, all);\n", "    all.len();\n"),
        ("#[test]\nfn plain", "#[test]\n#[ignore]\nfn plain"),
    ],
)
def test_inline_tests_that_lose_something_on_their_way_are_gone(was: str, becomes: str) -> None:
    less = OUTSIDE.replace(was, becomes)
    assert less != OUTSIDE
    found = list_kinds(compare({"lib.rs": RUST + INLINE}, {"lib.rs": RUST, "tests/order.rs": less}))
    assert found & {AvoidanceKind.test_removed, AvoidanceKind.test_skipped}


# --- flags of cases that went with the condition for skipping --------------------------------------------------

PHP = """\
<?php
class WordTest extends TestCase
{
    public function cases()
    {
        return array(
            array('length', array('abcd', 4), true),
            array('length', array('\u00e4bcd', 4), true, true),
            array('length', array('\u00e4bc', 4), false, true, 70000),
        );
    }

    /**
     * @dataProvider cases
     */
    public function testWord($method, $args, $success, $multibyte = false, $oldest = null)
    {
        if ($oldest && PHP_VERSION_ID < $oldest) {
            $this->markTestSkipped('too old');
        }
        if ($multibyte && !function_exists('mb_strlen')) {
            $this->markTestSkipped('no mb_strlen');
        }
        if (!$success) {
            $this->expectException('InvalidArgumentException');
        }
        call_user_func_array(array('Word', $method), $args);
    }
}
"""
_SKIPS = PHP[PHP.index("        if ($oldest") : PHP.index("        if (!$success")]
UNSKIPPED = (
    PHP.replace(_SKIPS, "")
    .replace(", $multibyte = false, $oldest = null", "")
    .replace("true, true)", "true)")
    .replace("false, true, 70000)", "false)")
)


def test_skips_for_old_versions_may_go_with_the_values_that_they_looked_at() -> None:
    assert not list_kinds(compare({"tests/WordTest.php": PHP}, {"tests/WordTest.php": UNSKIPPED}))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("            array('length', array('\u00e4bc', 4), false),\n", ""),
        ("array('\u00e4bc', 4), false)", "array('\u00e4bc', 4), true)"),
        ("            $this->expectException('InvalidArgumentException');\n", "            return;\n"),
    ],
)
def test_a_case_that_says_less_is_found_beside_skips_that_go(was: str, becomes: str) -> None:
    less = UNSKIPPED.replace(was, becomes)
    assert less != UNSKIPPED
    assert list_kinds(compare({"tests/WordTest.php": PHP}, {"tests/WordTest.php": less}))


def test_values_of_cases_that_decide_about_more_than_skipping_are_missed() -> None:
    before = PHP.replace(_SKIPS, "")
    after = before.replace("true, true)", "true)").replace("false, true, 70000)", "false)")
    assert list_kinds(compare({"tests/WordTest.php": before}, {"tests/WordTest.php": after}))


# --- commands ---------------------------------------------------------------------------------------------------


def _describe_package(command: str) -> Mapping[str, str]:
    return {"package.json": f'{{\n  "scripts": {{\n    "test": "{command}"\n  }}\n}}\n'}


def test_a_check_before_the_tests_of_the_same_line_is_still_there() -> None:
    assert not list_kinds(compare(_describe_package("tsc -p ."), _describe_package("tsc -p . && jest")))


@pytest.mark.parametrize(
    ("command", "kind"),
    [("jest", AvoidanceKind.failure_ignored), ("tsc -p .", AvoidanceKind.test_deselected)],
)
def test_either_of_a_line_that_goes_is_found(command: str, kind: AvoidanceKind) -> None:
    assert kind in list_kinds(compare(_describe_package("tsc -p . && jest"), _describe_package(command)))


# --- truth in the words of another framework ----------------------------------------------------------------------

UNITTEST = """\
class TestHunk(unittest.TestCase):
    def test_valid(self):
        hunk = Hunk(1)
        self.assertTrue(hunk.is_valid(), "it is not")

    def test_invalid(self):
        hunk = Hunk(source=1)
        self.assertFalse(hunk.is_valid())
"""
PYTEST = """\
def test_valid():
    assert Hunk(1).is_valid()


def test_invalid():
    assert not Hunk(source=1).is_valid()
"""


def test_a_truth_may_be_asked_for_by_a_plain_assertion() -> None:
    assert not list_kinds(compare({"tests/test_a.py": UNITTEST}, {"tests/test_a.py": PYTEST}))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("not Hunk(source=1).is_valid()", "Hunk(source=1).is_valid()"),
        ("assert Hunk(1).is_valid()", "assert Hunk(1)"),
        ("assert Hunk(1).is_valid()", "assert Hunk(1).is_valid"),
        ("assert Hunk(1).is_valid()", "assert Hunk(1) or Hunk(1).is_valid()"),
        ("assert Hunk(1).is_valid()", "assert isinstance(Hunk(1).is_valid(), bool)"),
    ],
)
def test_a_plain_assertion_that_asks_for_less_is_found(was: str, becomes: str) -> None:
    less = PYTEST.replace(was, becomes)
    assert less != PYTEST
    assert list_kinds(compare({"tests/test_a.py": UNITTEST}, {"tests/test_a.py": less}))


# --- assertions that became cases, or elements of a tuple -----------------------------------------------------------

LOOPS = """\
class TestRoman(unittest.TestCase):
    def test_errors(self):
        self.assertRaises(roman.RangeError, roman.to_roman, 100000)
        self.assertRaises(roman.IntegerError, roman.to_roman, "1")
        self.assertRaises(roman.IntegerError, roman.to_roman, "n", special=False)

    def test_main(self):
        for number, word in NUMBERS:
            sys.argv = ["roman", word]
            status = roman.main()
            output = sys.stdout.getvalue().strip()
            self.assertEqual(output, str(number))
            self.assertEqual(status, os.EX_OK)

    def test_main_lower(self):
        for number, word in NUMBERS:
            sys.argv = ["roman", word.lower()]
            status = roman.main()
            output = sys.stdout.getvalue().strip()
            self.assertEqual(output, str(number))
            self.assertEqual(status, os.EX_OK)
"""
CASES = """\
@pytest.mark.parametrize("value, options, error", [
    (100000, {}, roman.RangeError),
    (5000, {}, roman.RangeError),
    ("1", {}, roman.IntegerError),
    ("n", {"special": False}, roman.IntegerError),
])
def test_errors(value, options, error):
    with pytest.raises(error):
        roman.to_roman(value, **options)


@pytest.mark.parametrize("number, word", NUMBERS)
@pytest.mark.parametrize("spell", [str.upper, str.lower])
def test_main(run_main, spell, number, word):
    assert run_main(spell(word)) == (os.EX_OK, str(number))
"""


def test_loops_and_errors_may_become_tables_also_through_a_fixture() -> None:
    assert not list_kinds(compare({"tests/test_a.py": LOOPS}, {"tests/test_a.py": CASES}))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("    (100000, {}, roman.RangeError),\n", ""),
        ('("1", {}, roman.IntegerError)', '("1", {}, Exception)'),
        ("pytest.raises(error)", "pytest.raises(Exception)"),
        ('    ("n", {"special": False}, roman.IntegerError),\n', ""),
        (", str.lower]", ", str.title]"),
        (" == (os.EX_OK, str(number))", "[0] == os.EX_OK"),
        (" == (os.EX_OK, str(number))", " == (os.EX_OK, os.EX_OK)"),
    ],
)
def test_a_table_that_has_less_than_the_assertions_is_found(was: str, becomes: str) -> None:
    less = CASES.replace(was, becomes)
    assert less != CASES
    assert list_kinds(compare({"tests/test_a.py": LOOPS}, {"tests/test_a.py": less}))


# --- values that a hook prepared, which became the cases of a table ---------------------------------------------------

PREPARED = """\
class TestLine(unittest.TestCase):
    def setUp(self):
        self.plus_line = Line("text", kind=ADDED)
        self.minus_line = Line("text", kind=REMOVED)

    def test_repr(self):
        self.assertEqual(repr(self.plus_line), "<Line: +text>")

    def test_equal(self):
        other = Line("text", kind=ADDED)
        self.assertEqual(self.plus_line, other)

    def test_is_added(self):
        self.assertTrue(self.plus_line.is_added)
        self.assertFalse(self.minus_line.is_added)

    def test_is_removed(self):
        self.assertTrue(self.minus_line.is_removed)
        self.assertFalse(self.plus_line.is_removed)

    def test_prefixes(self):
        for prefix in ("c", "i", "o"):
            changed_file = ChangedFile(source="%s/foo" % prefix)
            self.assertEqual(changed_file.path, "foo")
"""
IN_TABLES = """\
def make_line(kind):
    return Line("text", kind=kind)


@pytest.mark.parametrize("kind, shown", [(ADDED, "+text"), (REMOVED, "-text")])
def test_shown(kind, shown):
    assert str(make_line(kind)) == shown
    assert repr(make_line(kind)) == "<Line: %s>" % shown


def test_equal():
    assert make_line(ADDED) == make_line(ADDED)


@pytest.mark.parametrize("kind, is_added, is_removed", [
    (ADDED, True, False),
    (REMOVED, False, True),
])
def test_kind(kind, is_added, is_removed):
    line = make_line(kind)
    assert line.is_added is is_added
    assert line.is_removed is is_removed


@pytest.mark.parametrize("source, path", [
    ("c/foo", "foo"),
    ("i/foo", "foo"),
    ("o/foo", "foo"),
    ("/foo", "/foo"),
])
def test_path(source, path):
    assert ChangedFile(source=source).path == path
"""


def test_prepared_values_may_become_the_cases_of_a_table() -> None:
    found = compare({"tests/test_a.py": PREPARED}, {"tests/test_a.py": IN_TABLES})
    assert list_kinds(found) <= {AvoidanceKind.assertion_weakened}
    assert len(list_certain(found)) <= 1


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("    (REMOVED, False, True),\n", ""),
        ("(REMOVED, False, True)", "(REMOVED, False, False)"),
        ("    assert line.is_removed is is_removed\n", ""),
        ('"<Line: %s>" % shown', '"<Lines: %s>" % shown'),
        ('    ("o/foo", "foo"),\n', ""),
        ('("i/foo", "foo")', '("i/foo", "i/foo")'),
        ("ChangedFile(source=source).path == path", "ChangedFile(source=source).path"),
        ("assert make_line(ADDED) == make_line(ADDED)", "line = make_line(ADDED)\n    assert line == line"),
    ],
)
def test_a_table_that_lacks_what_was_prepared_is_found(was: str, becomes: str) -> None:
    less = IN_TABLES.replace(was, becomes)
    assert less != IN_TABLES
    assert AvoidanceKind.test_removed in list_kinds(compare({"tests/test_a.py": PREPARED}, {"tests/test_a.py": less}))
