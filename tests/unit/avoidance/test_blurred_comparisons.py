"""Comparisons that see fewer differences: each side passes through something, in a test or in what all tests call."""

from collections.abc import Mapping

import pytest

from agents.review.avoidance.losses import NOT, judge_layer
from domain.review.avoidance import CERTAIN, Avoidance, AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

WEAKENED = AvoidanceKind.assertion_weakened
LANGUAGES: Mapping[str, tuple[str, str]] = {
    "tests/test_a.py": ("def test_a():\n    got = f(1)\n    other = 1\n    {}\n", "assert got == WANT"),
    "test/a.test.js": ("it('a', () => {{\n  const got = f(1);\n  {};\n}});\n", "expect(got).toBe(want)"),
    "a_test.go": (
        "package a\n\nfunc TestA(t *testing.T) {{\n\tgot := f(1)\n\tif {} {{\n\t\tt.Fatal(got)\n\t}}\n}}\n",
        "got != want",
    ),
    "src/test/java/ATest.java": (
        "class ATest {{\n  @Test\n  void a() {{\n    String got = f(1);\n    {};\n  }}\n}}\n",
        "assertEquals(want, got)",
    ),
    "spec/a_spec.rb": ("it 'a' do\n  got = f(1)\n  {}\nend\n", "expect(got).to eq(want)"),
    "tests/a.rs": ("#[test]\nfn a() {{\n    let got = f(1);\n    {};\n}}\n", "assert_eq!(got, want)"),
    "tests/ATest.cs": (
        "class ATest {{\n  [Fact]\n  void A() {{\n    var got = F(1);\n    {};\n  }}\n}}\n",
        "got == want",
    ),
    "tests/ATest.php": (
        "<?php\nclass ATest extends TestCase {{\n  public function testA() {{\n    $got = f(1);\n    {};\n  }}\n}}\n",
        "$this->assertSame($want, $got)",
    ),
    "test/a.bats": ('@test "a" {{\n  run f 1\n  {}\n}}\n', '[ "$output" = "$want" ]'),
}


def list_weakened(path: str, before: str, after: str) -> list[Avoidance]:
    return [each for each in compare({path: before}, {path: after}) if each.kind is WEAKENED]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", "", "assert got.lower() == WANT.lower()"),
        ("tests/test_a.py", "", "assert got.strip() == WANT"),
        ("tests/test_a.py", "", r"assert re.sub(r'\s+', ' ', got) == re.sub(r'\s+', ' ', WANT)"),
        ("tests/test_a.py", "", "assert [normalize(each) for each in got] == [normalize(each) for each in WANT]"),
        ("tests/test_a.py", "", "assert got.replace(' ', '') == WANT.replace(' ', '')"),
        ("tests/test_a.py", "", "got = got.strip()\n    assert got == WANT"),
        ("tests/test_a.py", "assert f(2) == 0.25", "assert round(f(2), 1) == 0.3"),
        ("tests/test_a.py", "assert f(2) == 'Ab c'", "assert f(2).lower() == 'ab c'"),
        ("tests/test_a.py", "assert f(2) == [1, 2]", "assert set(f(2)) == {1, 2}"),
        ("test/a.test.js", "", "expect(canonical(got)).toBe(canonical(want))"),
        ("test/a.test.js", "", "expect(got.trim()).toBe(want)"),
        ("test/a.test.js", "", "expect(got.map((x) => x.toLowerCase())).toBe(want.map((x) => x.toLowerCase()))"),
        ("test/a.test.js", "assert.equal(got, 'a b')", "assert.equal(got.replace(/\\s+/g, ''), 'ab')"),
        ("a_test.go", "", "strings.TrimSpace(got) != strings.TrimSpace(want)"),
        ("a_test.go", "", "!strings.EqualFold(got, want)"),
        ("src/test/java/ATest.java", "", "assertEquals(want.toLowerCase(), got.toLowerCase())"),
        ("src/test/java/ATest.java", "assertThat(got).isEqualTo(want)", "assertThat(got).isEqualToIgnoringCase(want)"),
        ("spec/a_spec.rb", "", "expect(got.strip).to eq(want.strip)"),
        ("spec/a_spec.rb", "assert_equal want, got", "assert_equal want, got.squeeze"),
        ("tests/a.rs", "", "assert_eq!(got.trim(), want.trim())"),
        ("tests/ATest.cs", "Assert.Equal(want, got)", "Assert.Equal(want.Trim(), got.Trim())"),
        ("tests/ATest.php", "", "$this->assertSame(strtolower($want), strtolower($got))"),
        ("tests/ATest.php", "", r"$this->assertSame($want, preg_replace('/\s+/', ' ', $got))"),
        ("test/a.bats", "", '[ "${output,,}" = "${want,,}" ]'),
        ("test/a.bats", 'assert_equal "$(f 2)" "$want"', 'assert_equal "$(f 2 | tr -d \' \')" "$want"'),
    ],
)
def test_a_side_that_loses_something_is_certain(path: str, old: str, new: str) -> None:
    frame, usual = LANGUAGES[path]
    found = list_weakened(path, frame.format(old or usual), frame.format(new))
    assert [each for each in found if each.confidence >= CERTAIN]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", "", "assert sorted(got) == sorted(WANT)"),
        ("tests/test_a.py", "", "assert got.replace(str(tmp_path), 'X') == WANT"),
        ("test/a.test.js", "", "expect([...got].sort()).toBe([...want].sort())"),
    ],
)
def test_what_may_have_a_reason_is_doubtful(path: str, old: str, new: str) -> None:
    frame, usual = LANGUAGES[path]
    found = list_weakened(path, frame.format(old or usual), frame.format(new))
    assert [each.confidence < CERTAIN for each in found] == [True]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", "", "assert got == WANT.strip()"),
        ("tests/test_a.py", "", "assert str(got) == str(WANT)"),
        ("tests/test_a.py", "", "assert json.dumps(got) == json.dumps(WANT)"),
        ("tests/test_a.py", "", "assert list(got) == list(WANT)"),
        ("tests/test_a.py", "", "assert got.replace('\\r\\n', '\\n') == WANT"),
        ("tests/test_a.py", "assert f(other) == 'a'", "assert f(other.strip()) == 'a'"),
        ("tests/test_a.py", "assert f(2).lower() == 'a'", "assert f(2).casefold().lower() == f('A').lower() == 'a'"),
        ("tests/test_a.py", "assert f('  a') == 'A'", "assert g('  a').strip() == 'A'"),
        ("tests/test_a.py", "assert f(2) == 'a,b'", "assert f(2).split(',') == ['a', 'b']"),
        ("tests/test_a.py", "assert out() == '{\"a\": 1}'", "assert json.loads(out()) == {'a': 1}"),
        ("test/a.test.js", "", "expect(JSON.stringify(got)).toBe(JSON.stringify(want))"),
        ("test/a.test.js", "", "expect(Array.from(got)).toBe(Array.from(want))"),
        ("test/a.test.js", "", "expect(got).toBe(want.trim())"),
        ("a_test.go", "", "string(got) != string(want)"),
        ("src/test/java/ATest.java", "", "assertEquals(want.toString(), got.toString())"),
        ("tests/a.rs", "", "assert_eq!(got.to_string(), want.to_string())"),
    ],
)
def test_what_loses_nothing_is_left_alone(path: str, old: str, new: str) -> None:
    frame, usual = LANGUAGES[path]
    found = list_weakened(path, frame.format(old or usual), frame.format(new))
    assert not [each for each in found if "pass" in each.what]


HELPER = """\
def assert_same(expected, result):
    print(expected)
    assert expected == result
"""
CHECK = "package a\n\nfunc check(t *testing.T, got, want string) {\n\tif got != want {\n\t\tt.Fatal(got)\n\t}\n}\n"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/common.py", HELPER, HELPER.replace("expected == result", "expected.strip() == result.strip()")),
        ("tests/common.py", HELPER, HELPER.replace("    print", "    result = result.lower()\n    print")),
        (
            "tests/common.py",
            HELPER,
            "def _plain(value):\n    return ' '.join(value.split())\n\n\n"
            + HELPER.replace("expected == result", "_plain(expected) == _plain(result)"),
        ),
        (
            "test/helper.js",
            "function same(a, b) {\n  assert.strictEqual(a, b);\n}\nmodule.exports = { same };\n",
            "function same(a, b) {\n  assert.strictEqual(a.trim(), b.trim());\n}\nmodule.exports = { same };\n",
        ),
        (
            "helper_test.go",
            CHECK,
            CHECK.replace("got != want", "strings.ToLower(got) != strings.ToLower(want)"),
        ),
        (
            "test/test_helper.rb",
            "def assert_same(a, b)\n  assert_equal a, b\nend\n",
            "def assert_same(a, b)\n  assert_equal a.downcase, b.downcase\nend\n",
        ),
    ],
)
def test_a_helper_by_which_tests_check_may_lose_no_more(path: str, before: str, after: str) -> None:
    """No test needs to be in the change."""
    found = list_weakened(path, before, after)
    assert [each for each in found if each.confidence >= CERTAIN]
    assert not list_weakened(path, after, before)


def test_a_helper_through_which_values_pass_may_lose_no_more() -> None:
    before = "def plain(text):\n    return text.strip()\n\n\ndef check(a, b):\n    assert plain(a) == plain(b)\n"
    after = before.replace("text.strip()", "text.strip().lower()")
    assert list_weakened("tests/common.py", before, after)
    other = before.replace("text.strip()", "str(text).strip()")
    assert not list_weakened("tests/common.py", before, other)


def test_a_canonical_form_from_another_file_is_known() -> None:
    helper = "export function plain(x) {\n  return parse(stringify(x));\n}\n"
    before = "it(title, () => {\n  expect(parse(text)).toStrictEqual(expected);\n});\n"
    after = "it(title, () => {\n  expect(plain(parse(text))).toStrictEqual(plain(expected));\n});\n"
    found = compare({"src/a.test.ts": before}, {"src/a.test.ts": after, "src/plain.ts": helper})
    assert [each.confidence >= CERTAIN for each in found if each.kind is WEAKENED] == [True]


def test_another_framework_expects_the_same() -> None:
    before = "it('reads', () => {\n  expect(ms('100')).to.be(100);\n});\n"
    after = "it('reads', () => {\n  assert.strictEqual(ms('100'), 100);\n});\n"
    assert not compare({"tests.js": before}, {"tests.js": after})
    other = before.replace("be(100)", "be(101)")
    assert [each.kind for each in compare({"tests.js": before}, {"tests.js": other})] == [
        AvoidanceKind.expectation_changed
    ]


def test_a_name_that_nobody_writes_is_judged_at_once() -> None:
    """What it might be called was once looked for at each of its characters, from each other one."""
    assert judge_layer("_" * 100_000) == NOT
    slashes = f'test_a() {{\n  assertEquals "x" "${{{"/" * 1_500}"\n}}\n'
    assert list_kinds(compare({"test/test_a.sh": "\n"}, {"test/test_a.sh": slashes})) == set()
