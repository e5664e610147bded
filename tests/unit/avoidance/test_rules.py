"""Each rule finds what it is for in every language that it reads, and leaves the honest change beside it alone."""

import pytest

from agents.review.avoidance import find_avoidance
from domain.review.avoidance import AvoidanceKind

SKIPPED, IGNORED, VACUOUS = (
    AvoidanceKind.test_skipped,
    AvoidanceKind.failure_ignored,
    AvoidanceKind.assertion_vacuous,
)
DETECTED, LOWERED, DISABLED = (
    AvoidanceKind.test_detected,
    AvoidanceKind.threshold_lowered,
    AvoidanceKind.checker_disabled,
)
GO = "func TestA(t *testing.T) {\n\tf()\n}\n"
PY = "def test_a():\n    f()\n"
PY_B = "def test_b():\n    f()\n"
CI = ".github/workflows/ci.yml"
STEP = "    - name: Test\n      run: pytest -q\n"

GIVEN_UP = [
    (SKIPPED, "tests/test_a.py", PY, f"@pytest.mark.skip\n{PY}"),
    (SKIPPED, "tests/test_a.py", PY, f"@pytest.mark.xfail\n{PY}"),
    (SKIPPED, "tests/test_a.py", PY, "def test_a():\n    pytest.skip('flaky')\n    f()\n"),
    (SKIPPED, "test.py", PY, f"@unittest.skip('flaky')\n{PY}"),
    (SKIPPED, "a.test.ts", 'it("a", () => {\n});\n', 'it.skip("a", () => {\n});\n'),
    (SKIPPED, "a.test.js", 'it("a", () => {\n});\n', 'xit("a", () => {\n});\n'),
    (SKIPPED, "a.test.js", 'it("a", () => {\n});\n', 'it.only("a", () => {\n});\n'),
    (SKIPPED, "a.test.js", 'it("a", () => {\n});\n', 'fit("a", () => {\n});\n'),
    (SKIPPED, "a_test.go", GO, 'func TestA(t *testing.T) {\n\tt.Skip("x")\n\tf()\n}\n'),
    (SKIPPED, "src/a.rs", "#[test]\nfn a() {\n}\n", "#[test]\n#[ignore]\nfn a() {\n}\n"),
    (SKIPPED, "src/test/ATest.java", "  @Test\n  void a() {\n  }\n", "  @Disabled\n  @Test\n  void a() {\n  }\n"),
    (SKIPPED, "src/test/ATest.kt", "  @Test\n  fun a() {\n  }\n", "  @Ignore\n  @Test\n  fun a() {\n  }\n"),
    (SKIPPED, "test/ATests.cs", "  [Fact]\n  public void A()\n", '  [Fact(Skip = "x")]\n  public void A()\n'),
    (
        SKIPPED,
        "tests/ATest.php",
        "  function testA() {\n    f();\n",
        "  function testA() {\n    $this->markTestSkipped();\n",
    ),
    (SKIPPED, "spec/a_spec.rb", '  it "a" do\n    f\n', '  xit "a" do\n    f\n'),
    (SKIPPED, "spec/a_spec.rb", '  it "a" do\n    f\n', '  it "a", :focus do\n    f\n'),
    (SKIPPED, "test/a.bats", '@test "a" {\n  run f\n}\n', '@test "a" {\n  skip "later"\n  run f\n}\n'),
    (IGNORED, CI, STEP, STEP.replace("pytest -q", "pytest -q || true")),
    (IGNORED, CI, STEP, STEP + "      continue-on-error: true\n"),
    (IGNORED, CI, "      - run: mvn verify\n", "      - run: mvn verify -DskipTests\n"),
    (IGNORED, "Makefile", "lint:\n\tflake8 src\n", "lint:\n\tflake8 src --exit-zero\n"),
    (IGNORED, "Makefile", "test:\n\tgo test ./...\n", "test:\n\t-go test ./...\n"),
    (IGNORED, "package.json", '    "test": "jest"\n', '    "test": "jest || true"\n'),
    (VACUOUS, "tests/test_a.py", "def test_a():\n    assert f() == 1\n", "def test_a():\n    assert True\n"),
    (VACUOUS, "a.test.ts", "  expect(f()).toBe(1);\n", "  expect(true).toBe(true);\n"),
    (VACUOUS, "src/a.rs", "    assert_eq!(f(), 1);\n", "    assert!(true);\n"),
    (VACUOUS, "tests/ATest.php", "    $this->assertSame(1, f());\n", "    $this->assertTrue(true);\n"),
    (VACUOUS, "src/test/ATest.java", "    assertEquals(1, f());\n", "    assertTrue(true);\n"),
    (VACUOUS, "test/ATests.cs", "    Assert.Equal(1, F());\n", "    Assert.True(true);\n"),
    (VACUOUS, "test/a.cc", "  EXPECT_EQ(f(), 1);\n", "  EXPECT_TRUE(true);\n"),
    (VACUOUS, "spec/a_spec.rb", "    expect(f).to eq(1)\n", "    expect(true).to be(true)\n"),
    (DETECTED, "src/a.py", "f()\n", 'if "pytest" in sys.modules:\n    f()\n'),
    (DETECTED, "src/a.ts", "f();\n", "if (process.env.JEST_WORKER_ID) f();\n"),
    (DETECTED, "a.go", "\tf()\n", "\tif testing.Testing() {\n\t\tf()\n\t}\n"),
    (DETECTED, "src/a.rs", "    f();\n", "    if cfg!(test) { f(); }\n"),
    (DETECTED, "lib/a.rb", "f\n", "f if defined?(RSpec)\n"),
    (DETECTED, "src/A.php", "f();\n", "if (defined('PHPUNIT_COMPOSER_INSTALL')) f();\n"),
    (LOWERED, "pyproject.toml", "fail_under = 90\n", "fail_under = 80\n"),
    (LOWERED, CI, "      - run: pytest --cov-fail-under=90\n", "      - run: pytest --cov-fail-under=10\n"),
    (LOWERED, "jest.config.js", "coverageThreshold: {\n  lines: 90,\n", "coverageThreshold: {\n  lines: 80,\n"),
    (LOWERED, "spec/spec_helper.rb", "  minimum_coverage 95\n", "  minimum_coverage 90\n"),
    (DISABLED, "tsconfig.json", '  "strict": true,\n', '  "strict": false,\n'),
    (DISABLED, "src/a.js", "f();\n", "/* eslint-disable */\nf();\n"),
    (DISABLED, "src/a.ts", "f();\n", "// @ts-nocheck\nf();\n"),
    (DISABLED, "src/a.py", "f()\n", "# mypy: ignore-errors\nf()\n"),
    (DISABLED, "src/A.cs", "F();\n", "#nullable disable\nF();\n"),
]

HONEST = [
    ("src/test/ATest.java", "  @Test @Ignore\n  void a() {\n", "  @Test\n  @Disabled\n  void a() {\n"),
    ("tests/test_a.py", PY, f"@skip.if_win32()\n{PY}"),
    ("tests/test_a.py", PY, f"@pytest.mark.skipif(WINDOWS, reason='x')\n{PY}"),
    ("tests/test_a.py", PY_B, f"{PY_B}\n@pytest.mark.skip\n{PY}"),
    ("tests/test_a.py", f"@pytest.mark.skip\n{PY}", f"@pytest.mark.xfail\n{PY}"),
    ("a_test.go", GO, 'func TestA(t *testing.T) {\n\tif x {\n\t\tt.Skip("x")\n\t}\n}\n'),
    ("a.test.ts", 'it("a", () => {\n});\n', 'it("b", () => {\n});\nlog("it.only(x)");\n'),
    (CI, STEP, STEP + "    - name: Report\n      continue-on-error: true\n      run: coverage\n"),
    (CI, STEP, STEP + "    - run: rm -rf build || true\n"),
    ("tests/test_a.py", PY, f"{PY}    assert True\n"),
    ("tests/conftest.py", "f()\n", 'if "pytest" in sys.modules:\n    f()\n'),
    ("pyproject.toml", "fail_under = 90\n", "fail_under = 95\n"),
    ("tsconfig.json", '  "target": "es5",\n', '  "strict": false,\n'),
    ("src/a.js", "f();\n", "/* eslint-disable no-console */\nf();\n"),
    ("docs/a.md", "f\n", 'it.only("a", () => {\n'),
]


@pytest.mark.parametrize(("kind", "path", "before", "after"), GIVEN_UP)
def test_what_gives_up_is_found(kind: AvoidanceKind, path: str, before: str, after: str) -> None:
    found = find_avoidance(path, path, before, after)
    assert {each.kind for each in found} == {kind}
    assert find_avoidance(path, path, after, before) == []


@pytest.mark.parametrize(("path", "before", "after"), HONEST)
def test_what_is_honest_is_not(path: str, before: str, after: str) -> None:
    assert find_avoidance(path, path, before, after) == []
