"""Which commands small, realistic repositories are given."""

import json

import pytest

from agents.testing.command_detection import (
    DetectedCommands,
    build_retry,
    detect,
    narrow_command,
)
from agents.testing.runners.python import build_environment
from agents.testing.runners.runner import ProjectCommand, RepositoryFacts, add_folder, drop_folder, list_needed
from agents.testing.runners.table import list_runners
from agents.testing.test_selection import Selection
from domain.config.configuration import Commands
from domain.runs.testing import CaseOutcome, Framework
from tests.unit.testing.forging import case

REPORTS = "-o junit_family=xunit1 --junit-xml=/r/junit.xml --continue-on-collection-errors"
COVERAGE = "--cov --cov-branch --cov-report=xml:/r/coverage.xml"


VITEST = (
    "test: npx --no-install vitest run --reporter=default --reporter=json --outputFile.json=/r/vitest.json "
    "--includeTaskLocation --bail=0"
)
MOCHA = "--reporter json --reporter-option output=/r/mocha.json --no-bail"
JEST = "test: npx --no-install jest --ci --json --outputFile=/r/jest.json --testLocationInResults --bail=0"


def detect_commands(manifests: dict[str, str], *paths: str, **configured: object) -> DetectedCommands:
    return detect([*manifests, *paths], manifests, Commands.model_validate(configured), "/r/")


def lines(found: DetectedCommands) -> list[str]:
    return [f"{each.kind}: {each.line}" for each in found.commands]


def package(script: str, *needed: str) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": {"test": script}, "devDependencies": dict.fromkeys(needed, "*")})}


PYTEST = {"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n"}


@pytest.mark.parametrize(
    ("manifests", "paths", "expected", "framework"),
    [
        (
            PYTEST,
            ["tests/test_a.py"],
            ["lint: ruff check .", "typecheck: python3 -m mypy .", f"test: python3 -m pytest --maxfail=0 {REPORTS}"],
            Framework.pytest,
        ),
        (
            {"pyproject.toml": '[dependency-groups]\ndev = ["pytest-cov>=5"]\n'},
            ["tests/test_a.py"],
            [f"test: python3 -m pytest --maxfail=0 {REPORTS} {COVERAGE}"],
            Framework.pytest,
        ),
        (
            {"tox.ini": "[testenv]\ndeps = pytest\n coverage\n"},
            ["test_a.py"],
            [
                f"test: python3 -m coverage run --branch -m pytest --maxfail=0 {REPORTS}",
                "coverage: python3 -m coverage xml -o /r/coverage.xml",
            ],
            Framework.pytest,
        ),
        (
            {},
            ["a.py", "tests/conftest.py", "tests/test_a.py"],
            [f"test: python3 -m pytest --maxfail=0 {REPORTS}"],
            Framework.pytest,
        ),
        ({"setup.cfg": ""}, ["tests/test_a.py"], ["test: python3 -m unittest"], Framework.unittest),
        (
            package("vitest", "vitest"),
            [],
            [VITEST],
            Framework.vitest,
        ),
        (
            package("cross-env TZ=UTC jest --runInBand"),
            [],
            [JEST.replace("--json", "--runInBand --json")],
            Framework.jest,
        ),
        (package("jest", "jest"), [], [JEST], Framework.jest),
        (package("tsc && mocha"), ["package-lock.json"], ["test: npm test"], Framework.other),
        (
            package("node --test"),
            [],
            ["test: node --test"],
            Framework.node,
        ),
        (
            package("tsx --test test/*.test.ts"),
            ["test/a.test.ts", "test/b.test.ts", "test/help.ts", "lib/test/c.test.ts"],
            ["test: tsx --test test/a.test.ts test/b.test.ts"],
            Framework.node,
        ),
        (
            {"go.mod": "module example.com/m\n"},
            ["a.go", "a_test.go"],
            ["build: go build ./...", "lint: go vet ./...", "test: go test -v ./..."],
            Framework.go,
        ),
        (
            {"Cargo.toml": "[package]\n"},
            ["src/lib.rs"],
            ["build: cargo build", "test: cargo test --no-fail-fast"],
            Framework.cargo,
        ),
        (
            package("mocha -r ts-node/register 'test/**/*.ts'"),
            [],
            [f"test: npx --no-install mocha -r ts-node/register {MOCHA} 'test/**/*.ts'"],
            Framework.mocha,
        ),
        ({"pom.xml": ""}, ["mvnw"], ["test: ./mvnw -B test"], Framework.maven),
        ({"build.gradle": ""}, [], ["test: gradle --continue test"], Framework.gradle),
        (
            {"Gemfile": ""},
            ["Gemfile.lock", "spec/a_spec.rb"],
            ["test: bundle exec rspec"],
            Framework.rspec,
        ),
        ({}, ["test/test_a.rb"], ["test: ruby -Ilib -Itest test/test_a.rb -v"], Framework.minitest),
        (
            {"Rakefile": "a = Dir['lib/**/*.rb']\n# t.pattern = 'test/**/*.rb'\nt.pattern = 'test/*_test.rb'\n"},
            ["test/a_test.rb", "test/old/b_test.rb"],
            ["test: ruby -Ilib -Itest test/a_test.rb -v"],
            Framework.minitest,
        ),
        (
            {"composer.json": "phpunit/phpunit"},
            ["phpunit.xml", "tests/ATest.php"],
            ["test: vendor/bin/phpunit"],
            Framework.phpunit,
        ),
        ({}, ["test/a.bats"], ["test: bats test/a.bats"], Framework.bats),
        (
            {},
            ["a.sln", "ATests.cs"],
            ["test: dotnet test --logger 'trx;LogFileName=dotnet.trx' --results-directory /r"],
            Framework.dotnet,
        ),
        ({"Makefile": "all:\n\ntest: all\n\t./run\n"}, [], ["test: make test"], Framework.other),
    ],
)
def test_what_is_run(manifests: dict[str, str], paths: list[str], expected: list[str], framework: Framework) -> None:
    found = detect_commands(manifests, *paths)
    assert lines(found) == expected
    assert [each.framework for each in found.tests] == [framework]
    assert "no tests" not in found.reason


@pytest.mark.parametrize(
    ("manifests", "paths"),
    [
        ({}, ["README.md", "a.py"]),
        ({}, []),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ["a.py", "tests/__init__.py", "tests/conftest.py"]),
        (package('echo "Error: no test specified" && exit 1'), []),
        ({"package.json": "[" * 100_000}, []),
        ({"package.json": '{"scripts": ["test"]}'}, []),
        ({"go.mod": "module m\n"}, ["a.go"]),
        ({"Makefile": "test := 1\nlatest:\n"}, []),
    ],
)
def test_nothing_found_means_no_tests(manifests: dict[str, str], paths: list[str]) -> None:
    found = detect_commands(manifests, *paths)
    assert not found.tests
    assert found.reason.lower().endswith("no tests were found.")


@pytest.mark.parametrize(
    ("script", "words", "environment"),
    [
        ("mocha --require @babel/register 'test/**/*.js'", "mocha --require @babel/register", {}),
        ("tape -r esm 'test/a|b.js' | tap-spec", "tape -r esm", {}),
        ("eslint . ; nyc --reporter lcov _mocha -r @babel/register", "mocha -r @babel/register", {}),
        ("A=b nyc mocha --import=tsx || exit 1", "mocha --import=tsx", {"A": "b"}),
        (
            "node --expose-gc -r ./a.js node_modules/mocha/bin/_mocha --exit",
            "mocha --exit --reporter",
            {"NODE_OPTIONS": "-r ./a.js"},
        ),
        (
            "node --experimental-vm-modules node_modules/.bin/jest",
            "jest --ci --json",
            {"NODE_OPTIONS": "--experimental-vm-modules"},
        ),
        ("mocha -r 'a", "mocha --reporter", {}),
        ("mocha -r $LOADED", "mocha --reporter", {}),
    ],
)
def test_what_a_script_has_its_runner_load_is_loaded(script: str, words: str, environment: dict[str, str]) -> None:
    manifests = package(script, next(name for name in ("mocha", "tape", "jest") if name in script))
    [runner] = list_runners(RepositoryFacts(["package.json"], manifests))
    assert " ".join(runner.words).removeprefix("npx --no-install ").startswith(words)
    assert dict(runner.environment) == environment


def test_why_is_said_in_one_sentence() -> None:
    assert detect_commands(PYTEST, "tests/test_a.py").reason == "Pytest, because it is configured."
    assert detect_commands({}, test="./check").reason == "`commands.test` is configured."


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("./check 'a b'", "./check 'a b'"),
        ("make test", "make test"),
        ("pytest -q tests", f"pytest -q tests {REPORTS}"),
        (".venv/bin/python3.12 -m pytest", f".venv/bin/python3.12 -m pytest {REPORTS}"),
        ("pytest -- tests", "pytest -- tests"),
        ("python -m pytest_runner", "python -m pytest_runner"),
        ("env pytest", "env pytest"),
    ],
)
def test_what_is_configured_wins(line: str, expected: str) -> None:
    (test,) = detect_commands({"Makefile": "test:\n", "setup.cfg": ""}, "tests/test_a.py", test=line).tests
    assert test.line == expected
    assert test.is_configured


def test_configured_coverage_is_kept() -> None:
    manifests = {"pyproject.toml": "pytest-cov"}
    (test,) = detect_commands(manifests, test="pytest --cov=src").tests
    assert test.line == f"pytest --cov=src {REPORTS} --cov-branch --cov-report=xml:/r/coverage.xml"


def test_what_has_to_be_fetched_is_set_up_only_with_a_network() -> None:
    manifests = package("jest")
    assert "setup: npm ci" not in lines(detect_commands(manifests, "package-lock.json"))
    assert "setup: npm ci" in lines(detect_commands(manifests, "package-lock.json", network=True))
    assert (
        lines(detect_commands(manifests, "package-lock.json", network=True, setup="./prepare"))[0] == "setup: ./prepare"
    )


KNOWN = RepositoryFacts(["tests/test_a.py", "z_test.go", "b_spec.rb", "a_test.rb"], {**PYTEST, "go.mod": "module m\n"})
PYTEST_LINE = f"python3 -m pytest --maxfail=0 {REPORTS}"


def build_all(framework: Framework) -> ProjectCommand:
    return next(each for each in list_runners(KNOWN) if each.framework is framework).build((), "/r")


PY, GO = build_all(Framework.pytest), build_all(Framework.go)


@pytest.mark.parametrize(
    ("path", "manifest", "added"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = [\n  "-ra",\n  "--cov=a",\n]\n', "-ra"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-m 'not slow' --cov a\"\n", "-m 'not slow'"),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--cov-fail-under=90"\n', ""),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-ra"\n\n[tool.tox]\nrun = "pytest --cov"\n', None),
        ("setup.cfg", "[tool:pytest]\naddopts =\n    --cov=a -x  # all\n    --cov-report xml\n    -ra\n", "-x -ra"),
        ("pytest.ini", "[pytest]\naddopts = -q --no-cov-on-fail --cov\n", "-q"),
    ],
)
def test_coverage_that_settings_ask_for_is_left_out_where_nobody_measures(
    path: str, manifest: str, added: str | None
) -> None:
    """Without an option of pytest-cov, which may be missing."""
    facts = RepositoryFacts(["tests/test_a.py", path], {path: manifest})
    [runner] = list_runners(facts)
    own = [word for word in runner.build((), "/r", is_measured=False).words if word.startswith("addopts=")]
    assert own == ([] if added is None else [f"addopts={added}"])
    assert not [word for word in runner.build((), "/r").words if word.startswith("addopts=")]


@pytest.mark.parametrize(
    ("path", "text", "left"),
    [
        ("setup.cfg", "[tool:pytest]\nnorecursedirs = .git docs typing_cases\n", ["tests/typing_cases/test_c.py"]),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\nnorecursedirs = ["typing_*"]\n',
            ["tests/typing_cases/test_c.py"],
        ),
        ("pytest.ini", "[pytest]\naddopts = --ignore=tests/test_a.py\n", ["tests/test_a.py"]),
        ("pytest.ini", "[pytest]\naddopts = -q --ignore tests/typing_cases\n", ["tests/typing_cases/test_c.py"]),
        ("tests/conftest.py", 'collect_ignore = ["test_a.py"]\n', ["tests/test_a.py"]),
        ("conftest.py", "collect_ignore_glob = ['tests/*_cases']\n", ["tests/typing_cases/test_c.py"]),
        ("conftest.py", "collect_ignore = []\n", []),
    ],
)
def test_what_a_repository_keeps_from_pytest_is_not_run(path: str, text: str, left: list[str]) -> None:
    paths = ["tests/test_a.py", "tests/test_b.py", "tests/typing_cases/test_c.py"]
    [runner] = list_runners(RepositoryFacts([*paths, path, "conftest.py"], {path: text}))
    assert [each for each in paths if not runner.owns(each)] == left
    assert [each for each in paths if runner.leaves_out(each)] == left
    assert path in list_needed([*paths, path])


def build_selection(*tests: str) -> Selection:
    return Selection(tests=tests, reason="These.")


@pytest.mark.parametrize(
    ("given", "selection", "expected"),
    [
        (PY, build_selection("tests/test_a.py", "b.test.ts"), f"{PYTEST_LINE} tests/test_a.py"),
        (PY, build_selection("b.test.ts"), None),
        (PY, build_selection(*(f"test_{n}.py" for n in range(501))), f"{PYTEST_LINE}"),
        (PY, build_selection("-p evil/test_a.py"), f"{PYTEST_LINE}"),
        (PY, Selection(runs_all=True, reason="All."), f"{PYTEST_LINE}"),
        (PY.model_copy(update={"is_configured": True}), build_selection("test_a.py"), f"{PYTEST_LINE}"),
        (GO, build_selection("a/x_test.go", "a/y_test.go", "z_test.go"), "go test -v . ./a"),
        (ProjectCommand(kind="test", words=("make", "test")), build_selection("test_a.py"), "make test"),
    ],
)
def test_only_the_chosen_tests_are_named(given: ProjectCommand, selection: Selection, expected: str | None) -> None:
    found = narrow_command(given, selection, KNOWN)
    assert (found and found.line) == expected


def test_a_file_that_could_not_be_collected_is_run_again_by_its_name() -> None:
    failed = [case("tests/unit/test_a.py::tests.unit.test_a", CaseOutcome.error, path="tests/unit/test_a.py")]
    assert (
        build_retry(PY, failed, Selection(runs_all=True, reason=""), KNOWN).line
        == f"{PYTEST_LINE} tests/unit/test_a.py"
    )


def test_failed_tests_are_run_again_by_their_ids() -> None:
    failed = [case("tests/test_a.py::test_x[1]", CaseOutcome.failed, path="tests/test_a.py")]
    selected = build_selection("tests/test_a.py", "tests/test_b.py", "z_test.go")
    assert build_retry(PY, failed, selected, KNOWN).line == f"{PYTEST_LINE} 'tests/test_a.py::test_x[1]'"
    assert build_retry(PY, failed, selected, KNOWN).kind == build_retry(GO, failed, selected, KNOWN).kind == "retry"
    assert (
        build_retry(PY, [case("--co", CaseOutcome.failed)], selected, KNOWN).line
        == f"{PY.line} tests/test_a.py tests/test_b.py"
    )
    assert build_retry(GO, failed, selected, KNOWN).line == "go test -v ."


@pytest.mark.parametrize(
    ("paths", "framework", "found"),
    [
        (["src/shop/__init__.py", "src/shop/cart.py"], Framework.pytest, {"PYTHONPATH": "/code/src"}),
        (["src/shop.py"], Framework.unittest, {"PYTHONPATH": "/code/src"}),
        (["src/shop/__init__.py"], Framework.jest, {}),
        (["src/__init__.py", "src/shop.py"], Framework.pytest, {}),  # the package is src
        (["src/shop.py", "src/logging.py"], Framework.pytest, {}),  # it would hide Python's own
        (["shop/src/shop.py", "src/shop.js"], Framework.pytest, {}),
    ],
)
def test_what_lies_in_src_can_be_imported(paths: list[str], framework: Framework, found: dict[str, str]) -> None:
    assert build_environment(RepositoryFacts(paths, {}), framework, "/code") == found


MIXED = {
    "web/package.json": json.dumps({"scripts": {"test": "node --test"}}),
    "importer/go.mod": "module example.org/importer\n",
    "vendor/github.com/x/y/go.mod": "module github.com/x/y\n",
    "tests/sample/package.json": json.dumps({"scripts": {"test": "jest"}}),
}
IN_PARTS = ["tracking/a.py", "tests/test_a.py", "web/src/a.js", "web/test/a.test.js", "importer/a_test.go"]


def test_each_part_of_a_mixed_repository_is_tested_in_its_folder() -> None:
    """By the manifest nearest to a file; samples and copies are no parts, and a selection runs only its own."""
    found = detect_commands(MIXED, *IN_PARTS)
    assert lines(found) == [
        "build: cd importer && go build ./...",
        "lint: cd importer && go vet ./...",
        "test: python3 -m unittest",
        "test: cd importer && go test -v ./...",
        "test: cd web && node --test",
    ]
    assert found.reason == (
        "Unittest, because there are Python tests (as tests/test_a.py) and no sign of pytest; in `importer/`: go, "
        "because `go.mod` makes it a Go module; in `web/`: `package.json` has a script `test` (node)."
    )
    known = RepositoryFacts([*MIXED, *IN_PARTS], MIXED)
    chosen = Selection(tests=("web/test/a.test.js",), reason="x.", leaves=("importer",))
    narrowed = [narrow_command(each, chosen, known) for each in found.commands]
    assert [each.line for each in narrowed if each] == ["cd web && node --test test/a.test.js"]


@pytest.mark.parametrize(
    ("manifests", "paths", "expected"),
    [
        (
            {
                "package.json": json.dumps({"workspaces": ["packages/*"], "scripts": {"test": "mocha"}}),
                "packages/a/package.json": json.dumps({"scripts": {"test": "mocha"}}),
            },
            ["packages/a/test/a.js"],
            ["mocha"],
        ),
        (
            {"Cargo.toml": "[workspace]\nmembers = ['a']\n", "a/Cargo.toml": "[package]\n"},
            ["a/src/lib.rs"],
            ["cargo"],
        ),
        ({"a/Cargo.toml": "[package]\n"}, ["a/src/lib.rs", "a/tests/b.rs"], ["a/cargo"]),
        ({"pom.xml": "<project/>", "core/pom.xml": "<project/>"}, ["core/src/test/java/ATest.java"], ["maven"]),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\n", "libs/a/pyproject.toml": ""},
            ["libs/a/tests/test_a.py"],
            ["pytest"],
        ),
        ({"api/pyproject.toml": "[tool.pytest.ini_options]\n"}, ["api/tests/test_a.py"], ["api/pytest"]),
        ({"api/Gemfile": ""}, ["api/spec/a_spec.rb"], ["api/rspec"]),
        ({"api/composer.json": '{"require-dev": {"phpunit/phpunit": "*"}}'}, ["api/tests/ATest.php"], ["api/phpunit"]),
        ({}, ["scripts/test/backup.bats"], ["bats"]),
    ],
)
def test_a_manifest_that_covers_those_below_it_tests_them_alone(
    manifests: dict[str, str], paths: list[str], expected: list[str]
) -> None:
    runners = list_runners(RepositoryFacts([*manifests, *paths], manifests))
    owners = [each for each in runners if any(map(each.owns, paths))]
    assert [f"{each.folder}/{each.framework.value}".strip("/") for each in owners] == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (("tests/test_a.py::TestA::test_b", "tests/test_a.py"), "api/tests/test_a.py::TestA::test_b"),
        (("tests/test_a.py::tests.test_a", "tests/test_a.py"), "api/tests/test_a.py::api.tests.test_a"),
        (("test/a.test.js::test/a.test.js", "test/a.test.js"), "api/test/a.test.js::api/test/a.test.js"),
        (("TestAdd", None), "TestAdd"),
    ],
)
def test_tests_of_a_folder_are_named_from_the_top(told: tuple[str, str | None], expected: str) -> None:
    """And back, for the command that runs them once more."""
    placed = add_folder(case(told[0]).model_copy(update={"path": told[1]}), "api")
    assert placed.id == expected
    assert drop_folder(placed.id, "api") == told[0]
