"""Tests that are there and check nothing: mocked subjects, classes that no runner finds, helpers that help little."""

from collections.abc import Mapping

import pytest

from domain.review.avoidance import Avoidance, AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

PYTHON = "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"
SCRIPT = 'import * as shop from "../shop";\n\nit("adds", () => {\n  expect(shop.total([1, 2])).toBe(3);\n});\n'
RUBY = "describe Shop do\n  it 'adds' do\n    expect(Shop.total([1, 2])).to eq(3)\n  end\nend\n"
JAVA = "class ShopTest {\n  @Test\n  void adds() {\n    assertEquals(3, shop.total(1, 2));\n  }\n}\n"
MOCKED: Mapping[str, tuple[str, str, str]] = {
    "tests/test_a.py": (PYTHON, "    assert", "    shop.total = Mock(return_value=3)\n    assert"),
    "tests/test_b.py": (PYTHON, "def test", "@patch(\n    'shop.total', return_value=3\n)\ndef test"),
    "tests/test_c.py": (
        PYTHON.replace("test_total()", "test_total(monkeypatch)"),
        "    assert",
        "    monkeypatch.setattr(shop, 'total', lambda prices: 3)\n    assert",
    ),
    "test/shop.test.js": (SCRIPT, "  expect", '  jest.spyOn(shop, "total")\n    .mockReturnValue(3);\n  expect'),
    "test/shop.test.ts": (SCRIPT, "\n\nit", '\n\nvi.mock("../shop", () => ({ total: () => 3 }));\n\nit'),
    "spec/shop_spec.rb": (RUBY, "    expect", "    allow(Shop).to receive(:total).and_return(3)\n    expect"),
    "src/test/java/ShopTest.java": (JAVA, "    assert", "    when(shop.total(1, 2)).thenReturn(3);\n    assert"),
}


@pytest.mark.parametrize("path", MOCKED)
def test_a_subject_that_is_mocked_away_is_named(path: str) -> None:
    before, old, new = MOCKED[path]
    after = before.replace(old, new, 1)
    assert list_kinds(compare({path: before}, {path: after})) == {AvoidanceKind.assertion_weakened}


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        ("tests/test_a.py", PYTHON, "def test", "@patch('shop.requests.get')\ndef test"),
        ("tests/test_a.py", PYTHON, "    assert", "    shop.load_rates = Mock(return_value=1)\n    assert"),
        ("test/shop.test.js", SCRIPT, "\n\nit", '\n\njest.mock("../rates");\n\nit'),
        ("test/shop.test.js", SCRIPT, "  expect", '  jest.spyOn(shop, "total");\n  expect'),
        (
            "test/shop.test.js",
            SCRIPT,
            "\n\nit",
            '\n\njest.mock("../shop", () => ({ ...jest.requireActual("../shop"), now: () => 1 }));\n\nit',
        ),
        ("spec/shop_spec.rb", RUBY, "    expect", "    allow(Rates).to receive(:load).and_return(3)\n    expect"),
    ],
)
def test_a_mock_of_something_else_is_left_alone(path: str, before: str, old: str, new: str) -> None:
    assert list_kinds(compare({path: before}, {path: before.replace(old, new, 1)})) == set()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "tests/test_a.py",
            "class ShopTests(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
            "class ShopTests:\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
        ),
        (
            "test/a_test.rb",
            "class ShopTest < Minitest::Test\n  def test_a\n    assert_equal 2, f(1)\n  end\nend\n",
            "class ShopTest\n  def test_a\n    assert_equal 2, f(1)\n  end\nend\n",
        ),
    ],
)
def test_a_class_that_loses_its_base_is_named(path: str, before: str, after: str) -> None:
    assert list_kinds(compare({path: before}, {path: after})) == {AvoidanceKind.test_deselected}
    named = {
        path: after.replace("ShopTests:", "TestShop:").replace("ShopTest\n", "ShopTest < ActiveSupport::TestCase\n")
    }
    assert list_kinds(compare({path: before}, named)) == set()


DOCBLOCK = """\
<?php
class ShopTest extends TestCase
{
    /**
     * @test
     */
    public function adds(): void
    {
        $this->assertSame(3, total([1, 2]));
    }
}
"""


def test_a_test_of_php_may_be_one_by_its_comment() -> None:
    path = "tests/ShopTest.php"
    after = DOCBLOCK.replace("     * @test\n", "     * Adds.\n")
    assert list_kinds(compare({path: DOCBLOCK}, {path: after})) == {AvoidanceKind.test_deselected}
    attribute = DOCBLOCK.replace("    /**\n     * @test\n     */\n", "    #[Test]\n")
    assert list_kinds(compare({path: DOCBLOCK}, {path: attribute})) == set()


@pytest.mark.parametrize(
    ("mark", "is_certain"),
    [
        ("@pytest.mark.skip(reason='flaky on this platform')", True),
        ("@pytest.mark.skipif(True, reason='later')", True),
        ("@pytest.mark.skipif(sys.platform == 'win32', reason='no fork')", False),
        ("@unittest.skipUnless(shutil.which('git'), 'needs git')", False),
    ],
)
def test_the_words_of_a_reason_are_no_condition(mark: str, *, is_certain: bool) -> None:
    found = compare({"tests/test_a.py": PYTHON}, {"tests/test_a.py": PYTHON.replace("def test", f"{mark}\ndef test")})
    assert {each.kind for each in found} == {AvoidanceKind.test_skipped}
    assert bool(list_kinds(found)) is is_certain


ASSERTS = """\
def test_order():
    order = place(1, "EUR")
    assert order.price == 17
    assert order.currency == "EUR"
    assert order.weight == 3.5
    assert order.state == "open"
"""


def _find(helper: str, call: str = "    check_order(order)\n") -> tuple[Avoidance, ...]:
    head = "".join(ASSERTS.splitlines(keepends=True)[:2])
    return compare({"tests/test_a.py": ASSERTS}, {"tests/test_a.py": f"{head}{call}\n\n{helper}"})


def test_a_helper_excuses_as_much_as_it_checks() -> None:
    """It once excused everything, whatever it checked."""
    little = "def check_order(order):\n    assert order\n"
    nothing = "def check_order(order):\n    print(order)\n"
    whole = "def check_order(order):\n" + "".join(ASSERTS.splitlines(keepends=True)[2:])
    loop = (
        "def check_order(order, **all_):\n    for name, value in all_.items():\n        assert order[name] == value\n"
    )
    by_values = '    check_order(order, price=17, currency="EUR", weight=3.5, state="open")\n'
    assert AvoidanceKind.assertion_removed in list_kinds(_find(little))
    assert AvoidanceKind.assertion_removed in list_kinds(_find(nothing))
    assert list_kinds(_find(whole)) == set()
    assert list_kinds(_find(loop, by_values)) == set()


def test_the_whole_says_what_its_parts_said() -> None:
    parts = 'def test_a():\n    assert f(1).startswith("a")\n    assert "b=" in f(1)\n    assert "c=" in f(1)\n'
    whole = 'def test_a():\n    assert f(1) == "a b=1 c=2"\n'
    assert list_kinds(compare({"tests/test_a.py": parts}, {"tests/test_a.py": whole})) == set()


def test_options_on_several_lines_are_options() -> None:
    one = 'def build(parser):\n    parser.add_argument("--limit", type=int)\n    return parser\n'
    more = 'def build(parser):\n    parser.add_argument(\n        "-l",\n        "--limit",\n    )\n    return parser\n'
    none = "def build(parser):\n    return parser\n"
    assert list_kinds(compare({"a.py": one}, {"a.py": more})) == set()
    assert list_kinds(compare({"a.py": more}, {"a.py": none})) == {AvoidanceKind.feature_removed}


HELPED = """\
def check(order):
    assert order.price == 17
    assert order.currency == "EUR"


def test_order():
    check(place(1))
"""


def test_a_helper_that_checks_less_is_named() -> None:
    path = "tests/test_a.py"
    less = HELPED.replace('    assert order.currency == "EUR"\n', "")
    weaker = HELPED.replace("order.price == 17", "order.price")
    moved = less.replace("def test", 'def check_more(order):\n    assert order.currency == "EUR"\n\n\ndef test')
    assert list_kinds(compare({path: HELPED}, {path: less})) == {AvoidanceKind.assertion_removed}
    assert {each.kind for each in compare({path: HELPED}, {path: weaker})} == {AvoidanceKind.assertion_weakened}
    assert compare({path: HELPED}, {path: moved}) == ()
    assert compare({path: less}, {path: HELPED}) == ()


def test_a_value_that_is_computed_expects_nothing() -> None:
    path = "tests/test_a.py"
    before, after = "assert shop.total([1, 2]) == 3", "assert shop.total([1, 2]) == wanted"
    computed = PYTHON.replace(before, f"wanted = shop.total([1, 2])\n    {after}")
    named = PYTHON.replace(before, f"wanted = 3\n    {after}")
    assert AvoidanceKind.assertion_weakened in {each.kind for each in compare({path: PYTHON}, {path: computed})}
    assert AvoidanceKind.assertion_weakened not in {each.kind for each in compare({path: PYTHON}, {path: named})}


def test_a_mock_within_another_test_is_left_alone() -> None:
    """What one test replaces, the test that calls it does not."""
    path = "tests/test_a.py"
    other = "\n\ndef test_other():\n    {}assert shop.name() == 'a'\n"
    before, after = other.format(""), other.format("shop.total = Mock(return_value=3)\n    ")
    assert list_kinds(compare({path: PYTHON + before}, {path: PYTHON + after})) == set()


TAPE = """\
const test = require("ava");

test("adds", (t) => {
  t.is(shop.total([1, 2]), 3);
  t.deepEqual(shop.list(), [1, 2]);
  t["throws"](() => shop.total());
  t.log("done");
});
"""


def test_what_a_test_is_handed_asserts() -> None:
    path = "test/shop.test.js"
    less = "".join(
        line for line in TAPE.splitlines(keepends=True) if not line.startswith(("  t.is", "  t.deep", "  t["))
    )
    found = compare({path: TAPE}, {path: less})
    assert {each.kind for each in found} == {AvoidanceKind.assertion_removed, AvoidanceKind.test_removed}
    assert sum(each.kind is AvoidanceKind.assertion_removed for each in found) == 3
    assert "`t.is(shop.total([1, 2]), 3)`" in " ".join(each.what for each in found)
    assert compare({path: TAPE}, {path: TAPE.replace('  t.log("done");\n', "")}) == ()


@pytest.mark.parametrize(
    ("path", "before", "assertion", "passes"),
    [
        ("test/shop.test.js", TAPE, "t.is(shop.total([1, 2]), 3);", "t.pass();"),
        (
            "ShopTests.cs",
            "class ShopTests\n{\n  [Test]\n  public void A()\n  {\n    Assert.AreEqual(f(1), 2);\n  }\n}\n",
            "Assert.AreEqual(f(1), 2);",
            "Assert.Pass();",
        ),
        (
            "tests/ATest.php",
            "<?php\nclass ATest extends TestCase\n{\n  public function testA() { $this->assertSame(2, f(1)); }\n}\n",
            "$this->assertSame(2, f(1));",
            "$this->expectNotToPerformAssertions();",
        ),
    ],
)
def test_what_always_passes_checks_nothing(path: str, before: str, assertion: str, passes: str) -> None:
    found = compare({path: before}, {path: before.replace(assertion, passes)})
    assert list_kinds(found) & {AvoidanceKind.assertion_weakened, AvoidanceKind.test_removed}


@pytest.mark.parametrize(
    ("asked", "is_excused"),
    [
        ("The total of nothing was to be 17, and not 3.", True),
        ("Totals are wrong.", False),
        ("The total is 317, or 17.5.", False),
        ("", False),
    ],
)
def test_a_new_value_is_excused_where_people_named_it(asked: str, *, is_excused: bool) -> None:
    path = "tests/test_a.py"
    [found] = compare({path: PYTHON}, {path: PYTHON.replace("== 3", "== 17")}, asked)
    assert (found.kind, bool(found.excuse)) == (AvoidanceKind.expectation_changed, is_excused)


def test_a_branch_that_always_runs_skips_nothing() -> None:
    path = "tests/test_a.py"
    for condition, kinds in (("True", set[AvoidanceKind]()), ("False", {AvoidanceKind.test_skipped})):
        after = PYTHON.replace("    assert", f"    if {condition}:\n        assert")
        skipped = {AvoidanceKind.test_skipped} & list_kinds(compare({path: PYTHON}, {path: after}))
        assert skipped == kinds


def test_an_error_of_any_message_is_less() -> None:
    path = "tests/test_a.py"
    before = "def test_a():\n    with pytest.raises(ValueError, match='no price'):\n        f(1)\n"
    [found] = compare({path: before}, {path: before.replace(", match='no price'", "")})
    assert (found.kind, found.confidence) == (AvoidanceKind.assertion_weakened, 0.7)
    [other] = compare({path: before}, {path: before.replace("ValueError", "TypeError")})
    assert other.kind is AvoidanceKind.expectation_changed
