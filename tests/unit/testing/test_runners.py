"""Real test runners on small repositories: what each is called with, and what is read of its report."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.testing.runners.reports import RepositoryPlace, parse
from agents.testing.runners.runner import MANIFESTS, ReportFormat, RepositoryFacts, Runner
from agents.testing.runners.table import list_runners
from domain.errors import ToolError
from domain.runs.testing import CaseOutcome, TestCase

P, F, E, S = CaseOutcome.passed, CaseOutcome.failed, CaseOutcome.error, CaseOutcome.skipped
MODULES = os.environ.get("FORGE_TEST_NODE_MODULES", "")
"""A folder ``node_modules`` with jest, vitest, mocha and ava."""


@dataclass(frozen=True)
class Example:
    """A repository of one runner.

    :param run: the files to run; there are others.
    :param expected: id → how it ends.
    :param broken: of those in ``run``, the file that cannot be loaded.
    :param again: the id of a test and the ids that running only that one tells.
    """

    files: Mapping[str, str]
    run: tuple[str, ...]
    expected: Mapping[str, CaseOutcome]
    again: str
    lines: Mapping[str, int]
    needs: str = ""


PYTEST = Example(
    {
        "pyproject.toml": "[tool.pytest.ini_options]\n",
        "tests/test_a.py": (
            "import pytest\n\ndef test_passes():\n    pass\n\ndef test_fails():\n    assert 1 == 2, 'told'\n\n"
            "@pytest.mark.skip\ndef test_skips():\n    pass\n\n"
            "@pytest.mark.parametrize('a', ['x', 'é b'])\ndef test_cases(a):\n    assert a == 'x'\n"
        ),
        "tests/test_b.py": "class TestB:\n    def test_b(self):\n        pass\n",
        "tests/test_broken.py": "import nothing_here\n",
        "tests/test_other.py": "def test_other():\n    pass\n",
    },
    ("tests/test_a.py", "tests/test_b.py", "tests/test_broken.py"),
    {
        "tests/test_a.py::test_passes": P,
        "tests/test_a.py::test_fails": F,
        "tests/test_a.py::test_skips": S,
        "tests/test_a.py::test_cases[x]": P,
        "tests/test_a.py::test_cases[\\xe9 b]": F,
        "tests/test_b.py::TestB::test_b": P,
        "tests/test_broken.py::tests.test_broken": E,
    },
    "tests/test_a.py::test_fails",
    {"tests/test_a.py::test_fails": 6},
)
UNITTEST = Example(
    {
        "tests/__init__.py": "",
        "tests/test_a.py": (
            "import unittest\n\nclass A(unittest.TestCase):\n    def test_passes(self):\n        pass\n\n"
            "    def test_fails(self):\n        self.assertEqual(1, 2, 'told')\n\n"
            "    @unittest.skip('why')\n    def test_skips(self):\n        pass\n\n"
            "    def test_cases(self):\n        for each in ['x', 'é b']:\n"
            "            with self.subTest(each=each):\n                self.assertEqual(each, 'x')\n"
        ),
        "tests/test_b.py": (
            "import doctest\nimport unittest\n\nclass B(unittest.TestCase):\n    def test_b(self):\n        pass\n\n"
            "class One:\n    def f(self):\n        '>>> 1\\n1'\n\n"
            "class Two:\n    def f(self):\n        '>>> 2\\n2'\n\n"
            "def load_tests(_, tests, __):\n    tests.addTests(doctest.DocTestSuite(__name__))\n    return tests\n"
        ),
        "tests/test_broken.py": "import nothing_here\n",
        "tests/test_other.py": "import unittest\n\nclass O(unittest.TestCase):\n    def test_o(self):\n        pass\n",
    },
    ("tests/test_a.py", "tests/test_b.py", "tests/test_broken.py"),
    {
        "tests/test_a.py::A::test_passes": P,
        "tests/test_a.py::A::test_fails": F,
        "tests/test_a.py::A::test_skips": S,
        "tests/test_a.py::A::test_cases (each='é b')": F,
        "tests/test_b.py::B::test_b": P,
        "doctest.DocTestCase::tests.test_b.One.f": P,
        "doctest.DocTestCase::tests.test_b.Two.f": P,
        "tests/test_broken.py::tests.test_broken": E,
    },
    "tests/test_a.py::A::test_fails",
    {"tests/test_a.py::A::test_fails": 7},
)
NODE = Example(
    {
        "package.json": '{"scripts": {"test": "node --test"}}',
        "test/a.test.js": (
            "const test = require('node:test'); const assert = require('node:assert');\n"
            "test('passes well', () => {});\n"
            "test('fails é', () => assert.equal(1, 2, 'told'));\n"
            "test('skips', { skip: true }, () => {});\n"
            "for (const each of [1, 2]) test(`case ${each}`, () => assert.equal(each, 1));\n"
        ),
        "test/b.test.js": "require('node:test')('b', () => {});\n",
        "test/broken.test.js": "require('./nothing');\n",
        "test/other.test.js": "require('node:test')('other', () => {});\n",
    },
    ("test/a.test.js", "test/b.test.js", "test/broken.test.js"),
    {
        "test/a.test.js::passes well": P,
        "test/a.test.js::fails é": F,
        "test/a.test.js::skips": S,
        "test/a.test.js::case 1": P,
        "test/a.test.js::case 2": F,
        "test/b.test.js::b": P,
        "test/broken.test.js": E,
    },
    "",
    {"test/a.test.js::fails é": 3},
)
JS = (
    "test('passes well', () => {});\n"
    "test('fails (é)', () => { throw new Error('told'); });\n"
    "test.skip('skips', () => {});\n"
    "describe('group', () => { for (const each of [1, 2]) test(`case ${each}`, () => {\n"
    "  if (each === 2) throw new Error('told');\n}); });\n"
)
JEST_ENDS = {
    "a.test.js::passes well": P,
    "a.test.js::fails (é)": F,
    "a.test.js::skips": S,
    "a.test.js::group case 1": P,
    "a.test.js::group case 2": F,
    "b.test.js::b": P,
    "broken.test.js": E,
}
JEST = Example(
    {
        "package.json": '{"scripts": {"test": "NODE_ENV=test jest --verbose"}}',
        "a.test.js": JS,
        "b.test.js": "test('b', () => {});\n",
        "broken.test.js": "require('./nothing');\n",
        "other.test.js": "test('other', () => {});\n",
    },
    ("a.test.js", "b.test.js", "broken.test.js"),
    JEST_ENDS,
    "a.test.js::group case 2",
    {"a.test.js::fails (é)": 2},
    "jest",
)
IMPORTS = "import { test, describe } from 'vitest';"
VITEST = Example(
    {
        "package.json": '{"type": "module", "scripts": {"test": "tsc && vitest"}}',
        "a.test.js": IMPORTS + JS,
        "b.test.js": f"{IMPORTS} test('b', () => {{}});\n",
        "broken.test.js": "import './nothing.js';\n",
        "other.test.js": f"{IMPORTS} test('other', () => {{}});\n",
    },
    ("a.test.js", "b.test.js", "broken.test.js"),
    JEST_ENDS,
    "a.test.js::group case 2",
    {"a.test.js::fails (é)": 2},
    "vitest",
)
MOCHA = Example(
    {
        "package.json": '{"scripts": {"test": "mocha -r ./ready.js test/**/*.js"}}',
        "ready.js": "global.ready = true;\n",
        "test/a.js": "if (!ready) throw new Error();\n" + JS.replace("test.skip", "it.skip").replace("test(", "it("),
        "test/b.js": "it('b', () => {});\n",
        "test/other.js": "it('other', () => {});\n",
    },
    ("test/a.js", "test/b.js"),
    {
        "test/a.js::passes well": P,
        "test/a.js::fails (é)": F,
        "test/a.js::skips": S,
        "test/a.js::group case 1": P,
        "test/a.js::group case 2": F,
        "test/b.js::b": P,
    },
    "test/a.js::group case 2",
    {},
    "mocha",
)
AVA = Example(
    {
        "package.json": '{"type": "module", "scripts": {"test": "ava"}}',
        "test/a.js": (
            "import test from 'ava';\ntest('passes well', t => t.pass());\ntest('fails (é)', t => t.is(1, 2));\n"
            "test.skip('skips', t => t.fail());\n"
        ),
        "test/b.js": "import test from 'ava';\ntest('b', t => t.pass());\n",
        "test/other.js": "import test from 'ava';\ntest('other', t => t.pass());\n",
    },
    ("test/a.js", "test/b.js"),
    {"a::passes well": P, "a::fails (é)": F, "a::skips": S, "b::b": P},
    "a::fails (é)",
    {},
    "ava",
)
GO = Example(
    {
        "go.mod": "module example.com/m\n\ngo 1.18\n",
        "a.go": "package m\n",
        "a_test.go": (
            'package m\n\nimport "testing"\n\nfunc TestPasses(t *testing.T) {}\n'
            'func TestFails(t *testing.T) { t.Error("told") }\n'
            'func TestSkips(t *testing.T) { t.Skip("why") }\n'
            'func TestCases(t *testing.T) {\n\tfor _, each := range []string{"x", "é b"} {\n'
            '\t\tt.Run(each, func(t *testing.T) {\n\t\t\tif each != "x" {\n\t\t\t\tt.Fatal("told")\n\t\t\t}\n'
            "\t\t})\n\t}\n}\n"
        ),
        "sub/b_test.go": 'package sub\n\nimport "testing"\n\nfunc TestB(t *testing.T) {}\n',
        "broken/c_test.go": 'package broken\n\nimport "testing"\n\nfunc TestC(t *testing.T) { nothing() }\n',
        "other/d_test.go": 'package other\n\nimport "testing"\n\nfunc TestD(t *testing.T) {}\n',
    },
    ("a_test.go", "sub/b_test.go", "broken/c_test.go"),
    {
        "a_test.go::TestPasses": P,
        "a_test.go::TestFails": F,
        "a_test.go::TestSkips": S,
        "a_test.go::TestCases": F,
        "a_test.go::TestCases/x": P,
        "a_test.go::TestCases/é_b": F,
        "sub/b_test.go::TestB": P,
        "broken/c_test.go": E,
    },
    "a_test.go::TestFails",
    {"a_test.go::TestFails": 6},
    "go",
)
CARGO = Example(
    {
        "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": (
            "pub mod net;\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn passes() {}\n    #[test]\n"
            '    fn fails() { assert_eq!(1, 2, "told"); }\n    #[test]\n    #[ignore]\n    fn skips() {}\n}\n'
        ),
        "src/net.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn inner() {}\n}\n",
        "tests/it.rs": "#[test]\nfn outer() {}\n#[test]\n#[should_panic]\nfn panics() { panic!() }\n",
        "tests/other.rs": "#[test]\nfn other() {}\n",
    },
    ("src/lib.rs", "src/net.rs", "tests/it.rs"),
    {
        "src/lib.rs::tests::passes": P,
        "src/lib.rs::tests::fails": F,
        "src/lib.rs::tests::skips": S,
        "src/net.rs::net::tests::inner": P,
        "tests/it.rs::outer": P,
        "tests/it.rs::panics": P,
    },
    "src/lib.rs::tests::fails",
    {},
    "cargo",
)
RSPEC = Example(
    {
        "spec/a_spec.rb": (
            "RSpec.describe 'A' do\n  it('passes well') { }\n  it('fails é') { expect(1).to eq(2) }\n"
            "  xit('skips') { }\n  [1, 2].each { |n| it(\"case #{n}\") { expect(n).to eq(1) } }\nend\n"
        ),
        "spec/b_spec.rb": "RSpec.describe('B') { it('b') { } }\n",
        "spec/other_spec.rb": "RSpec.describe('O') { it('o') { } }\n",
    },
    ("spec/a_spec.rb", "spec/b_spec.rb"),
    {
        "spec/a_spec.rb::A passes well": P,
        "spec/a_spec.rb::A fails é": F,
        "spec/a_spec.rb::A skips": S,
        "spec/a_spec.rb::A case 1": P,
        "spec/a_spec.rb::A case 2": F,
        "spec/b_spec.rb::B b": P,
    },
    "spec/a_spec.rb::A fails é",
    {"spec/a_spec.rb::A fails é": 3},
    "rspec",
)
MINITEST = Example(
    {
        "test/test_a.rb": (
            "require 'minitest/autorun'\nclass TestA < Minitest::Test\n  def test_passes; end\n"
            "  def test_fails; assert_equal 1, 2; end\n  def test_skips; skip 'why'; end\n"
            "  def test_errors; nothing; end\n"
            '  [1, 2].each { |n| define_method("test_case é #{n}") { assert_equal 1, n } }\nend\n'
        ),
        "test/b_test.rb": "require 'minitest/autorun'\nclass BTest < Minitest::Test\n  def test_b; end\nend\n",
        "test/other_test.rb": "require 'minitest/autorun'\nclass OTest < Minitest::Test\n  def test_o; end\nend\n",
    },
    ("test/test_a.rb", "test/b_test.rb"),
    {
        "test/test_a.rb::TestA::test_passes": P,
        "test/test_a.rb::TestA::test_fails": F,
        "test/test_a.rb::TestA::test_skips": S,
        "test/test_a.rb::TestA::test_errors": E,
        "test/test_a.rb::TestA::test_case é 1": P,
        "test/test_a.rb::TestA::test_case é 2": F,
        "test/b_test.rb::BTest::test_b": P,
    },
    "test/test_a.rb::TestA::test_fails",
    {"test/test_a.rb::TestA::test_fails": 4},
    "ruby",
)
TEST_UNIT = Example(
    {
        "test/test_a.rb": (
            "require 'test/unit'\nclass TestA < Test::Unit::TestCase\n  def test_passes; print 'shown'; end\n"
            "  def test_fails; assert_equal 1, 2; end\n  def test_skips; omit 'why'; end\n"
            "  def test_errors; nothing; end\n  data('one' => 1, 'é' => 2)\n"
            "  def test_case(n); assert_equal 1, n; end\n"
            "  sub_test_case('when inside') { test('a name') { puts 'a: ' } }\nend\n"
        ),
        "test/b_test.rb": "require 'test/unit'\nclass BTest < Test::Unit::TestCase\n  def test_b; end\nend\n",
        "test/other_test.rb": "require 'test/unit'\nclass OTest < Test::Unit::TestCase\n  def test_o; end\nend\n",
    },
    ("test/test_a.rb", "test/b_test.rb"),
    {
        "test/test_a.rb::TestA::test_passes": P,
        "test/test_a.rb::TestA::test_fails": F,
        "test/test_a.rb::TestA::test_skips": S,
        "test/test_a.rb::TestA::test_errors": E,
        "test/test_a.rb::TestA::test_case[one]": P,
        "test/test_a.rb::TestA::test_case[é]": F,
        "test/test_a.rb::TestA::when inside::test: a name": P,
        "test/b_test.rb::BTest::test_b": P,
    },
    "test/test_a.rb::TestA::test_fails",
    {"test/test_a.rb::TestA::test_fails": 4},
    "ruby",
)
PHP = "<?php\nnamespace T;\nclass {} extends \\PHPUnit\\Framework\\TestCase {{\n{}}}\n"
PHPUNIT = Example(
    {
        "tests/ATest.php": PHP.format(
            "ATest",
            "    function testPasses() { $this->assertTrue(true); }\n"
            "    function testFails() { $this->assertSame(1, 2, 'told'); }\n"
            "    function testSkips() { $this->markTestSkipped('why'); }\n"
            "    /** @dataProvider cases */\n    function testCases($a) { $this->assertSame(1, $a); }\n"
            "    static function cases() { return ['x' => [1], 'é b' => [2]]; }\n",
        ),
        "tests/BTest.php": PHP.format("BTest", "    function testB() { $this->assertTrue(true); }\n"),
        "tests/OtherTest.php": PHP.format("OtherTest", "    function testO() { $this->assertTrue(true); }\n"),
    },
    ("tests/ATest.php", "tests/BTest.php"),
    {
        "tests/ATest.php::T.ATest::testPasses": P,
        "tests/ATest.php::T.ATest::testFails": F,
        "tests/ATest.php::T.ATest::testSkips": S,
        'tests/ATest.php::T.ATest::testCases with data set "x"': P,
        'tests/ATest.php::T.ATest::testCases with data set "é b"': F,
        "tests/BTest.php::T.BTest::testB": P,
    },
    "tests/ATest.php::T.ATest::testFails",
    {"tests/ATest.php::T.ATest::testFails": 5},
    "phpunit",
)
BATS = Example(
    {
        "test/a.bats": (
            '@test "passes well" {\n  true\n}\n@test "fails (é)" {\n  false\n}\n@test "skips" {\n  skip why\n}\n'
        ),
        "test/b.bats": '@test "b" {\n  true\n}\n',
        "test/other.bats": '@test "other" {\n  true\n}\n',
    },
    ("test/a.bats", "test/b.bats"),
    {"test/a.bats::passes well": P, "test/a.bats::fails (é)": F, "test/a.bats::skips": S, "test/b.bats::b": P},
    "test/a.bats::fails (é)",
    {},
    "bats",
)
EXAMPLES = {
    "pytest": PYTEST,
    "unittest": UNITTEST,
    "node": NODE,
    "jest": JEST,
    "vitest": VITEST,
    "mocha": MOCHA,
    "ava": AVA,
    "go": GO,
    "cargo": CARGO,
    "rspec": RSPEC,
    "minitest": MINITEST,
    "test-unit": TEST_UNIT,
    "phpunit": PHPUNIT,
    "bats": BATS,
}


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Example:
    """A repository in the working folder of the test."""
    found = EXAMPLES[request.param]
    if found.needs in {"jest", "vitest", "mocha", "ava"}:
        if not Path(MODULES, found.needs).is_dir():
            pytest.skip("FORGE_TEST_NODE_MODULES names no folder with it")
        (tmp_path / "node_modules").symlink_to(MODULES)
    elif found.needs and not shutil.which(found.needs):
        pytest.skip(f"no {found.needs} here")
    return found


Run = Callable[..., tuple[int, dict[str, TestCase]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command of a runner on a repository, and reads its report."""

    def run_files(example: Example, *names: str) -> tuple[int, dict[str, TestCase]]:
        for path, text in example.files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        results = tmp_path / "results"
        results.mkdir(exist_ok=True)
        for left in results.iterdir():
            left.unlink()
        runner = find(example)
        files = tuple({name.partition("::")[0]: None for name in names}) or example.run
        command = runner.build(files, str(results), names)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # pytest is where this Python is
        environment = {**os.environ, "PATH": path, **dict(command.environment), "FORGE_RESULTS": str(results)}
        done = subprocess.run(
            command.words, check=False, cwd=tmp_path, env=environment, capture_output=True, timeout=120
        )
        report = command.report
        document = (results / report.file).read_bytes() if report.file else done.stdout
        owned = {path: text for path, text in example.files.items() if runner.owns(path)}
        cases = parse(report.format, document, RepositoryPlace(str(tmp_path), [*owned], owned))
        return done.returncode, {case.id: case for case in cases}

    return run_files


def find(example: Example) -> Runner:
    manifests = {path: text for path, text in example.files.items() if path in MANIFESTS}
    return find_owner(example.run[0], RepositoryFacts([*example.files], manifests))


def find_owner(path: str, facts: RepositoryFacts) -> Runner:
    return next(runner for runner in list_runners(facts) if runner.owns(path))


def test_every_test_of_the_files_is_told_and_none_of_others(example: Example, run: Run) -> None:
    status, cases = run(example)
    assert {name: case.outcome for name, case in cases.items()} == example.expected
    assert status != 0
    for name, case in cases.items():
        assert case.path is None or case.path in example.files, name
        assert case.message or not case.outcome.is_bad, name
    assert {name: cases[name].line for name in example.lines} == example.lines


def test_one_failed_test_is_run_again_alone(example: Example, run: Run) -> None:
    if not find(example).can_name:
        pytest.skip("its tests are not run by their names")
    status, cases = run(example, example.again)
    ran = [name for name, case in cases.items() if case.outcome is not S]
    assert ran == [example.again]
    assert status != 0


def test_a_second_run_gives_the_same_ids(run: Run) -> None:
    assert [*run(UNITTEST)[1]] == [*run(UNITTEST)[1]]


def test_a_class_of_surefire_or_gradle_is_found_in_its_file() -> None:
    document = b"""<testsuites><testsuite name="com.a.SmallTest" tests="4">
<testcase name="passes" classname="com.a.SmallTest" time="0.01"/>
<testcase name="fails" classname="com.a.SmallTest"><failure message="told" type="E">told
 at com.a.SmallTest.fails(SmallTest.java:9)</failure></testcase>
<testcase name="skips" classname="com.a.SmallTest$Inner"><skipped/></testcase>
<testcase name="cases(int)[2] \xc3\xa9 b" classname="com.a.SmallTest"/></testsuite></testsuites>"""
    path = "core/src/test/java/com/a/SmallTest.java"
    cases = parse("junit", document, RepositoryPlace("/w", [path, "core/src/test/java/com/b/SmallTest.java"]))
    assert {case.id: case.outcome for case in cases} == {
        f"{path}::com.a.SmallTest::passes": P,
        f"{path}::com.a.SmallTest::fails": F,
        f"{path}::com.a.SmallTest$Inner::skips": S,
        f"{path}::com.a.SmallTest::cases(int)[2] é b": P,
    }
    maven, gradle = (
        find_owner(path, RepositoryFacts([path, manifest], {})) for manifest in ("pom.xml", "build.gradle")
    )
    again = [case.id for case in cases if case.outcome is F]
    assert maven.build([path], "/r", again).words[-3] == "-Dtest=SmallTest#fails"
    assert gradle.build([path], "/r", again).words[-2:] == ("--tests", "SmallTest.fails")
    assert gradle.build([path], "/r").line == "gradle --continue test --tests SmallTest"


def test_a_report_of_dotnet_is_read() -> None:
    document = """<?xml version="1.0" encoding="utf-8"?>
<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010"><Results>
<UnitTestResult testId="1" testName="A.SmallTests.Passes" outcome="Passed"/>
<UnitTestResult testId="2" testName="A.SmallTests.Cases(a: &quot;é b&quot;)" outcome="Failed"><Output><ErrorInfo>
<Message>told</Message><StackTrace>at A.SmallTests.Cases() in /w/t/SmallTests.cs:line 9</StackTrace></ErrorInfo>
</Output></UnitTestResult>
<UnitTestResult testId="3" testName="A.SmallTests.Skips" outcome="NotExecuted"/></Results><TestDefinitions>
<UnitTest id="1"><TestMethod className="A.SmallTests" name="Passes"/></UnitTest>
<UnitTest id="2"><TestMethod className="A.SmallTests" name="Cases"/></UnitTest>
<UnitTest id="3"><TestMethod className="A.SmallTests" name="Skips"/></UnitTest></TestDefinitions></TestRun>"""
    cases = parse("trx", document.encode(), RepositoryPlace("/w", ["t/SmallTests.cs"]))
    assert {case.id: case.outcome for case in cases} == {
        "t/SmallTests.cs::A.SmallTests::Passes": P,
        't/SmallTests.cs::A.SmallTests::Cases(a: "é b")': F,
        "t/SmallTests.cs::A.SmallTests::Skips": S,
    }
    assert [(case.message, case.line) for case in cases if case.outcome is F] == [("told", 9)]


@pytest.mark.parametrize("form", ["junit", "jest", "mocha", "node", "rspec", "trx"])
def test_what_is_no_report_is_refused(form: ReportFormat) -> None:
    with pytest.raises(ToolError):
        parse(form, b"{[<", RepositoryPlace("/w"))


_TAP = b"""TAP version 13
# adds
ok 1 one
not ok 2 two
  ---
    operator: equal
    at: Test.<anonymous> (/w/test/a.js:2:37)
  ...
# holds
ok 3 should be truthy
ok 4 later # TODO
# not now
ok 5 not now # SKIP
# throws
ok 6 should be truthy
/w/test/a.js:5
Error: told
"""


def test_what_tape_prints_is_read_by_its_tests() -> None:
    """A run that ends before its plan was ended by the test that was under way."""
    cases = parse("tap", _TAP, RepositoryPlace("/w"))
    assert {case.id: case.outcome for case in cases} == {
        "adds": F,
        "holds": P,
        "not now": S,
        "throws": CaseOutcome.error,
    }
    assert ["at: Test" in case.details or "Error: told" in case.details for case in cases if case.outcome.is_bad] == [
        True,
        True,
    ]
    whole = parse("tap", _TAP.partition(b"/w/test/a.js:5")[0] + b"\n1..6\n# tests 6\n# pass 5\n", RepositoryPlace("/w"))
    assert {case.id: case.outcome for case in whole}["throws"] is P


_AVA = """TAP version 13
not ok 1 - file:///w/test/b.js:2
  ---
    name: SyntaxError
    message: The requested module '../a.js' does not provide an export named 'gone'
  ...
not ok 2 - test/b.js exited with a non-zero exit code: 1
ok 3 - a › skipped # SKIP
not ok 4 - a › later # TODO
not ok 5 - a › adds: 2
  ---
    assertion: t.is()
    message: sum
  ...
ok 6 - a › holds

1..6
# tests 4
# fail 3
""".encode()


def test_what_ava_prints_is_read() -> None:
    """Its reports name the file only of what ended outside of any test."""
    cases = parse("ava", _AVA, RepositoryPlace("/w"))
    assert {case.id: (case.path, case.outcome) for case in cases} == {
        "test/b.js": ("test/b.js", CaseOutcome.error),
        "a::skipped": (None, S),
        "a::later": (None, S),
        "a::adds: 2": (None, F),
        "a::holds": (None, P),
    }
    assert {case.id: case.details.splitlines()[-2].strip() for case in cases if case.outcome.is_bad} == {
        "test/b.js": "...",
        "a::adds: 2": "message: sum",
    }
