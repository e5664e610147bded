"""Tests that stay and do not run any more: shadowed, in groups or under conditions, or where no runner looks."""

from collections.abc import Mapping

import pytest

from agents.review.avoidance.comparison import find_avoidance
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.reading import read_facts
from agents.review.avoidance.repository_context import UNKNOWN, RepositoryContext, read_settings
from domain.review.avoidance import Avoidance, AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

REMOVED, DESELECTED, SKIPPED = AvoidanceKind.test_removed, AvoidanceKind.test_deselected, AvoidanceKind.test_skipped
PYTHON = "def test_total():\n    assert total([1, 2]) == 3\n"
GO = 'package a\n\nfunc TestTotal(t *testing.T) {\n\tif total(1, 2) != 3 {\n\t\tt.Fatal("no")\n\t}\n}\n'
RUBY = "class ShopTest < Minitest::Test\n  def test_total\n    assert_equal 3, total(1, 2)\n  end\nend\n"
SHELL = 'test_total() {\n  assertEquals 3 "$(total 1 2)"\n}\n'
SPEC = "describe 'shop' do\n  it 'adds' do\n    expect(total(1, 2)).to eq(3)\n  end\nend\n"
PHP = (
    "<?php\nclass ShopTest extends TestCase {\n"
    "    public function testTotal(): void {\n        self::assertSame(3, total(1, 2));\n    }\n}\n"
)
JAVA = "class ShopTest {\n    @Test\n    void adds() {\n        assertEquals(3, total(1, 2));\n    }\n}\n"
CSHARP = "class ShopTests {\n    [Fact]\n    public void Adds() {\n        Assert.Equal(3, Total(1, 2));\n    }\n}\n"
SCRIPT = 'it("adds", () => {\n  expect(total(1, 2)).toBe(3);\n});\n'
RUST = "#[test]\nfn adds() {\n    assert_eq!(total(1, 2), 3);\n}\n"
BATS = '@test "adds" {\n  [ "$(total 1 2)" = 3 ]\n}\n'


def judge(
    path: str, before: str, after: str, settings: Mapping[str, str] | None = None, at: str = ""
) -> set[AvoidanceKind]:
    """The kinds that are certain in a change of one file, which may move it."""
    return list_kinds(find(path, before, after, settings, at))


def find(
    path: str, before: str, after: str, settings: Mapping[str, str] | None = None, at: str = ""
) -> tuple[Avoidance, ...]:
    around = read_settings({name: text.encode() for name, text in settings.items()}) if settings else UNKNOWN
    if not at:
        return compare({path: before}, {path: after}, around=around)
    moved = ChangedFacts(at, read_facts(path, before), read_facts(at, after), path)
    return find_avoidance([moved], around=around)


# --- a later definition of the same name ----------------------------------------------------------------------

METHOD = "class TestShop:\n    def test_total(self):\n        assert total([1]) == 3\n"
NEW_ONLY = "if sys.version_info > (3, 12):\n    def test_a():\n        assert f() == 1\n"
WEAK = "\n\ndef test_total():\n    assert total([])\n"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", PYTHON, PYTHON + WEAK),
        ("tests/test_a.py", PYTHON, PYTHON + "\n\ntest_total = None\n"),
        ("tests/test_a.py", PYTHON, PYTHON + "\n\ndel test_total\n"),
        (
            "tests/test_a.py",
            METHOD,
            f"{METHOD}\n\nclass TestShop:\n    def test_other(self):\n        assert total([])\n",
        ),
        ("test/shop_test.rb", RUBY, RUBY.removesuffix("end\n") + "  def test_total\n    assert total(1)\n  end\nend\n"),
        ("test/shop_test.rb", RUBY, RUBY + RUBY.replace("assert_equal 3, total(1, 2)", "assert total(1)")),
        ("tests/test_a.sh", SHELL, SHELL + 'test_total() {\n  assertTrue "$(total)"\n}\n'),
    ],
)
def test_a_test_that_another_of_its_name_replaces_is_gone(path: str, before: str, after: str) -> None:
    assert REMOVED in judge(path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", PYTHON + WEAK, PYTHON + WEAK.replace("test_total", "test_nothing")),  # told apart
        ("tests/test_a.py", PYTHON + WEAK, WEAK),  # what did not run
        ("tests/test_a.py", PYTHON, PYTHON + "\n\n" + PYTHON),  # pasted twice
        ("tests/test_a.py", PYTHON, PYTHON + "\n\nclass TestEmpty:\n    def test_total(self):\n        assert a()\n"),
        (
            "tests/test_a.py",
            NEW_ONLY,
            f"{NEW_ONLY}else:\n    def test_a():\n        assert f() == 2\n",
        ),
        (
            "spec/a_spec.rb",
            SPEC,
            SPEC.removesuffix("end\n") + "  it 'adds' do\n    expect(total).to eq 0\n  end\nend\n",
        ),
        ("test/a.test.js", SCRIPT, SCRIPT + SCRIPT.replace("3", "4")),  # both run
    ],
)
def test_names_that_hide_no_test_are_left_alone(path: str, before: str, after: str) -> None:
    assert judge(path, before, after) == set()


# --- groups ---------------------------------------------------------------------------------------------------

GROUPED = [
    (
        "tests/ShopTest.php",
        PHP,
        "    public",
        "    /** @group slow */\n    public",
        {"phpunit.xml.dist": "<groups><exclude><group>a</group><group>slow</group></exclude></groups>"},
    ),
    (
        "tests/ShopTest.php",
        PHP,
        "    public",
        "    #[Group('slow')]\n    public",
        {"composer.json": '{"scripts": {"test": "phpunit --exclude-group slow,db"}}'},
    ),
    (
        "tests/test_a.py",
        PYTHON,
        "def",
        "@pytest.mark.slow\ndef",
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = \"-q -m 'not slow'\"\n"},
    ),
    (
        "tests/test_a.py",
        PYTHON,
        "def",
        "pytestmark = [pytest.mark.slow]\n\n\ndef",
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["-m", "not (slow or net)"]\n'},
    ),
    (
        "tests/test_a.py",
        PYTHON,
        "def",
        "@pytest.mark.slow\ndef",
        {
            "conftest.py": "def pytest_collection_modifyitems(config, items):\n    for item in items:\n"
            '        if "slow" in item.keywords:\n            item.add_marker(pytest.mark.skip)\n'
        },
    ),
    (
        "tests/test_a.py",
        PYTHON,
        "def",
        '@tag("slow")\ndef',
        {"tox.ini": "commands = manage.py test --exclude-tag=slow\n"},
    ),
    (
        "src/test/java/ShopTest.java",
        JAVA,
        "    @Test",
        '    @Tag("slow")\n    @Test',
        {"pom.xml": "<configuration><excludedGroups>slow</excludedGroups></configuration>"},
    ),
    (
        "src/test/java/ShopTest.java",
        JAVA,
        "    @Test",
        "    @Category(Slow.class)\n    @Test",
        {"build.gradle": "useJUnit { excludeCategories 'a.b.Slow' }\n"},
    ),
    (
        "tests/ShopTests.cs",
        CSHARP,
        "    [Fact]",
        '    [Fact]\n    [Trait("Category", "slow")]',
        {".github/workflows/ci.yml": "- run: dotnet test --filter Category!=slow\n"},
    ),
    ("spec/a_spec.rb", SPEC, "'adds' do", "'adds', :slow do", {".rspec": "--color\n--tag ~slow\n"}),
    (
        "spec/a_spec.rb",
        SPEC,
        "'shop' do",
        "'shop', slow: true do",
        {"spec/spec_helper.rb": "RSpec.configure { |c| c.filter_run_excluding slow: true }\n"},
    ),
    (
        "test/a.test.js",
        SCRIPT,
        '"adds"',
        '"adds @slow"',
        {"package.json": '{"scripts": {"test": "mocha --grep @slow --invert"}}'},
    ),
    (
        "test/a.test.ts",
        SCRIPT,
        '"adds", ',
        '"adds", { tag: "@slow" }, ',
        {"playwright.config.ts": "export default { grepInvert: /@slow/ };\n"},
    ),
    (
        "test/a.bats",
        BATS,
        "@test",
        "# bats test_tags=slow\n@test",
        {"Makefile": "test:\n\tbats --filter-tags '!slow' test\n"},
    ),
]


@pytest.mark.parametrize(("path", "before", "old", "new", "settings"), GROUPED)
def test_a_group_that_the_runner_leaves_out_is_named(
    path: str, before: str, old: str, new: str, settings: Mapping[str, str]
) -> None:
    after = before.replace(old, new, 1)
    assert judge(path, before, after, settings) == {DESELECTED}
    assert judge(path, before, after, {"Makefile": "all:\n\tmake\n"}) == set()


def test_a_group_that_another_command_runs_is_left_alone() -> None:
    slow = PYTHON.replace("def", "@pytest.mark.slow\ndef")
    both = {
        "pytest.ini": "[pytest]\naddopts = -m 'not slow'\n",
        ".github/workflows/night.yml": "- run: pytest -m slow\n",
    }
    assert find("tests/test_a.py", PYTHON, slow, both) == ()
    on_demand = {
        "conftest.py": 'if "slow" in item.keywords:\n    item.add_marker(pytest.mark.skip)\n',
        ".github/workflows/ci.yml": "- run: pytest --run-slow\n",
    }
    assert find("tests/test_a.py", PYTHON, slow, on_demand) == ()


def test_a_group_that_is_often_left_out_is_doubtful_where_nobody_says_so() -> None:
    marked = PYTHON.replace("def", "@pytest.mark.flaky_later\n@pytest.mark.quarantine\ndef")
    assert [each.confidence for each in find("tests/test_a.py", PYTHON, marked)] == [0.55]
    assert find("tests/test_a.py", PYTHON, PYTHON.replace("def", "@pytest.mark.django_db\ndef")) == ()


# --- conditions -----------------------------------------------------------------------------------------------
INDENTED = "    def test_total():\n        assert total([1, 2]) == 3\n"
INLINE = f"#[cfg(test)]\nmod tests {{\n{RUST}}}\n"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a_test.go", GO, f"//go:build integration\n\n{GO}"),
        ("a_test.go", GO, f"//go:build linux && (e2e || nightly)\n\n{GO}"),
        ("a_test.go", GO, f"// +build integration\n\n{GO}"),
        ("tests/a.rs", RUST, f'#[cfg(feature = "slow-tests")]\n{RUST}'),
        ("tests/a.rs", RUST, f'#![cfg(all(unix, feature = "slow-tests"))]\n{RUST}'),
        ("src/lib.rs", INLINE, INLINE.replace("(test)", '(all(test, feature = "x"))')),
        ("tests/ShopTests.cs", CSHARP, CSHARP.replace("{\n", "{\n#if SLOW\n", 1).replace("    }\n", "    }\n#endif\n")),
        ("tests/test_a.py", PYTHON, f"if False:\n{INDENTED}"),
        ("tests/test_a.py", PYTHON, f'if __name__ == "__main__":\n{INDENTED}'),
        ("tests/test_a.py", PYTHON, f"def _later():\n{INDENTED}"),
        ("test/a.test.js", SCRIPT, f"if (false) {{\n{SCRIPT}}}\n"),
        ("spec/a_spec.rb", SPEC, SPEC.replace("  it", "  if false\n  it").replace("  end\nend", "  end\n  end\nend")),
    ],
)
def test_a_condition_that_nothing_meets_is_named(path: str, before: str, after: str) -> None:
    assert judge(path, before, after) == {DESELECTED}


@pytest.mark.parametrize(
    ("path", "before", "after", "settings"),
    [
        (
            "a_test.go",
            GO,
            f"//go:build integration\n\n{GO}",
            {"Makefile": "test:\n\tgo test -tags=integration ./...\n"},
        ),
        (
            "a_test.go",
            GO,
            f"//go:build e2e\n\n{GO}",
            {".github/workflows/ci.yml": "- run: go test -tags 'a e2e' ./...\n"},
        ),
        ("a_test.go", GO, f"//go:build !windows\n\n{GO}", {}),
        ("a_test.go", GO, f"//go:build go1.18\n\n{GO}", {}),
        ("a_test.go", GO, f"//go:build !race\n\n{GO}", {}),
        ("a_test.go", GO, f"//go:build windows\n\n{GO}", {}),  # doubtful
        ("tests/a.rs", RUST, f'#[cfg(feature = "std")]\n{RUST}', {"Cargo.toml": '[features]\ndefault = ["std"]\n'}),
        ("tests/a.rs", RUST, f'#[cfg(feature = "x")]\n{RUST}', {"ci.sh": "cargo test --all-features\n"}),
        ("tests/a.rs", RUST, f'#[cfg(target_os = "macos")]\n{RUST}', {}),
        (
            "tests/test_a.py",
            PYTHON,
            f"if sys.platform == 'win32':\n{INDENTED}",
            {},
        ),
        ("test/a.test.js", SCRIPT, f"if (process.env.SLOW) {{\n{SCRIPT}}}\n", {".gitlab-ci.yml": "SLOW: 1\n"}),
    ],
)
def test_a_condition_that_somebody_meets_is_left_alone(
    path: str, before: str, after: str, settings: Mapping[str, str]
) -> None:
    assert judge(path, before, after, settings) == set()


def test_a_test_that_moves_under_a_tag_is_named() -> None:
    other = GO.replace("TestTotal", "TestOther").replace("3", "7")
    before = {"a_test.go": GO + other.partition("\n\n")[2]}
    after = {"a_test.go": other, "b_test.go": f"//go:build integration\n// +build integration\n\n{GO}"}
    assert list_kinds(compare(before, after)) == {DESELECTED}
    built = {"b.go": "//go:build integration\n\npackage a\n\nfunc b() {}\n"}
    assert list_kinds(compare(before, after | built)) == set()  # the program is built with it only


# --- places ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "at", "text", "settings"),
    [
        ("tests/test_a.py", "tests/old/test_a.py", PYTHON, {"pytest.ini": "[pytest]\nnorecursedirs = old build\n"}),
        ("tests/test_a.py", "extra/test_a.py", PYTHON, {"pyproject.toml": 'testpaths = ["tests"]\n'}),
        ("tests/test_a.py", "tests/slow/test_a.py", PYTHON, {"tox.ini": "commands = pytest --ignore=tests/slow\n"}),
        (
            "test/a.test.js",
            "test/old/a.test.js",
            SCRIPT,
            {"package.json": '{"jest": {"testPathIgnorePatterns": ["/node_modules/", "<rootDir>/test/old/"]}}'},
        ),
        (
            "tests/ShopTest.php",
            "tests/Old/ShopTest.php",
            PHP,
            {
                "phpunit.xml": "<testsuites><testsuite><directory>tests</directory><exclude>tests/Old</exclude>"
                "</testsuite></testsuites>"
            },
        ),
    ],
)
def test_a_test_that_moves_out_of_sight_is_named(path: str, at: str, text: str, settings: Mapping[str, str]) -> None:
    assert judge(path, text, text, settings, at) == {DESELECTED}
    assert judge(path, text, text, {}, at) == set()


def test_a_place_that_a_command_names_is_looked_at() -> None:
    settings = {"pytest.ini": "[pytest]\ntestpaths = tests\n", ".github/workflows/ci.yml": "- run: pytest extra/\n"}
    assert judge("tests/test_a.py", PYTHON, PYTHON, settings, "extra/test_a.py") == set()


# --- tests that are to fail -----------------------------------------------------------------------------------

TABLE = (
    'static ITEMS: &[(&str, &str)] = &[\n    ("one \\"two\\"", "one two"),\n    ("three four", "three-four"),\n'
    '    ("five", "5"),\n];\n\n'
    "#[test]\nfn splits() {\n    for (input, output) in ITEMS {\n        assert_eq!(split(input), *output);\n    }\n}\n"
)
CASES = (
    '@pytest.mark.parametrize("a", [("three four", 7), ("one two", 3)])\ndef test_a(a):\n    assert f(a[0]) == a[1]\n'
)
FAILING = '\n\n@pytest.mark.xfail(strict=True)\ndef test_later():\n    assert f("three four") == 7\n'
THROWS = 'it("adds", () => {\n  expect(() => {\n    expect(total(1, 2)).toBe(3);\n  }).toThrow();\n});\n'
ROW = '    ("three four", "three-four"),\n'


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/a.rs", RUST, RUST.replace("#[test]", "#[test]\n#[should_panic]")),
        (
            "tests/a.rs",
            TABLE,
            TABLE.replace(ROW, "")
            + '\n#[test]\n#[should_panic]\nfn later() {\n    assert_eq!(split("three four"), "three-four");\n}\n',
        ),
        (
            "tests/test_a.py",
            PYTHON,
            "def test_total():\n    with pytest.raises(AssertionError):\n        assert total([1, 2]) == 3\n",
        ),
        (
            "tests/test_a.py",
            CASES,
            CASES.replace('("three four", 7), ', "") + FAILING,
        ),
        ("test/a.test.js", SCRIPT, THROWS),
        (
            "src/test/java/ShopTest.java",
            JAVA,
            JAVA.replace("assertE", "assertThrows(AssertionError.class, () -> assertE").replace("2))", "2)))"),
        ),
        (
            "tests/ShopTests.cs",
            CSHARP,
            CSHARP.replace("Assert", "Assert.ThrowsAny<Exception>(() => Assert").replace("2))", "2)))"),
        ),
        (
            "tests/ShopTest.php",
            PHP,
            PHP.replace("self::", "$this->expectException(AssertionFailedError::class);\n        self::"),
        ),
        (
            "spec/a_spec.rb",
            SPEC,
            SPEC.replace(
                "expect(total(1, 2)).to eq(3)",
                "expect { expect(total(1, 2)).to eq(3) }.to raise_error(RSpec::Expectations::ExpectationNotMetError)",
            ),
        ),
    ],
)
def test_a_test_that_is_to_fail_now_is_named(path: str, before: str, after: str) -> None:
    assert SKIPPED in judge(path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/a.rs", TABLE, TABLE + '\n#[test]\n#[should_panic]\nfn empty() {\n    split("");\n}\n'),
        (
            "tests/a.rs",
            TABLE,
            TABLE
            + '\n#[test]\n#[should_panic(expected = "no input")]\nfn empty() {\n    assert_eq!(split(""), "x");\n}\n',
        ),
        (
            "tests/test_a.py",
            PYTHON,
            PYTHON + "\n\ndef test_no():\n    with pytest.raises(ValueError):\n        total(None)\n",
        ),
        (
            "tests/test_a.py",
            PYTHON,
            PYTHON + "\n\ndef test_checks():\n    with pytest.raises(AssertionError):\n        assert_sorted([2, 1])\n",
        ),
        ("test/a.test.js", SCRIPT, SCRIPT + 'it("refuses", () => {\n  expect(() => total(null)).toThrow();\n});\n'),
        (
            "test/a.test.js",
            SCRIPT,
            SCRIPT + 'it("fails well", () => {\n  expect(() => expect(9).toBeOdd()).toThrow();\n});\n',
        ),
    ],
)
def test_a_test_of_errors_is_left_alone(path: str, before: str, after: str) -> None:
    assert judge(path, before, after) == set()


def test_what_people_asked_for_is_excused() -> None:
    after = PYTHON + WEAK
    assert list_kinds(compare({"tests/test_a.py": PYTHON}, {"tests/test_a.py": after}, "Remove test_total.")) == set()


def test_a_project_of_which_nothing_is_known_leaves_nothing_out() -> None:
    assert RepositoryContext() == UNKNOWN
    assert read_settings({}).choices == ()
