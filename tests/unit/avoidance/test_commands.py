"""Commands, events, hooks and settings by which tests do not run, or do not count, any more."""

import pytest

from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

CI = """\
on:
  push:
  pull_request:
jobs:
  test:
    steps:
      - run: pip install .
      - run: ruff check .
      - run: pytest -q
"""
PATH = ".github/workflows/ci.yml"
DESELECTED, IGNORED = AvoidanceKind.test_deselected, AvoidanceKind.failure_ignored
GO = "package a\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal()\n\t}\n}\n"
NO_TESTS = CI.replace("      - run: pytest -q\n", "")
HOOK = """\
def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
"""
SLOW = """\
def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        item.add_marker(pytest.mark.skip(reason="slow"))
"""
SKIPS = 'def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if "pay" not in i.nodeid]\n'


@pytest.mark.parametrize(
    ("path", "before", "after", "kind"),
    [
        (PATH, CI, NO_TESTS, DESELECTED),
        (PATH, CI, CI.replace("      - run: ruff check .\n", ""), IGNORED),
        (PATH, CI, CI.replace("  push:\n  pull_request:\n", "  workflow_dispatch:\n"), DESELECTED),
        ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test ./core\n", DESELECTED),
        ("Makefile", "test:\n\tbats test/\n", "test:\n\tbats test/a.bats\n", DESELECTED),
        ("package.json", '{\n "test": "jest"\n}\n', '{\n "test": "echo later"\n}\n', DESELECTED),
        ("conftest.py", "", HOOK, IGNORED),
        ("tests/conftest.py", "", "def hook(report):\n    report.outcome = 'passed'\n", IGNORED),
        ("conftest.py", "", SKIPS, DESELECTED),
        ("spec/spec_helper.rb", "", "RSpec.configure do |c|\n  c.filter_run_excluding :slow\nend\n", DESELECTED),
        ("jest.setup.js", "", "process.on('unhandledRejection', () => {});\n", IGNORED),
        ("test/a.test.js", "run();\n", "run();\nprocess.exit(0);\n", IGNORED),
        ("tests/run_tests.py", "run()\n", "run()\nsys.exit(0)\n", IGNORED),
        ("phpunit.xml", "<a>\n</a>\n", "<a>\n<exclude>\n</a>\n", DESELECTED),
        ("a_test.go", GO, f"//go:build flaky\n\n{GO}", DESELECTED),
        (".rspec", "--color\n", "--color\n--exclude-pattern spec/pay_spec.rb\n", DESELECTED),
    ],
)
def test_what_does_not_run_or_count_is_named(path: str, before: str, after: str, kind: AvoidanceKind) -> None:
    assert list_kinds(compare({path: before}, {path: after})) == {kind}


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (PATH, CI, CI.replace("pytest -q", "tox")),
        (PATH, CI, CI.replace("pytest -q", "make test")),
        (PATH, CI, CI.replace("pytest -q", "./scripts/run-tests.sh")),
        (PATH, CI, CI.replace("  push:\n", "  push:\n    branches: [main]\n")),
        (PATH, CI, CI.replace("ruff check .", "make lint")),
        ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test -race ./...\n"),
        ("package.json", '{\n "test": "jest"\n}\n', '{\n "test": "vitest run"\n}\n'),
        ("package.json", '{\n "jest": "^28"\n}\n', '{\n "vitest": "^1"\n}\n'),
        ("conftest.py", "", SLOW),
        ("spec/spec_helper.rb", "", "RSpec.configure do |c|\n  c.filter_run_when_matching :focus\nend\n"),
        ("test/a.test.js", "", "expect(run('process.exit(0)')).toBe(0);\n"),
        ("test/fixtures/cli.js", "", "process.exit(0);\n"),
        ("a_test.go", "package a\n", "//go:build linux\n\npackage a\n"),
    ],
)
def test_what_runs_otherwise_is_left_alone(path: str, before: str, after: str) -> None:
    assert list_kinds(compare({path: before}, {path: after})) == set()


def test_a_workflow_that_is_deleted_takes_tests_and_checks_along() -> None:
    assert list_kinds(compare({PATH: CI}, {})) == {DESELECTED, IGNORED}


def test_a_file_of_another_ci_may_go() -> None:
    assert list_kinds(compare({".travis.yml": "script: pytest\n"}, {})) == set()


def test_tests_that_move_to_another_workflow_still_run() -> None:
    after = {PATH: NO_TESTS, ".github/workflows/test.yml": "jobs:\n  a:\n    steps:\n      - run: pytest -q\n"}
    assert list_kinds(compare({PATH: CI}, after)) == set()


def test_what_stands_in_data_of_tests_sets_nothing() -> None:
    line = 'addopts = "--deselect tests/test_a.py::test_b"\n'
    assert list_kinds(compare({}, {"tests/bench/samples.toml": line})) == set()
    assert list_kinds(compare({"tests/pyproject.toml": ""}, {"tests/pyproject.toml": line})) == {DESELECTED}
