"""Each way to give up in disguise is recognised in each language, and what merely resembles it is not."""

from collections.abc import Mapping

import pytest

from domain.review.avoidance import AvoidanceKind, list_certain
from tests.unit.avoidance.samples import compare, list_kinds

PYTHON_TEST = """\
import pytest

from shop import total


def test_total():
    assert total([1, 2]) == 3


def test_negative():
    with pytest.raises(ValueError):
        total([-1])
"""
JS_TEST = """\
describe("total", () => {
  it("adds", () => {
    expect(total([1, 2])).toBe(3);
  });
  it("refuses", () => {
    expect(() => total([-1])).toThrow(RangeError);
  });
});
"""
GO_TEST = """\
package shop

func TestTotal(t *testing.T) {
	if got := Total(1, 2); got != 3 {
		t.Errorf("got %d", got)
	}
}

func TestNegative(t *testing.T) {
	_, err := Check(-1)
	if err == nil {
		t.Fatal("no error")
	}
}
"""
JAVA_TEST = """\
class ShopTest {
    @Test
    void adds() {
        assertEquals(3, Shop.total(1, 2));
    }

    @Test
    void refuses() {
        assertThrows(IllegalArgumentException.class, () -> Shop.total(-1));
    }
}
"""
RUBY_TEST = """\
class ShopTest < Minitest::Test
  def test_adds
    assert_equal 3, Shop.total([1, 2])
  end

  def test_refuses
    assert_raises(ArgumentError) { Shop.total([-1]) }
  end
end
"""
RUST_TEST = """\
#[test]
fn adds() {
    assert_eq!(total(&[1, 2]), 3);
}

#[test]
fn refuses() {
    assert!(check(-1).is_err());
}
"""
CSHARP_TEST = """\
public class ShopTests
{
    [Fact]
    public void Adds()
    {
        Assert.Equal(3, Shop.Total(1, 2));
    }

    [Fact]
    public void Refuses()
    {
        Assert.Throws<ArgumentException>(() => Shop.Total(-1));
    }
}
"""
PHP_TEST = """\
<?php
class ShopTest extends TestCase
{
    public function testAdds(): void
    {
        $this->assertSame(3, total([1, 2]));
    }

    public function testRefuses(): void
    {
        $this->expectException(InvalidArgumentException::class);
        total([-1]);
    }
}
"""
SHELL_TEST = """\
test_adds() {
    assertEquals 3 "$(total 1 2)"
}

test_refuses() {
    total -1
    assertEquals 2 $?
}
"""
TESTS: Mapping[str, str] = {
    "tests/test_shop.py": PYTHON_TEST,
    "test/shop.test.js": JS_TEST,
    "test/shop.test.ts": JS_TEST,
    "shop_test.go": GO_TEST,
    "src/test/java/ShopTest.java": JAVA_TEST,
    "test/shop_test.rb": RUBY_TEST,
    "tests/shop.rs": RUST_TEST,
    "Shop.Tests/ShopTests.cs": CSHARP_TEST,
    "tests/ShopTest.php": PHP_TEST,
    "test/test_shop.sh": SHELL_TEST,
}


def _cut(text: str, begin: str) -> str:
    """A test file without its second test."""
    lines = text.split("\n")
    start = next(index for index, line in enumerate(lines) if begin in line)
    if lines[start - 1].strip().startswith(("@", "[", "#[")):
        start -= 1
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines):
        line = lines[end]
        is_closing = line.strip() in {"}", "});", "end"} and len(line) - len(line.lstrip()) == indent
        if is_closing:
            end += 1
            break
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        end += 1
    return "\n".join([*lines[:start], *lines[end:]])


SECOND = {
    "py": "def test_negative",
    "js": 'it("refuses"',
    "ts": 'it("refuses"',
    "go": "func TestNegative",
    "java": "void refuses",
    "rb": "def test_refuses",
    "rs": "fn refuses",
    "cs": "void Refuses",
    "php": "function testRefuses",
    "sh": "test_refuses()",
}


def _second(path: str) -> str:
    return SECOND[path.rpartition(".")[2]]


@pytest.mark.parametrize("path", TESTS)
def test_a_removed_test_is_missed(path: str) -> None:
    found = compare({path: TESTS[path]}, {path: _cut(TESTS[path], _second(path))})
    assert list_kinds(found) == {AvoidanceKind.test_removed}
    assert len(found) == 1


@pytest.mark.parametrize("path", TESTS)
def test_a_deleted_file_is_one_finding(path: str) -> None:
    [found] = compare({path: TESTS[path]}, {})
    assert (found.kind, found.line) == (AvoidanceKind.test_removed, None)
    assert found.what.startswith("The file is deleted with 2 tests in it: ")


@pytest.mark.parametrize("path", TESTS)
def test_a_moved_file_is_no_loss(path: str) -> None:
    folder, _, name = path.rpartition("/")
    moved = f"{folder}/more/{name}" if folder else f"more/{name}"
    assert list_certain(compare({path: TESTS[path]}, {moved: TESTS[path]})) == []


SKIPS = {
    "tests/test_shop.py": ("def test_negative", "@pytest.mark.skip\ndef test_negative"),
    "test/shop.test.js": ('it("refuses"', 'it.skip("refuses"'),
    "test/shop.test.ts": ('it("refuses"', 'xit("refuses"'),
    "shop_test.go": ("_, err := Check", 't.Skip("later")\n\t_, err := Check'),
    "src/test/java/ShopTest.java": ("@Test\n    void refuses", '@Test\n    @Disabled("flaky")\n    void refuses'),
    "test/shop_test.rb": ("def test_refuses", 'def test_refuses\n    skip "flaky"'),
    "tests/shop.rs": ("#[test]\nfn refuses", "#[test]\n#[ignore]\nfn refuses"),
    "Shop.Tests/ShopTests.cs": ("[Fact]\n    public void Refuses", '[Fact(Skip = "flaky")]\n    public void Refuses'),
    "tests/ShopTest.php": (
        "$this->expectException",
        "$this->markTestSkipped('later');\n        $this->expectException",
    ),
    "test/test_shop.sh": ("    total -1", "    startSkipping\n    total -1"),
}


@pytest.mark.parametrize("path", SKIPS)
def test_a_skipped_test_is_named(path: str) -> None:
    old, new = SKIPS[path]
    found = compare({path: TESTS[path]}, {path: TESTS[path].replace(old, new)})
    assert list_kinds(found) == {AvoidanceKind.test_skipped}


WEAKER = {
    "tests/test_shop.py": ("assert total([1, 2]) == 3", "assert total([1, 2]) is not None"),
    "test/shop.test.js": ("expect(total([1, 2])).toBe(3)", "expect(total([1, 2])).toBeDefined()"),
    "shop_test.go": ("got := Total(1, 2); got != 3", "got := Total(1, 2); got < 0"),
    "src/test/java/ShopTest.java": ("assertEquals(3, Shop.total(1, 2))", "assertNotNull(Shop.total(1, 2))"),
    "test/shop_test.rb": ("assert_equal 3, Shop.total([1, 2])", "assert Shop.total([1, 2])"),
    "tests/shop.rs": ("assert_eq!(total(&[1, 2]), 3)", "assert!(total(&[1, 2]) > 0)"),
    "Shop.Tests/ShopTests.cs": ("Assert.Equal(3, Shop.Total(1, 2))", "Assert.NotNull(Shop.Total(1, 2))"),
    "tests/ShopTest.php": ("$this->assertSame(3, total([1, 2]))", "$this->assertNotNull(total([1, 2]))"),
    "test/test_shop.sh": ('assertEquals 3 "$(total 1 2)"', 'assertNotNull "$(total 1 2)"'),
}


@pytest.mark.parametrize("path", WEAKER)
def test_an_assertion_that_demands_less_is_named(path: str) -> None:
    old, new = WEAKER[path]
    assert old in TESTS[path]
    found = compare({path: TESTS[path]}, {path: TESTS[path].replace(old, new)})
    assert list_kinds(found) == {AvoidanceKind.assertion_weakened}
    assert list_kinds(compare({path: TESTS[path].replace(old, new)}, {path: TESTS[path]})) == set()


SWALLOWED = {
    "shop.py": (
        "def load(path):\n    return parse(path)\n",
        "def load(path):\n    try:\n        return parse(path)\n    except Exception:\n        return None\n",
    ),
    "shop.js": (
        "export function load(path) {\n  return parse(path);\n}\n",
        (
            "export function load(path) {\n  try {\n    return parse(path);\n  } catch (error) {\n"
            "    return null;\n  }\n}\n"
        ),
    ),
    "shop.go": (
        "package shop\n\nfunc Load(p string) (int, error) {\n\tx, err := parse(p)\n\treturn x, err\n}\n",
        "package shop\n\nfunc Load(p string) (int, error) {\n\tx, _ := parse(p)\n\treturn x, nil\n}\n",
    ),
    "Shop.java": (
        "class Shop {\n    int load(String p) {\n        return parse(p);\n    }\n}\n",
        (
            "class Shop {\n    int load(String p) {\n        try {\n            return parse(p);\n"
            "        } catch (Exception e) {\n"
            "            return 0;\n        }\n    }\n}\n"
        ),
    ),
    "shop.rb": (
        "def load(path)\n  parse(path)\nend\n",
        "def load(path)\n  parse(path)\nrescue StandardError\n  nil\nend\n",
    ),
    "shop.rs": (
        "pub fn load(p: &str) -> Result<u8, E> {\n    let x = parse(p)?;\n    Ok(x)\n}\n",
        "pub fn load(p: &str) -> Result<u8, E> {\n    let x = parse(p).unwrap_or_default();\n    Ok(x)\n}\n",
    ),
    "Shop.cs": (
        "class Shop\n{\n    int Load(string p)\n    {\n        return Parse(p);\n    }\n}\n",
        (
            "class Shop\n{\n    int Load(string p)\n    {\n        try { return Parse(p); } catch { }\n"
            "        return 0;\n    }\n}\n"
        ),
    ),
    "shop.php": (
        "<?php\nfunction load($p) {\n    return parse($p);\n}\n",
        (
            "<?php\nfunction load($p) {\n    try {\n        return parse($p);\n    } catch (\\Exception $e) {\n"
            "        return null;\n    }\n}\n"
        ),
    ),
}


@pytest.mark.parametrize("path", SWALLOWED)
def test_a_dropped_error_is_named(path: str) -> None:
    before, after = SWALLOWED[path]
    assert AvoidanceKind.error_swallowed in list_kinds(compare({path: before}, {path: after}))


def test_an_answer_for_the_input_of_a_test_is_named() -> None:
    code = "def total(prices, code=None):\n    return sum(prices)\n"
    special = code.replace("    return", '    if code == "SUMMER20":\n        return 80\n    return')
    tests = {"tests/test_shop.py": 'def test_code():\n    assert total([100], "SUMMER20") == 80\n'}
    found = compare(
        {"shop.py": code, **tests}, {"shop.py": special, "tests/test_shop.py": tests["tests/test_shop.py"] + "\n"}
    )
    assert AvoidanceKind.answer_hard_coded in list_kinds(found)
    asks = code.replace("    return", '    if "PYTEST_CURRENT_TEST" in os.environ:\n        return 3\n    return')
    assert AvoidanceKind.answer_hard_coded in list_kinds(compare({"shop.py": code}, {"shop.py": asks}))


@pytest.mark.parametrize(
    ("path", "before", "after", "kind"),
    [
        ("a.py", "x = f()\n", "x = f()  # type: ignore\n", AvoidanceKind.suppression_added),
        ("a.ts", "const x = f();\n", "// @ts-ignore\nconst x = f();\n", AvoidanceKind.suppression_added),
        ("a.rs", "fn f() {}\n", "#[allow(dead_code)]\nfn f() {}\n", AvoidanceKind.suppression_added),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n", AvoidanceKind.failure_ignored),
        ("Makefile", "test:\n\tpytest\n", "test:\n\t-pytest\n", AvoidanceKind.failure_ignored),
        (
            ".github/workflows/ci.yml",
            "    - run: make test\n",
            "    - run: make test\n      continue-on-error: true\n",
            AvoidanceKind.failure_ignored,
        ),
        ("pyproject.toml", "fail_under = 90\n", "fail_under = 60\n", AvoidanceKind.failure_ignored),
        (
            "pyproject.toml",
            '[tool.pytest]\naddopts = "-q"\n',
            '[tool.pytest]\naddopts = "-q --deselect tests/test_a.py::test_b"\n',
            AvoidanceKind.test_deselected,
        ),
        (
            "a.py",
            "def f(x):\n    return x + 1\n",
            "def f(x):\n    raise NotImplementedError\n",
            AvoidanceKind.work_left_out,
        ),
        (
            "a.py",
            "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
            "def f():\n    return 1\n",
            AvoidanceKind.feature_removed,
        ),
    ],
)
def test_the_other_kinds(path: str, before: str, after: str, kind: AvoidanceKind) -> None:
    assert list_kinds(compare({path: before}, {path: after})) == {kind}


def test_a_test_that_no_runner_finds_any_more_is_named() -> None:
    after = PYTHON_TEST.replace("def test_negative", "def check_negative")
    assert list_kinds(compare({"tests/test_a.py": PYTHON_TEST}, {"tests/test_a.py": after})) == {
        AvoidanceKind.test_deselected
    }


def test_tests_that_become_one_with_a_table_are_no_loss() -> None:
    before = "def test_a():\n    assert f(1) == 10\n\n\ndef test_b():\n    assert f(2) == 20\n"
    after = (
        'import pytest\n\n\n@pytest.mark.parametrize(("x", "y"), [(1, 10), (2, 20)])\n'
        "def test_f(x, y):\n    assert f(x) == y\n"
    )
    assert list_certain(compare({"tests/test_a.py": before}, {"tests/test_a.py": after})) == []


def test_what_was_asked_for_is_excused() -> None:
    before = {
        "shop.py": "def total(x):\n    return x\n\n\ndef old_total(x):\n    return x * 2\n",
        "tests/test_a.py": PYTHON_TEST,
    }
    after = {"shop.py": "def total(x):\n    return x\n", "tests/test_a.py": PYTHON_TEST}
    [found] = compare(before, after, "Please remove `old_total`, nobody uses it.")
    assert found.excuse == "Its removal was asked for."
    [found] = compare(before, after, "Totals are wrong.")
    assert not found.excuse
