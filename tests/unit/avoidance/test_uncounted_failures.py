"""Tests that do not count any more: private ones, and those around which a rule drops the failure."""

import pytest

from agents.review.avoidance.repository_context import read_settings
from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

DESELECTED, IGNORED = AvoidanceKind.test_deselected, AvoidanceKind.failure_ignored
RUBY = "class ShopTest < Minitest::Test\n{}  def test_total\n    assert_equal 3, total(1, 2)\n  end\nend\n"
RULE = """class Again implements TestRule {{
    public void evaluate() throws Throwable {{
        Throwable last = null;
        for (int i = 0; i < 3; i++) {{
            try {{
                base.evaluate();
                return;
            }} catch (AssertionError e) {{
                last = e;
            }}
        }}
        {}
    }}
}}
"""
TRIED = (
    'class ShopTest {\n    @Test\n    public void testBad() {\n        try {\n            shop.parse("x");\n'
    "            fail();\n        } catch (ParseError e) {\n        }\n    }\n}\n"
)
MARKED = 'class ShopTest {{\n    @Test{}\n    public void testBad() {{\n        shop.parse("x");\n    }}\n}}\n'


@pytest.mark.parametrize("word", ["private", "protected"])
def test_a_private_method_is_no_test(word: str) -> None:
    before, after = RUBY.format(""), RUBY.format(f"  {word}\n\n")
    assert list_kinds(compare({"test/shop_test.rb": before}, {"test/shop_test.rb": after})) == {DESELECTED}


@pytest.mark.parametrize(
    "above", ["  private\n\n  def shop\n    Shop.new\n  end\n\n  public\n\n", "  private def shop = Shop.new\n\n"]
)
def test_a_method_that_is_public_again_is_a_test(above: str) -> None:
    assert not compare({"test/shop_test.rb": RUBY.format("")}, {"test/shop_test.rb": RUBY.format(above)})


@pytest.mark.parametrize("end", ["", "if (last.getCause() != null) throw last.getCause();"])
def test_a_rule_that_drops_the_failure_is_found(end: str) -> None:
    found = compare({}, {"src/test/java/Again.java": RULE.format(end)})
    assert list_kinds(found) == {IGNORED}


@pytest.mark.parametrize("end", ["throw last;", "throw new AssertionError(last);", "errors.addError(last);"])
def test_a_rule_that_tells_of_the_failure_is_left_alone(end: str) -> None:
    assert not list_kinds(compare({}, {"src/test/java/Again.java": RULE.format(end)}))


def test_an_error_may_be_expected_by_a_mark() -> None:
    path = "src/test/java/ShopTest.java"
    marked = MARKED.format("(expected = ParseError.class)")
    assert not list_kinds(compare({path: TRIED}, {path: marked}))
    assert list_kinds(compare({path: marked}, {path: MARKED.format("")})) == {
        AvoidanceKind.assertion_removed,
        AvoidanceKind.test_removed,
    }


@pytest.mark.parametrize(("options", "is_left_out"), [("slow or not slow", False), ("not slow", True)])
def test_a_choice_of_everything_leaves_nothing_out(options: str, is_left_out: bool) -> None:
    before, after = "test:\n\tpytest -v\n", f'test:\n\tpytest -v -m "{options}"\n'
    found = compare({"Makefile": before}, {"Makefile": after}, around=read_settings({}))
    assert (list_kinds(found) == {DESELECTED}) is is_left_out
