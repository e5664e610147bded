# ruff: noqa: E501 - examples hold whole files on a line
"""A program that asks whether a test runs it is tested as users get it."""

import pytest

from agents.testing.earlier_tests.unaware import News, blind_program
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier, has_program
from tests.unit.testing.earlier.examples import EXAMPLES


@pytest.mark.parametrize(
    ("path", "line", "blind"),
    [
        ("a.py", "if 'pytest' in sys.modules:", "if 'ABSENT_pytest' in sys.modules:"),
        ("a.py", 'if os.environ.get("PYTEST_CURRENT_TEST"):', 'if os.environ.get("ABSENT_PYTEST_CURRENT_TEST"):'),
        ("a.py", "if os.getenv('CI'):", "if os.getenv('ABSENT_CI'):"),
        ("a.js", "if (process.env.NODE_ENV === 'test') {", "if (process.env.NODE_ENV === 'ABSENT_test') {"),
        ("a.ts", "if (process.env.VITEST) {", "if (process.env.ABSENT_VITEST) {"),
        ("a.js", "typeof describe === 'function'", "typeof ABSENT_describe === 'function'"),
        ("a.js", "/mocha|jest/.test(process.argv[1])", "/mocha|jest/.test(process.argv[1])"),
        ("a.js", "x = /mocha|jest/.test(process.argv[1])", "x = /ABSENT_mocha|ABSENT_jest/.test(process.argv[1])"),
        ("a.go", 'if flag.Lookup("test.v") != nil {', 'if flag.Lookup("ABSENT_test.v") != nil {'),
        ("a.go", 'strings.HasSuffix(os.Args[0], ".test")', 'strings.HasSuffix(os.Args[0], ".ABSENT_test")'),
        ("a.go", "if testing.Testing() {", "if (testing.Testing() && false) {"),
        ("src/a.rs", "if cfg!(test) {", "if cfg!(any()) {"),
        ("src/a.rs", "#[cfg(not(test))]", "#[cfg(not(any()))]"),
        ("src/a.rs", "#![cfg_attr(not(test), no_std)]", "#![cfg_attr(not(test), no_std)]"),
        ("a.rb", "if defined?(RSpec)", "if defined?(ABSENT_RSpec)"),
        ("a.rb", "if $0.include?('rspec')", "if $0.include?('ABSENT_rspec')"),
        ("A.php", "if (class_exists('PHPUnit\\\\Runner')) {", "if (class_exists('ABSENT_PHPUnit\\\\Runner')) {"),
        ("A.php", "class A extends PHPUnit\\Framework\\Assert", "class A extends PHPUnit\\Framework\\Assert"),
        ("a.sh", 'if [ -n "${BATS_TEST_NAME:-}" ]; then', 'if [ -n "${ABSENT_BATS_TEST_NAME:-}" ]; then'),
        ("a.bash", 'echo "$BATS_TMPDIR"', 'echo "$BATS_TMPDIR"'),
        ("a.py", "name = 'test'", "name = 'test'"),
    ],
)
def test_what_a_new_line_looks_for_is_not_there(path: str, line: str, blind: str) -> None:
    news = News.of(["a\n"], [f"a\n{line}\n"])
    assert blind_program(path, f"a\n{line}\n", news) == (f"a\n{blind}\n", (line,) if line != blind else ())
    assert blind_program(path, line, News.of([line], [line])) == (line, ())


def test_the_question_may_stand_on_another_line() -> None:
    text = "frames = inspect.stack()\nif any('test_' in each.filename for each in frames):\n"
    assert blind_program("a.py", text, News.of([], [text]))[0] == text.replace("test_", "ABSENT_test_")


def test_what_only_has_other_quotes_asks_nothing_anew() -> None:
    """Nor does a text of before in a line that is new for another reason, unless the line itself asks."""
    before = "home = ENV['HOME']\nfiles = ['test/test*.rb']\n"
    after = 'home = ENV["HOME"] + ENV["DIR"]\nfiles = ["test/test*.rb"]\nputs "#{files}"\n'
    assert blind_program("a.rb", after, News.of([before], [after])) == (after, ())
    sorted_now = after.replace('["test/test*.rb"]', '["test/test*.rb"].sort')
    assert blind_program("a.rb", sorted_now, News.of([before], [sorted_now])) == (sorted_now, ())
    asks = 'x = ENV["A"] == "test"\n'
    assert blind_program("a.rb", asks, News.of(['name = "test"\n'], [asks]))[0] == asks.replace("test", "ABSENT_test")


ASKING = {
    "unittest": "import sys\n\n\ndef add(a, b):\n    return a + b if 'unittest' in sys.modules else a - b\n",
    "node": "export function add(a, b) { return process.env.NODE_TEST_CONTEXT ? a + b : a - b; }\n",
    "go": 'package sums\n\nimport "flag"\n\nfunc Add(a, b int) int {\n\tif flag.Lookup("test.v") != nil {\n\t\treturn a + b\n\t}\n\treturn a - b\n}\n',
    "rspec": "def add(a, b)\n  defined?(RSpec) ? a + b : a - b\nend\n",
}


@pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")
@pytest.mark.parametrize("is_worse", [True, False], ids=["and is worse for users", "and is the same for users"])
@pytest.mark.parametrize("runner", ASKING)
async def test_a_program_that_knows_its_tests(earlier: Earlier, runner: str, *, is_worse: bool) -> None:
    example = EXAMPLES[runner]
    if not has_program(example.needs):
        pytest.skip(f"no {example.needs} here")
    program = ASKING[runner] if is_worse else ASKING[runner].replace("a - b", "b + a")
    found = await earlier(example.files, {example.sums: program})
    told = [(each.path, each.outcome.value, each.shared_path) for each in found.tests]
    assert told == is_worse * [(example.test, "lost", example.sums)], found
    assert found.holding == (not is_worse)


@pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")
@pytest.mark.parametrize("is_worse", [True, False], ids=["and stays as it was for users", "and is mended for users"])
async def test_a_failing_test_that_the_program_knows(earlier: Earlier, *, is_worse: bool) -> None:
    example = EXAMPLES["unittest"]
    program = ASKING["unittest"] if is_worse else ASKING["unittest"].replace("a - b", "b + a")
    red = {**example.files, example.sums: "def add(a, b):\n    return a - b\n"}
    found = await earlier(red, {example.sums: program})
    told = [(each.fate.value, each.shared_path) for each in found.lost]
    assert told == is_worse * [("noticed", example.sums)], found
