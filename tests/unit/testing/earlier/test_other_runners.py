# ruff: noqa: E501 - the tables of cases hold whole files on a line
"""The earlier tests of other runners than pytest on new code: each way in which one can end."""

import pytest

from agents.testing.earlier_tests.reading import list_shared_changes
from domain.runs.earlier_tests import EarlierTests
from messages.earlier_tests import render_section
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.conftest import MODULES
from tests.unit.testing.earlier.conftest import PACKAGES, Earlier, has_program
from tests.unit.testing.earlier.examples import EXAMPLES, Changed, Example, Files

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")
_NEEDS_CARGO = pytest.mark.skipif(not has_program("cargo"), reason="no cargo here")
_NEEDS_GO = pytest.mark.skipif(not has_program("go"), reason="no go here")


# What an outcome means is told alike for all runners: `make test` plays every end of one, and of the others the worst.
_ENDS = [
    pytest.param(runner, end, marks=[pytest.mark.deep] if end != "lost" and runner != "unittest" else [])
    for runner in EXAMPLES
    for end in ("holds", "lost", "changed", "open", "gone")
]


async def find(earlier: Earlier, example: Example, files: Files, change: Changed) -> EarlierTests:
    """What becomes of the tests of an example, whose program has to be here, after a change of these files."""
    if not has_program(example.needs):
        pytest.skip(f"no {example.needs} here")
    setup = {"setup": f"ln -s {MODULES} node_modules"} if example.needs in PACKAGES else {}
    return await earlier(files, change, **setup)


def list_ends(found: EarlierTests) -> list[str]:
    return [each.outcome.value for each in found.tests]


@pytest.mark.parametrize(("runner", "end"), _ENDS)
async def test_a_test_ends(earlier: Earlier, runner: str, end: str) -> None:
    example = EXAMPLES[runner]
    found = await find(earlier, example, example.files, example.change(end))
    assert list_ends(found) == ([] if end == "holds" else [end]), found
    assert (found.holding, found.not_run) == (end == "holds", ())
    assert all(each.path == example.test for each in found.tests)


async def test_what_failed_is_shown_and_not_the_frames_of_its_runner(earlier: Earlier) -> None:
    example = EXAMPLES["rspec"]
    said = render_section(await find(earlier, example, example.files, example.change("lost"))).partition("Now:")[2]
    assert "expected: 4" in said
    assert "sums_spec.rb:5" in said
    assert "/lib/rspec/" not in said


DESELECTED: dict[str, tuple[str, Changed]] = {
    "by a new file of settings": ("mocha", {".mocharc.json": '{"grep": "adds", "invert": true}'}),
    "by the script that runs them": ("mocha", {"package.json": '{"scripts": {"test": "mocha --grep adds --invert"}}'}),
    "because nothing runs tests any more": ("mocha", {"package.json": '{"scripts": {"test": "true"}}'}),
    "by a key of the manifest": (
        "jest",
        {"package.json": '{"scripts": {"test": "jest"}, "jest": {"testPathIgnorePatterns": ["sums"]}}'},
    ),
    "by a switch of Cargo": (
        "cargo",
        {"Cargo.toml": EXAMPLES["cargo"].files["Cargo.toml"] + "autotests = false\n"},
    ),
}


@pytest.mark.parametrize("way", DESELECTED)
async def test_a_failing_test_that_is_deselected_is_lost(earlier: Earlier, way: str) -> None:
    runner, settings = DESELECTED[way]
    example = EXAMPLES[runner]
    found = await find(earlier, example, example.files, {**example.broken, **settings})
    assert list_ends(found) == ["lost"], found


PYTEST = Example(
    {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
        "sums.py": "def add(a, b):\n    return a + b\n",
        "tests/test_sums.py": "from sums import add\n\n\ndef test_adds():\n    assert add(2, 2) == 4\n",
    },
    "sums.py",
    "tests/test_sums.py",
    "== 4",
    "python3",
    "",
)
_BAIL = '{"type": "%s", "scripts": {"test": "%s"}}'
STOPPED: dict[str, tuple[Example, str, Files]] = {
    "pytest by addopts": (PYTEST, "tests/test_more.py", {"pytest.ini": "[pytest]\npythonpath = .\naddopts = -x\n"}),
    "mocha by its script": (
        EXAMPLES["mocha"],
        "test/more.js",
        {"package.json": _BAIL % ("commonjs", "mocha --bail --check-leaks")},
    ),
    "mocha by its settings": (EXAMPLES["mocha"], "test/more.js", {".mocharc.json": '{"bail": true}'}),
    "jest by its script": (
        EXAMPLES["jest"],
        "more.test.js",
        {"package.json": _BAIL % ("commonjs", "jest -i --bail 1")},
    ),
    "jest by its settings": (
        EXAMPLES["jest"],
        "more.test.js",
        {"package.json": '{"scripts": {"test": "jest -i"}, "jest": {"bail": 1}}'},
    ),
    "vitest by its script": (
        EXAMPLES["vitest"],
        "more.test.js",
        {"package.json": _BAIL % ("module", "vitest --no-file-parallelism --bail=1")},
    ),
    "rspec by its settings": (EXAMPLES["rspec"], "spec/more_spec.rb", {".rspec": "--fail-fast\n"}),
    "phpunit by its settings": (
        EXAMPLES["phpunit"],
        "tests/MoreTest.php",
        {"phpunit.xml": '<phpunit stopOnFailure="true"><testsuites/></phpunit>\n'},
    ),
}


@pytest.mark.parametrize("way", STOPPED)
async def test_a_run_that_would_stop_at_its_first_failure_tells_all(earlier: Earlier, way: str) -> None:
    example, more, settings = STOPPED[way]
    again = example.files[example.test].replace("class SumsTest", "class MoreTest")
    change: Changed = {**example.change("lost"), more: None}
    found = await find(earlier, example, {**example.files, **settings, more: again}, change)
    told = sorted((each.path, each.outcome.value) for each in found.tests)
    assert told == sorted([(example.test, "lost"), (more, "lost")]), found


async def test_a_threshold_of_coverage_keeps_no_test_from_being_believed(earlier: Earlier) -> None:
    example = EXAMPLES["jest"]
    limits = '{"collectCoverage": true, "coverageThreshold": {"global": {"functions": 100}}}'
    settings = {"package.json": f'{{"scripts": {{"test": "jest"}}, "jest": {limits}}}'}
    uncovered = {example.sums: example.files[example.sums] + "exports.sub = (a, b) => a - b;\n"}
    found = await find(earlier, example, {**example.files, **settings, **uncovered}, {example.test: None})
    assert (found.holding, found.tests, found.not_run) == (1, (), ())


_NUMBERED = "<?php\nrequire_once __DIR__ . '/../src/sums.php';\n\nclass SumsTest extends PHPUnit\\Framework\\TestCase\n{\n    public static function rows(): array\n    {\n        return [\n            [0, 0, 0],\n            [2, 2, 4],\n            [3, 0, 3],\n        ];\n    }\n\n    /** @dataProvider rows */\n    public function testAdds(int $a, int $b, int $c): void\n    {\n        $this->assertSame($c, add($a, $b));\n    }\n}\n"
_OF_ROWS = {
    "another": ("[2, 2, 4]", "[2, 2, 0]", ["changed"]),
    "taken away": ("            [2, 2, 4],\n", "", ["lost"]),
    "taken away, and another is written anew": (
        "            [2, 2, 4],\n            [3, 0, 3],\n",
        "            [3, -0, 3],\n",
        ["lost"],
    ),
    "taken away, and the others have names": (
        "            [0, 0, 0],\n            [2, 2, 4],\n            [3, 0, 3],\n",
        "            'none' => [0, 0, 0],\n            'three' => [3, 0, 3],\n",
        ["lost"],
    ),
    "given a name, as the others": (
        "            [0, 0, 0],\n            [2, 2, 4],\n            [3, 0, 3],\n",
        "            'none' => [0, 0, 0],\n            'two' => [2, 2, 0],\n            'three' => [3, 0, 3],\n",
        ["unknown"],
    ),
    "one more": ("[2, 2, 4]", "[1, 0, 1],\n            [2, 2, 0]", ["unknown"]),
}


@pytest.mark.parametrize("row", _OF_ROWS)
async def test_a_row_of_phpunit_that_only_has_a_number_ends(earlier: Earlier, row: str) -> None:
    """Where rows come and go, so do their numbers."""
    example, (old, new, ends) = EXAMPLES["phpunit"], _OF_ROWS[row]
    change: Changed = {**example.broken, example.test: _NUMBERED.replace(old, new)}
    found = await find(earlier, example, {**example.files, example.test: _NUMBERED}, change)
    assert list_ends(found) == ends, found
    assert [why[:6] for why in found.not_run] == ["1 row "] * ends.count("unknown")


async def test_tests_for_a_newer_phpunit_are_not_removed(earlier: Earlier) -> None:
    example = EXAMPLES["phpunit"]
    newer = "    #[PHPUnit\\Framework\\Attributes\\Test]\n    public function adds"
    test = example.files[example.test].replace("    public function testAdds", newer).replace("(4,", "(0,")
    found = await find(earlier, example, example.files, {**example.change("changed"), example.test: test})
    assert list_ends(found) == ["unknown"], found


_MADE = "const assert = require('assert');\nconst fs = require('fs');\nconst { add } = require('../sums');\n\nfor (const row of fs.readdirSync(__dirname + '/rows')) {\n  it('adds ' + row, () => {\n    const [a, b, c] = fs.readFileSync(__dirname + '/rows/' + row, 'utf8').split(' ').map(Number);\n    assert.equal(add(a, b), c);\n  });\n}\n"


@pytest.mark.parametrize(("row", "end"), [("2 2 0", "changed"), ("2 0 2", "lost"), ("2 2 5", "open"), (None, "lost")])
async def test_a_test_whose_name_is_put_together_ends(earlier: Earlier, row: str | None, end: str) -> None:
    example = EXAMPLES["mocha"]
    files = {**example.files, example.test: _MADE, "test/rows/a": "2 2 4", "test/rows/b": "1 0 1"}
    found = await find(earlier, example, files, {**example.broken, "test/rows/a": row})
    assert [(each.id.rpartition(" ")[2], each.outcome.value) for each in found.tests] == [("a", end)], found


async def test_a_helper_among_the_tests_that_checks_nothing_any_more_hides_a_failure(earlier: Earlier) -> None:
    example = EXAMPLES["mocha"]
    checked = example.files[example.test].replace("require('assert')", "require('./check')")
    check = "exports.equal = (a, b) => {\n  if (a !== b) throw new Error(`${a} is not ${b}`);\n};\n"
    files = {**example.files, example.test: checked, "test/check.js": check}
    found = await find(earlier, example, files, {**example.broken, "test/check.js": "exports.equal = (a, b) => {};\n"})
    assert [(each.path, each.outcome.value) for each in found.tests] == [(example.test, "lost")], found


SCRIPTS: dict[str, tuple[Example, str, str, str]] = {
    "by an option in a Makefile": (
        PYTEST,
        "Makefile",
        "test:\n\tpytest --ignore tests/test_old.py\n",
        "test:\n\tpytest --ignore tests/test_old.py --ignore tests/test_sums.py\n",
    ),
    "by its name in a step of CI": (
        PYTEST,
        ".github/workflows/ci.yml",
        "jobs: {a: {steps: [{run: pytest}]}}\n",
        "jobs: {a: {steps: [{run: pytest -k 'not test_adds'}]}}\n",
    ),
    "by a session of nox": (
        EXAMPLES["unittest"],
        "noxfile.py",
        "def tests(session):\n    session.run('python', '-m', 'unittest')\n",
        "def tests(session):\n    session.run('python', '-m', 'run', '--exclude', 'tests.test_sums')\n",
    ),
    "by a switch of go": (EXAMPLES["go"], "Makefile", "test:\n\tgo test\n", "test:\n\tgo test -skip TestAdds\n"),
    "by a file that a task of rake leaves out": (
        EXAMPLES["minitest"],
        "Rakefile",
        "Rake::TestTask.new\n",
        "Rake::TestTask.new { |t| t.test_files = FileList['test/*'].exclude('test/sums_test.rb') }\n",
    ),
}


@pytest.mark.parametrize("way", SCRIPTS)
@pytest.mark.parametrize("is_broken", [True, False])
async def test_a_test_that_a_script_leaves_out_is_lost_if_it_fails(
    earlier: Earlier, way: str, *, is_broken: bool
) -> None:
    example, path, before, after = SCRIPTS[way]
    change: Changed = {**(example.broken if is_broken else {}), path: after}
    found = await find(earlier, example, {**example.files, path: before}, change)
    assert [(each.path, each.outcome.value) for each in found.tests] == is_broken * [(example.test, "lost")], found
    assert found.holding == (not is_broken)


@pytest.mark.parametrize(
    ("before", "after", "is_named"),
    [
        ("<includes/>", "<excludes><exclude>**/SumsTest.java</exclude></excludes>", True),
        ("test { useJUnit() }", "test { filter { excludeTestsMatching 'SumsTest.adds' } }", True),
        ("test { exclude '**/SumsTest*' }", "test { exclude '**/SumsTest*', '**/OtherTest*' }", False),
        ("test { useJUnit() }", "test { maxHeapSize = '1g' } // SumsTest needs it", False),
    ],
)
def test_which_file_a_build_leaves_out(before: str, after: str, *, is_named: bool) -> None:
    [change] = list_shared_changes({"pom.xml": before}, {"pom.xml": after})
    path, text = "src/test/java/SumsTest.java", "class SumsTest {\n    @Test void adds() {}\n}\n"
    assert (change.deselects and change.names(path, text)) is is_named


_CARGO: Files = {
    "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 2), 4);\n    }\n}\n",
}
_BAD = ("    a + b", "    a - b")


def rewrite(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


_DEMAND = "        assert_eq!(add(2, 2), 4);\n"


_MODULE = _CARGO["src/lib.rs"].partition("#[cfg(test)]\n")[2]
_MOVED: Files = {"src/lib.rs": _CARGO["src/lib.rs"].replace(_MODULE, "mod tests;\n")}
_AT_THE_TOP = """#![allow(dead_code)]
//! Sums.
#[cfg(test)]
use std::collections::HashMap;

pub const fn add(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
static SUMS: &[(i32, &str)] = &[(4, "}"), (5, "// {")];

#[test]
fn adds() {
    let sums: HashMap<_, _> = SUMS.iter().copied().collect();
    assert!(sums.contains_key(&add(2, 2)));
}
"""
_WITHIN = (_CARGO, _CARGO["src/lib.rs"])
_BESIDE = ({**_CARGO, "src/lib.rs": _AT_THE_TOP}, _AT_THE_TOP)
OF_RUST: dict[str, tuple[tuple[Files, str], list[tuple[str, str]], list[str]]] = {  # what is replaced, and the ends
    "holds": (_WITHIN, [(_DEMAND, "")], []),
    "lost": (_WITHIN, [_BAD, (_DEMAND, "        let _ = add(2, 2);\n")], ["lost"]),
    "expected to fail": (_WITHIN, [_BAD, ("    #[test]\n", "    #[test]\n    #[should_panic]\n")], ["lost"]),
    "lost, and the end of its module is indented": (
        _WITHIN,
        [_BAD, (f"{_DEMAND}    }}\n}}", "    }\n    }")],
        ["lost"],
    ),
    "changed": (_WITHIN, [_BAD, (", 4)", ", 0)")], ["changed"]),
    "open": (_WITHIN, [_BAD, (", 4)", ", 5)")], ["open"]),
    "beside the program, ignored": (_BESIDE, [_BAD, ("#[test]\n", "#[test]\n#[ignore]\n")], ["lost"]),
    "beside the program, and a test no more": (_BESIDE, [_BAD, ("#[test]\n", "")], ["lost"]),
    "beside the program, by the values it shares": (_BESIDE, [_BAD, ("(4,", "(0,")], ["changed"]),
}


@pytest.mark.parametrize("end", OF_RUST)
@_NEEDS_CARGO
async def test_a_test_in_a_source_of_rust_ends(earlier: Earlier, end: str) -> None:
    (files, text), pairs, ends = OF_RUST[end]
    found = await earlier(files, {"src/lib.rs": rewrite(text, *pairs)})
    assert list_ends(found) == ends, found
    assert bool(found.holding) == (not ends), found


@pytest.mark.parametrize(
    ("pairs", "demand", "ends"),
    [([], "assert_eq!(add(2, 2), 4)", []), ([_BAD], "let _ = add(2, 2)", ["lost"])],
    ids=["as it was", "demanding less"],
)
@_NEEDS_CARGO
async def test_a_test_of_rust_may_move_to_a_file_of_its_own(
    earlier: Earlier, pairs: list[tuple[str, str]], demand: str, ends: list[str]
) -> None:
    moved = f"use super::*;\n\n#[test]\nfn adds() {{\n    {demand};\n}}\n"
    found = await earlier(_CARGO, {"src/lib.rs": rewrite(_MOVED["src/lib.rs"], *pairs), "src/tests.rs": moved})
    assert list_ends(found) == ends, found
    assert bool(found.holding) == (not ends), found


@_NEEDS_GO
async def test_a_benchmark_of_go_that_names_what_is_gone_takes_no_test_with_it(earlier: Earlier) -> None:
    example = EXAMPLES["go"]
    twice = "\nfunc twice(a int) int { return Add(a, a) }\n"
    test = (
        example.files["sums_test.go"]
        + "\nfunc TestTwice(t *testing.T) {\n\tif twice(2) != 4 {\n\t\tt.Error()\n\t}\n}\n"
    )
    test += "\nfunc BenchmarkTwice(b *testing.B) {\n\tfor i := 0; i < b.N; i++ {\n\t\ttwice(2)\n\t}\n}\n"
    files = {**example.files, "sums.go": example.files["sums.go"] + twice, "sums_test.go": test}
    found = await earlier(files, {path: files[path].replace("wice", "ouble") for path in ("sums.go", "sums_test.go")})
    assert (found.holding, [(each.id, each.outcome.value) for each in found.tests], found.not_run) == (
        *(1, [("sums_test.go::TestTwice", "gone")]),
        (),
    )


@_NEEDS_GO
async def test_a_test_of_go_that_loses_a_part_with_its_code_is_rewritten(earlier: Earlier) -> None:
    """The file is only compiled without the whole test, but at head its other part runs and passes."""
    example = EXAMPLES["go"]
    sub = "\nfunc Sub(a, b int) int { return a - b }\n"
    part = '\tt.Run("%s", func(t *testing.T) {\n\t\tif got := %s(2, 2); got != %d {\n\t\t\tt.Errorf("got %%d", got)\n\t\t}\n\t})\n'
    head, adds, subs = (
        'package sums\n\nimport "testing"\n\nfunc TestSums(t *testing.T) {\n',
        part % ("adds", "Add", 4),
        part % ("subs", "Sub", 0),
    )
    files = {**example.files, "sums.go": example.files["sums.go"] + sub, "sums_test.go": head + adds + subs + "}\n"}
    found = await earlier(files, {"sums.go": example.files["sums.go"], "sums_test.go": head + adds + "}\n"})
    assert {each.id.partition("::")[2]: (each.outcome.value, each.fate.value) for each in found.tests} == {
        "TestSums": ("gone", "rewritten"),
        "TestSums/adds": ("gone", "rewritten"),
        "TestSums/subs": ("gone", "removed"),
    }


@_NEEDS_GO
async def test_a_helper_of_go_that_is_named_as_tests_are_is_shown(earlier: Earlier) -> None:
    files = {
        **EXAMPLES["go"].files,
        "checks_test.go": 'package sums\n\nimport "testing"\n\nfunc check(t *testing.T, got, want int) {\n\tif got != want {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
        "sums_test.go": 'package sums\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {\n\tcheck(t, Add(2, 2), 4)\n}\n',
    }
    change = {
        "sums.go": files["sums.go"].replace("a + b", "a - b"),
        "checks_test.go": files["checks_test.go"].replace("got != want", "got > want"),
    }
    found = await earlier(files, change)
    assert [(each.id, each.outcome.value, each.demanded, each.now) for each in found.tests] == [
        ("sums_test.go::TestAdds", "lost", ("if got != want {",), ("if got > want {",))
    ], found


_EXITS_WELL = """package sums

import (
\t"os"
\t"testing"
)

func TestMain(m *testing.M) {
\tm.Run()
\tos.Exit(0)
}
"""


@_NEEDS_GO
@pytest.mark.parametrize("end", ["os.Exit(0)", "os.Exit(m.Run())"])
async def test_a_new_file_of_go_that_ends_the_run_of_all_others(earlier: Earlier, end: str) -> None:
    example = EXAMPLES["go"]
    text = _EXITS_WELL if end == "os.Exit(0)" else _EXITS_WELL.replace("\tm.Run()\n\tos.Exit(0)", f"\t{end}")
    sums = {"sums.go": example.files["sums.go"].replace("a + b", "a - b")}
    found = await earlier(example.files, {**sums, "main_test.go": text})
    outcome = "lost" if end == "os.Exit(0)" else "open"  # everybody sees that it fails
    assert [(each.id, each.outcome.value) for each in found.tests] == [("sums_test.go::TestAdds", outcome)], found


def install(name: str) -> str:
    """A set-up that takes a program of the repository for that of a package."""
    place = f"node_modules/.bin/{name}"
    return f"sh -c 'mkdir -p node_modules/.bin && cp old/{name} {place} && chmod +x {place}'"


_OLD_MOCHA = """#!/usr/bin/env node
const test = {fullTitle: 'adds', file: process.cwd() + '/test/sums.js', err: {}};
try { require(test.file); } catch (error) { test.err = {message: error.message}; }
const failed = 'message' in test.err;
console.log('{ said by a test');
console.log(JSON.stringify({stats: {}, passes: failed ? [] : [test], failures: failed ? [test] : []}, null, 2));
process.exitCode = +failed;
"""


_MOCHA_WITHOUT_FILES = """#!/usr/bin/env node
const fs = require('fs');
const settings = fs.existsSync('.mocharc.json') ? JSON.parse(fs.readFileSync('.mocharc.json')) : {};
const named = process.argv.slice(2).filter((each) => /^test.*js$/.test(each)).concat(settings.spec ?? []);
const files = named.length ? named : fs.readdirSync('test').map((each) => `test/${each}`);
const [passes, failures] = [[], []];
for (const file of new Set(files)) {
  try { require(`${process.cwd()}/${file}`); passes.push({fullTitle: file.slice(5, -3), err: {}}); }
  catch (error) { failures.push({fullTitle: file.slice(5, -3), err: {message: error.message, stack: error.stack}}); }
}
console.log(JSON.stringify({stats: {}, passes, failures}, null, 2));
process.exitCode = failures.length;
"""
_TAPE = """#!/usr/bin/env node
const { existsSync, readFileSync, readdirSync } = require('fs');
const [given, at] = [process.argv.slice(2), process.argv.indexOf('--ignore')];
const ignored = at < 0 ? [] : readFileSync(process.argv[at + 1], 'utf8').split(/\\n/);
const all = given.filter((each) => /^test.*js$/.test(each) && existsSync(each));
const files = all.length ? all : readdirSync('test').map((each) => `test/${each}`);
console.log('TAP version 13');
for (const file of files.filter((each) => !ignored.includes(each))) {
  console.log(`# ${file.slice(5, -3)}`);
  try { require(`${process.cwd()}/${file}`); console.log('ok 1 should be equal'); }
  catch (error) { console.log('not ok 1 should be equal\\n  ---\\n' + error.stack); process.exitCode = 1; }
}
console.log(`1..${files.length}`);
"""
_SPECS: Files = {
    "sums.js": "exports.add = (a, b) => a + b;\nexports.one = 1;\n",
    "test/adds.js": "require('assert').equal(require('../sums').add(2, 2), 4);\n",
    "test/ones.js": "require('assert').equal(require('../sums').one, 1);\n",
}
_IGNORES = {".ignored": "test/adds.js\n", "package.json": '{"scripts": {"test": "tape --ignore .ignored"}}'}
LEAVING_OUT: dict[str, tuple[str, str, dict[str, str]]] = {
    "old mocha, by a list in new settings": (
        "mocha",
        _MOCHA_WITHOUT_FILES,
        {".mocharc.json": '{"spec": ["test/ones.js"]}'},
    ),
    "tape, by a new file that its script names": ("tape", _TAPE, _IGNORES),
}


@pytest.mark.parametrize("is_broken", [True, False], ids=["and it fails", "and it holds"])
@pytest.mark.parametrize("way", LEAVING_OUT)
async def test_a_test_that_no_run_of_all_tests_reaches_any_more(earlier: Earlier, way: str, *, is_broken: bool) -> None:
    """Their reports do not say which file a test is in, so that each file runs by itself."""
    name, program, change = LEAVING_OUT[way]
    files = {**_SPECS, "package.json": f'{{"scripts": {{"test": "{name}"}}}}', f"old/{name}": program}
    sums = _SPECS["sums.js"].replace("a + b", "a - b" if is_broken else "b + a")
    found = await earlier(files, {"sums.js": sums, **change}, setup=install(name))
    told = [("test/adds.js::adds", "lost")] if is_broken else []
    assert ([(each.id, each.outcome.value) for each in found.tests], found.holding) == (told, 2 - len(told)), found


_OLD_VITEST = """#!/usr/bin/env node
if (process.argv.includes('--includeTaskLocation')) throw new Error('Unknown option `--includeTaskLocation`');
const result = {fullName: 'adds', status: 'passed', failureMessages: []};
const name = process.cwd() + '/sums.test.js';
try { require(name); } catch (error) { Object.assign(result, {status: 'failed', failureMessages: [error.message]}); }
const file = process.argv.find((each) => each.startsWith('--outputFile.json=')).split('=')[1];
const report = {testResults: [{name, status: result.status, assertionResults: [result]}]};
require('fs').writeFileSync(file, JSON.stringify(report));
process.exitCode = +(result.status === 'failed');
"""


_MOCHA_2 = """#!/usr/bin/env node
const given = process.argv.slice(2);
for (const each of given) {
  if (/^--(reporter-option|no-bail)$/.test(each)) {
    console.error("  error: unknown option `" + each + "'");
    process.exit(1);
  }
}
const failures = [], passes = [];
for (const name of given.filter((each) => !/^(--reporter|json)$/.test(each))) {
  try { require(process.cwd() + '/' + name); passes.push({fullTitle: 'adds'}); }
  catch (error) { failures.push({fullTitle: 'adds', err: {message: error.message, stack: error.stack}}); }
}
console.log(JSON.stringify({stats: {}, failures, passes}, null, 2));
process.exitCode = failures.length;
"""


OLD: dict[str, tuple[str, str, str, str]] = {  # what runs the tests, its script, its program, and the test
    "a mocha that only prints its report": ("mocha", "mocha", _OLD_MOCHA, "test/sums.js"),
    "a mocha that knows none of our options, nor that of its script": (
        "mocha",
        "mocha --reporter spec",
        _MOCHA_2,
        "test/sums.js",
    ),
    "a vitest that knows no lines": ("vitest", "vitest", _OLD_VITEST, "sums.test.js"),
}


@pytest.mark.parametrize("program", OLD)
async def test_an_old_program_is_run_as_it_can_be(earlier: Earlier, program: str) -> None:
    name, script, text, test = OLD[program]
    sums = "../sums" if "/" in test else "./sums"
    files = {
        "package.json": f'{{"scripts": {{"test": "{script}"}}}}',
        "sums.js": "exports.add = (a, b) => a + b;\n",
        test: f"require('assert').equal(require('{sums}').add(2, 2), 4);\n",
        f"old/{name}": text,
    }
    change: Changed = {"sums.js": "exports.add = (a, b) => a - b;\n", test: None}
    found = await earlier(files, change, setup=install(name))
    assert [(each.id, each.outcome.value) for each in found.tests] == [(f"{test}::adds", "lost")], found


_OWN: Files = {
    "Makefile": "test:\n\tsh tests/sums.sh\n",
    "sums.sh": "add() {\n  echo $(($1 + $2))\n}\n",
    "tests/sums.sh": '. ./sums.sh\n[ "$(add 2 2)" -eq 4 ]\n',
}
_MINUS = {"sums.sh": _OWN["sums.sh"].replace("+", "-")}
OWN_WAYS: dict[str, tuple[Files, Changed, list[str], str]] = {
    "holds": (_OWN, {"tests/sums.sh": None, "Makefile": "test:\n\ttrue\n"}, [], ""),
    "lost": (_OWN, {**_MINUS, "tests/sums.sh": '. ./sums.sh\n[ -n "$(add 2 2)" ]\n'}, ["lost"], ""),
    "changed": (_OWN, {**_MINUS, "tests/sums.sh": _OWN["tests/sums.sh"].replace("4", "0")}, ["changed"], ""),
    "open": (_OWN, {**_MINUS, "tests/sums.sh": _OWN["tests/sums.sh"].replace("4", "5")}, ["open"], ""),
    "gone": (_OWN, {"sums.sh": "sub() {\n  echo 0\n}\n", "tests/sums.sh": ". ./sums.sh\n"}, ["gone"], ""),
    "failed before": (
        {**_OWN, "tests/sums.sh": "false\n"},
        {"sums.sh": "add() { :; }\n", "tests/sums.sh": "true\n"},
        [],
        "`make test` fails here on the code of before, so it tells nothing of `tests/sums.sh`; it printed: sh tests/sums.sh",
    ),
    "no module": (
        {"sums.go": "package sums\n", "sums_test.go": "package sums\n"},
        {"sums.go": "package sums\n\nvar A = 1\n", "sums_test.go": None},
        [],
        "The code of before has no `go.mod`, without which Forge does not run `sums_test.go`, so Forge cannot say",
    ),
    "nothing runs it": (
        {**_OWN, "Makefile": "all:\n"},
        {**_MINUS, "tests/sums.sh": "true\n"},
        [],
        "No runner that Forge knows takes `tests/sums.sh`, so Forge cannot say whether what was tested there before still holds.",
    ),
}


@pytest.mark.parametrize("way", OWN_WAYS)
async def test_a_command_of_which_only_the_exit_status_is_known(earlier: Earlier, way: str) -> None:
    before, after, outcomes, said = OWN_WAYS[way]
    found = await earlier(before, after)
    assert [each.outcome.value for each in found.tests] == outcomes, found
    assert [each[: len(said)] for each in found.not_run] == ([said] if said else []), found


@pytest.mark.parametrize(
    ("there", "commands", "said"),
    [
        ({"sums_test.go": "package sums\n"}, {}, "the code has no `go.mod`, without which Forge runs no test of Go"),
        ({"sums_test.go": "package sums\n"}, {"test": "sh all.sh"}, ""),
        ({"sums_test.go": "package sums\n", "go.mod": "module a\n"}, {}, ""),
        ({"checks.lua": "f()\n"}, {}, "it knows none here, and `commands.test` names nothing that runs any"),
        ({"test_sums.py": "def test_a():\n    pass\n"}, {}, ""),
    ],
)
async def test_why_no_test_can_run_where_the_change_touches_none(
    earlier: Earlier, there: Files, commands: dict[str, str], said: str
) -> None:
    assert (await earlier({**there, "a.txt": "1\n"}, {"a.txt": "2\n"}, **commands)).lacks == said


async def test_why_no_test_can_run_where_the_change_touches_tests_alone(earlier: Earlier) -> None:
    found = await earlier({"sums_test.go": "package sums\n"}, {"sums_test.go": "package sums\n\nvar more = 1\n"})
    assert found.lacks == "the code has no `go.mod`, without which Forge runs no test of Go"


async def test_a_configured_command_runs_what_no_runner_takes(earlier: Earlier) -> None:
    """A script of the repository's own that runs its tests is of the tests' side."""
    files = {**_OWN, "Makefile": "all:\n", "run-tests": "sh tests/sums.sh\n"}
    found = await earlier(files, {**_MINUS, "run-tests": "true\n"}, test="sh run-tests")
    assert [(each.id, each.path, each.outcome.value) for each in found.tests] == [("sh run-tests", "run-tests", "lost")]


_ROWS = """import unittest
from pathlib import Path

from sums import add

ROWS = (Path(__file__).parent / "data" / "rows").glob("**/*.txt")


class TestSums(unittest.TestCase):
    def test_adds(self):
        for path in ROWS:
            with self.subTest(path.stem):
                first, second, both = map(int, path.read_text().split())
                if both:
                    self.assertEqual(add(first, second), both)
"""


async def test_a_subtest_is_a_part_of_its_test_and_its_data_lie_below_a_folder_that_is_named(earlier: Earlier) -> None:
    example, row = EXAMPLES["unittest"], "tests/data/rows/small/two.txt"
    broken = {example.sums: example.change("lost")[example.sums]}
    found = await earlier({**example.files, example.test: _ROWS, row: "2 2 4\n"}, {**broken, row: "2 2 0\n"})
    assert [(each.id, each.outcome.value) for each in found.tests] == [
        ("tests/test_sums.py::TestSums::test_adds", "lost")
    ], found


@pytest.mark.parametrize("is_new", [True, False], ids=["newly", "as before"])
@pytest.mark.parametrize(
    "kept",
    [
        {"tests/conftest.py": 'collect_ignore = ["test_sums.py"]\n'},
        {"pytest.ini": "[pytest]\npythonpath = .\naddopts = --ignore=tests/test_sums.py\n"},
    ],
    ids=["by a conftest", "by addopts"],
)
async def test_what_a_change_newly_keeps_from_pytest_is_run(earlier: Earlier, kept: Files, *, is_new: bool) -> None:
    broken = {PYTEST.sums: "def add(a, b):\n    return a - b\n", PYTEST.test: "def test_adds():\n    pass\n"}
    before, change = (PYTEST.files, {**broken, **kept}) if is_new else ({**PYTEST.files, **kept}, broken)
    found = await earlier(before, change)
    assert [each.outcome.value for each in found.tests] == (["lost"] if is_new else []), found
