"""Real commits whose commands run in the real sandbox: what is run again and where, and what counts."""

import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from agents.testing import tester
from agents.testing.failures import list_failures
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.review.review import RiskLevel
from domain.runs.testing import MAX_DETAILED, SuiteVerdict, TestRun, decide_verdict
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.two_commits import mirror_change

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

UNITTEST = "/usr/bin/python3 -c 'import sys; sys.path.append(\"tests\"); import test_a; test_a.test_a()'"
BACKEND = """import zipfile


def build_wheel(folder, settings=None, metadata=None):
    name = "fresh-1-py3-none-any.whl"
    about = {
        "METADATA": "Metadata-Version: 2.1\\nName: fresh\\nVersion: 1\\n",
        "WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "entry_points.txt": "[console_scripts]\\nfresh-tool = fresh:main\\n",
    }
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("fresh.py", "def main():\\n    pass\\n")
        for file, text in about.items():
            wheel.writestr(f"fresh-1.dist-info/{file}", text)
        wheel.writestr("fresh-1.dist-info/RECORD", "")
    return name
"""
Tests = Callable[..., Awaitable[TestRun]]
PROJECT = {"pyproject.toml": "[tool.pytest.ini_options]\n"}
PASSES = {"tests/test_a.py": "def test_a():\n    pass\n"}


@pytest.fixture
def told() -> list[str]:
    """What the tester says it is doing."""
    return []


@pytest.fixture
def tested(tmp_path: Path, told: list[str], toolbox: Toolbox) -> Tests:
    """Tests what is changed in a repository."""

    async def tell(doing: str) -> None:
        told.append(doing)

    async def test(
        before: Mapping[str, str], after: Mapping[str, str], *, compares: bool = False, **commands: str
    ) -> TestRun:
        given = Commands.model_validate(commands)
        async with mirror_change(tmp_path, {**PROJECT, **before}, after) as (mirror, change):
            return await tester.Tester(mirror, toolbox, given, tell, compares=compares).test(change, RiskLevel.high)

    return test


async def test_failed_tests_are_run_again_alone_in_a_fresh_checkout_that_is_set_up(tested: Tests) -> None:
    sometimes = (
        "import os, sys\n\n\ndef test_sometimes():\n    assert os.path.exists('prepared')\n"
        "    assert sys.argv[-1].endswith('::test_sometimes')\n"
    )
    run = await tested(PASSES, {"tests/test_b.py": sometimes}, setup="mkdir prepared")
    assert [each.kind for each in run.commands] == ["setup", "test", "retry"]
    assert run.commands[-1].line.endswith("tests/test_b.py::test_sometimes")
    assert [each.id for each in run.commands[-1].cases] == ["tests/test_b.py::test_sometimes"]
    assert run.flaky == ("tests/test_b.py::test_sometimes",)
    assert decide_verdict(run) is SuiteVerdict.passed


async def test_what_is_left_behind_lets_nothing_pass(tested: Tests) -> None:
    leaves = (
        "import os\n\n\ndef test_a():\n    was_there = os.path.exists('x')\n    open('x', 'w')\n    assert was_there\n"
    )
    run = await tested(PASSES, {"tests/test_b.py": leaves})
    assert not run.flaky
    assert [each.id for each in run.failures] == ["tests/test_b.py::test_a"]


async def test_what_fails_at_the_merge_base_is_known(tested: Tests, told: list[str]) -> None:
    bad = "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_bad(n):\n    assert n == 1\n"
    new = "\n\ndef test_new():\n    assert False\n"
    run = await tested({"tests/test_b.py": bad}, {"tests/test_b.py": bad + new, "tests/test_c.py": new})
    assert run.known == ("tests/test_b.py::test_bad[2]",)
    assert {each.id for each in run.failures} == {"tests/test_b.py::test_new", "tests/test_c.py::test_new"}
    assert told.count("Running failed tests without this change") == 2  # once more without what is not there
    assert decide_verdict(run) is SuiteVerdict.failed


async def test_what_was_asked_for_is_compared_with_the_base_whatever_runs_it(tested: Tests) -> None:
    bad = "import unittest\n\n\nclass TestB(unittest.TestCase):\n    def test_bad(self):\n        self.fail()\n"
    new = "\n    def test_new(self):\n        self.fail()\n"
    before = {"pyproject.toml": "", "tests/__init__.py": "", "tests/test_b.py": bad}
    run = await tested(before, {"tests/test_b.py": bad + new}, compares=True, lint="sh -c 'echo b.py:1: old; exit 1'")
    assert [each.rpartition("::")[2] for each in run.known] == ["test_bad"]
    assert [each.id.rpartition("::")[2] for each in run.failures] == ["test_new"]
    assert [each.is_excused for each in run.commands if each.kind == "lint"] == [True]


async def test_where_nothing_failed_nothing_is_run_again(tested: Tests, told: list[str]) -> None:
    run = await tested(PASSES, {"a.py": ""})
    assert [each.kind for each in run.commands] == ["test"]
    assert told == ["Checking out", "Choosing the tests", "Running the tests"]


async def test_a_check_that_is_not_installed_counts_only_where_it_is_configured(tested: Tests) -> None:
    run = await tested(
        PASSES, {"pyproject.toml": "[tool.pytest.ini_options]\n[tool.mypy]\n"}, lint="nowhere-to-be-found"
    )
    assert [(each.kind, each.exit_status) for each in run.commands] == [("lint", 127), ("test", 0)]
    assert "Left out, because its program is not installed: `python3 -m mypy .`." in run.selection
    assert decide_verdict(run) is SuiteVerdict.failed


async def test_tests_whose_runner_is_not_there_were_not_run(tested: Tests) -> None:
    run = await tested(PASSES, {"a.py": ""}, test="nowhere-to-be-found --all")
    assert decide_verdict(run) is SuiteVerdict.not_run
    assert run.not_run.startswith("`nowhere-to-be-found` is not installed here. The repository can install it with `")
    assert run.not_run.endswith("reach a registry; else ask the operator to install it.")


@pytest.mark.skipif(not shutil.which("npx", path="/usr/bin:/bin"), reason="no npx here")
async def test_a_runner_that_would_have_to_be_downloaded_is_not_waited_for(tested: Tests) -> None:
    """npm asks three times within 70 seconds unless it is told not to."""
    package = '{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "3"}}'
    script = "import { it } from 'vitest';\nit('adds', () => {});\n"
    run = await tested({"package.json": package}, {"test/cart.test.ts": script, "src/cart.ts": "export {};\n"})
    assert (decide_verdict(run), list_failures(run)) == (SuiteVerdict.not_run, ())
    assert run.not_run.startswith("`vitest` is not installed here.")
    assert [each.seconds < 60 for each in run.commands] == [True]


async def test_pip_installs_into_the_home_of_the_commands(tested: Tests) -> None:
    """Debian's Python refuses to, and its folders cannot be written; there is no network, so a package is made."""
    made = {
        "lib/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
        "lib/backend.py": BACKEND,
        "requirements.txt": "./lib\n",
        "tests/test_a.py": "import shutil\n\nimport fresh\n\n\ndef test_a():\n    assert shutil.which('fresh-tool')\n",
    }
    run = await tested(PASSES, made, setup="/usr/bin/python3 -m pip install -r requirements.txt", test=UNITTEST)
    assert [(each.kind, each.exit_status) for each in run.commands] == [("setup", 0), ("test", 0)], run.commands


async def test_a_set_up_without_a_network_says_so(tested: Tests) -> None:
    run = await tested(PASSES, {"a.py": ""}, setup="/usr/bin/python3 -m pip install no-such-package")
    assert decide_verdict(run) is SuiteVerdict.not_run
    assert run.not_run.startswith("`no-such-package` is not installed here. The repository can install it with `")


async def test_an_end_without_the_report_is_no_success(tested: Tests) -> None:
    run = await tested(PASSES, {"conftest.py": "import os\nos._exit(0)\n"})
    assert [(each.kind, each.exit_status) for each in run.commands] == [("test", 0)]
    assert decide_verdict(run) is SuiteVerdict.not_run


async def test_only_the_first_failures_say_why(tested: Tests) -> None:
    token = "ghp_" + "Ab1" * 12
    bad = (
        f"import pytest\n\n\n@pytest.mark.parametrize('n', range({MAX_DETAILED + 10}))\ndef test_bad(n):\n"
        f"    raise ValueError('ghp_' + 'Ab1' * 12 + 'x' * 3_000 + ' the end')\n\n\n"
        "def test_skipped():\n    pytest.skip('because')\n"
    )
    run = await tested(PASSES, {"tests/test_b.py": bad})
    first = run.commands[0]
    speaking = [each for each in first.cases if each.message or each.details]
    assert len(first.cases) == MAX_DETAILED + 12
    assert len(speaking) == MAX_DETAILED
    assert max(len(each.details) for each in speaking) <= 1_000
    assert token not in run.model_dump_json()
    assert len(list_failures(run)) == MAX_DETAILED


MEASURING = {"measure.sh": 'echo ran >> ran; printf "%s" "$(cat report.xml)" > "$FORGE_RESULTS/coverage.xml"\n'}
REPORT = '<coverage><class filename="a.py"><line number="1" hits="1"/><line number="2" hits="0"/></class></coverage>'


async def test_what_the_tests_run_is_measured_without_checks(tmp_path: Path, toolbox: Toolbox) -> None:
    commands = Commands(setup="true", build="true", lint="false", test="sh measure.sh")
    files = {**MEASURING, "a.py": "b = 1\nc = 2\n", "report.xml": REPORT}
    async with mirror_change(tmp_path, files, {"a.py": None}) as (mirror, change):
        run = await tester.Tester(mirror, toolbox, commands).measure(change.merge_base)
    assert [each.kind for each in run.commands] == ["setup", "build", "test"]
    assert run.coverage is not None
    assert run.coverage.lines == (1, 2)


async def test_where_nothing_measures_coverage_tests_run_without(tested: Tests) -> None:
    """The manifest names the plug-in, and it is not installed here."""
    named = {"pyproject.toml": PROJECT["pyproject.toml"] + "[project]\nname = 'a'\ndependencies = ['pytest-cov']\n"}
    run = await tested({**PASSES, **named}, {"tests/test_b.py": "def test_b():\n    pass\n"})
    assert (decide_verdict(run), run.coverage) == (SuiteVerdict.passed, None)
    assert {case.id.rpartition("::")[2] for case in run.cases} == {"test_a", "test_b"}


async def test_tests_import_what_lies_in_src_where_nothing_is_set_up(tested: Tests) -> None:
    bad = "import shop\n\n\ndef test_bad():\n    assert shop.ONE == 2\n"
    before = {"src/shop/__init__.py": "ONE = 1\n", "tests/test_b.py": bad}
    run = await tested(before, {"tests/test_b.py": f"{bad}\n\ndef test_one():\n    assert shop.ONE == 1\n"})
    assert {each.id.rpartition(":")[2]: str(each.outcome) for each in run.cases} == {
        "test_bad": "failed",
        "test_one": "passed",
    }
    assert run.known == ("tests/test_b.py::test_bad",)  # the base could import it, too


async def test_a_report_of_coverage_that_cannot_be_read_is_known(tested: Tests) -> None:
    files = {"a.py": "b = 1\n", **MEASURING}
    run = await tested({**files, "report.xml": REPORT}, {"report.xml": "<coverage"}, test="sh measure.sh")
    assert (run.coverage, run.runs_all) == (None, True)
    assert [each.has_bad_coverage for each in run.commands] == [True]
    assert decide_verdict(run) is SuiteVerdict.passed


GO_TEST = """package importer

import "testing"

func TestAdd(t *testing.T) {
\tif Add(1, 2) != 3 {
\t\tt.Fatal("wrong sum")
\t}
}
"""
PART = {
    "importer/go.mod": "module example.org/importer\n\ngo 1.18\n",
    "importer/add.go": "package importer\n\nfunc Add(a, b int) int { return a + b }\n",
    "importer/add_test.go": GO_TEST,
    "web/package.json": '{"scripts": {"test": "no-such-program"}}',
}


@pytest.mark.skipif(shutil.which("go") is None, reason="no go here")
async def test_a_part_of_the_repository_is_tested_where_it_changed(tested: Tests) -> None:
    """In its folder, and its tests are named from the top; what did not change need not be runnable here."""
    wrong = {"importer/add.go": PART["importer/add.go"].replace("a + b", "a - b")}
    found = await tested({**PASSES, **PART}, wrong)
    assert [each.id for each in found.failures] == ["importer/add_test.go::TestAdd"]
    assert "cd importer && go test -v ./..." in [each.line for each in found.commands]
    assert not any("web" in each.line for each in found.commands)
    assert decide_verdict(found) is SuiteVerdict.failed
