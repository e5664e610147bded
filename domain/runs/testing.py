"""The results of a test run: cases, coverage, failure analysis and verdict.

The tested code writes the report, so a report can only lower the result of an exit status.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from domain.paths import is_source, is_test
from domain.value import Value

LONGEST_ID = 500
LONGEST_PATH = 500
LONGEST_MESSAGE = 500
LONGEST_DETAILS = 4_000
LONGEST_OUTPUT = 8_000
MAX_DETAILED = 50
"""The most failed tests with details."""
LONGEST_RUN = 7 * 24 * 3600.0  # seconds
LAST_LINE = 10_000_000

Line = Annotated[int, Field(ge=1, le=LAST_LINE)]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_RUN, allow_inf_nan=False)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PATH)]
TestId = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]


class CaseOutcome(StrEnum):
    """How one test ended."""

    passed = "passed"
    failed = "failed"  # an assertion failed
    error = "error"  # it could not run
    skipped = "skipped"

    @property
    def is_bad(self) -> bool:
        return self in {CaseOutcome.failed, CaseOutcome.error}


_WORST_FIRST = (CaseOutcome.failed, CaseOutcome.error, CaseOutcome.passed, CaseOutcome.skipped)


class TestCase(Value):
    """One test and how it ended.

    :param id: stable across runs; for pytest, the id to run it again.
    :param path: relative to the repository; None if the report names no file in it.
    :param is_expected: whether it ran and failed, as its author expects, and so counts as skipped.
    :param message: what went wrong, one line; :param details: the same at length, as a trace.
    """

    __test__ = False  # pytest would collect a class whose name begins with Test

    id: TestId
    path: Path | None = None
    line: Line | None = None
    outcome: CaseOutcome
    is_expected: bool = False
    seconds: Seconds = 0.0
    message: str = Field(default="", max_length=LONGEST_MESSAGE)
    details: str = Field(default="", max_length=LONGEST_DETAILS)

    @property
    def where(self) -> str:
        """``path:line`` for people; may be empty."""
        return f"{self.path}:{self.line}" if self.path and self.line else self.path or ""


def keep_worst(cases: Iterable[TestCase]) -> tuple[TestCase, ...]:
    """Keeps the worst outcome of each test, so that a duplicate cannot hide a failure."""
    kept: dict[str, TestCase] = {}
    for case in cases:
        other = kept.get(case.id)
        if other is None or _WORST_FIRST.index(case.outcome) < _WORST_FIRST.index(other.outcome):
            kept[case.id] = case
    return tuple(kept.values())


# --- coverage ----------------------------------------------------------------------------------------------


class FileCoverage(Value):
    """The coverage of one file.

    :param covered: executable lines that ran, ascending; :param missed: those that did not.
    :param functions: how many there are; None if unknown.
    """

    path: Path
    covered: tuple[Line, ...] = ()
    missed: tuple[Line, ...] = ()
    branches_covered: int = Field(default=0, ge=0)
    branches: int = Field(default=0, ge=0)
    functions_covered: int | None = Field(default=None, ge=0)
    functions: int | None = Field(default=None, ge=0)


class Coverage(Value):
    """The coverage of all files."""

    files: tuple[FileCoverage, ...] = ()

    @property
    def lines(self) -> tuple[int, int]:
        """(covered, all) executable lines."""
        covered = sum(len(file.covered) for file in self.files)
        return covered, covered + sum(len(file.missed) for file in self.files)

    @property
    def branches(self) -> tuple[int, int]:
        """(covered, all) branches."""
        return sum(file.branches_covered for file in self.files), sum(file.branches for file in self.files)

    @property
    def functions(self) -> tuple[int, int]:
        """(covered, all) functions, of files with function counts."""
        return (
            sum(file.functions_covered or 0 for file in self.files if file.functions is not None),
            sum(file.functions or 0 for file in self.files),
        )


class DiffCoverage(Value):
    """The coverage of the executable lines that a change adds.

    :param uncovered: path → added lines that did not run, ascending.
    :param unmeasured: changed source files missing in the report.
    """

    covered: int = Field(ge=0)
    total: int = Field(ge=0)
    uncovered: dict[str, tuple[int, ...]] = {}
    unmeasured: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """From 0 to 1; None if no added line was measured."""
        return self.covered / self.total if self.total else None


def measure_diff_coverage(coverage: Coverage, added: Mapping[str, Collection[int]]) -> DiffCoverage:
    """The coverage of a change.

    :param added: path → numbers of the added lines at head.
    """
    measured = {file.path: file for file in coverage.files}
    covered = 0
    uncovered: dict[str, tuple[int, ...]] = {}
    unmeasured: list[str] = []
    for path, lines in added.items():
        file = measured.get(path)
        if file is None:
            unmeasured += [path] if lines and is_source(path) and not is_test(path) else []
            continue
        covered += len(set(lines).intersection(file.covered))
        if missing := set(lines).intersection(file.missed).difference(file.covered):
            uncovered[path] = tuple(sorted(missing))
    total = covered + sum(map(len, uncovered.values()))
    return DiffCoverage(covered=covered, total=total, uncovered=uncovered, unmeasured=tuple(unmeasured))


# --- what failures mean ------------------------------------------------------------------------------------


class FailureClass(StrEnum):
    """Why a test failed."""

    real_bug = "real_bug"  # the code, or the test, is wrong
    flaky = "flaky"  # the same code passed and failed
    environment = "environment"  # the environment lacks something


class Analysis(Value):
    """The analysis of a failure.

    :param suggested_fix: one sentence; may be empty.
    :param confidence: from 0 to 1.
    """

    test_id: TestId
    failure_class: FailureClass
    root_cause: str = Field(max_length=2_000)
    suggested_fix: str = Field(default="", max_length=2_000)
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False)


# --- a run -------------------------------------------------------------------------------------------------

CommandKind = Literal[
    "setup",  # required by all others
    "build",
    "lint",
    "typecheck",
    "test",
    "retry",  # the failed tests once more
    "coverage",  # writes the coverage report; nothing depends on it
]
CHECKS: frozenset[CommandKind] = frozenset({"build", "lint", "typecheck"})
_RAN_NOTHING = "\nRan 0 tests in "
_RAN_TESTS = frozenset({"test", "retry"})


class Framework(StrEnum):
    """The test framework, as far as Forge knows it."""

    pytest = "pytest"
    unittest = "unittest"
    node = "node"
    jest = "jest"
    vitest = "vitest"
    go = "go"
    cargo = "cargo"
    mocha = "mocha"
    ava = "ava"
    tape = "tape"
    maven = "maven"
    gradle = "gradle"
    rspec = "rspec"
    minitest = "minitest"
    phpunit = "phpunit"
    dotnet = "dotnet"
    bats = "bats"
    other = "other"  # only its exit status counts


class CommandResult(Value):
    """A finished command.

    :param line: the command as a shell would take it.
    :param exit_status: None if it did not finish: it took too long, or a signal ended it.
    :param output: the end of its output.
    :param cases: the cases of its report.
    :param writes_report: it must have written a report.
    :param report_problem: why its report could not be read, one sentence.
    :param is_excused: it failed only as it does without the change, or because of flaky tests.
    :param mistakes: what the whole output of a check says that failed, see
        :func:`domain.runs.output_lines.count_mistakes`; None where that is unknown, or compared already.
    :param digest: of the whole output of tests that failed without a report; empty likewise.
    """

    kind: CommandKind
    line: str = Field(max_length=4_000)
    framework: Framework = Framework.other
    exit_status: int | None
    output: str = Field(default="", max_length=LONGEST_OUTPUT)
    seconds: Seconds = 0.0
    cases: tuple[TestCase, ...] = ()
    writes_report: bool = False
    report_problem: str = Field(default="", max_length=LONGEST_MESSAGE)
    has_bad_coverage: bool = False
    is_excused: bool = False
    mistakes: dict[str, int] | None = None
    digest: str = ""

    @property
    def is_successful(self) -> bool:
        return self.exit_status == 0

    @property
    def has_no_tests(self) -> bool:
        """pytest ends with 5 then (docs.pytest.org, "Exit codes"), and so does unittest from Python 3.12 on.

        Others write an empty report.
        """
        is_silent = self.framework is Framework.unittest and self.is_successful and _RAN_NOTHING in self.output
        is_told = self.framework in {Framework.pytest, Framework.unittest} and self.exit_status == 5
        is_reported = self.writes_report and self.is_successful and not self.report_problem
        return (is_silent or is_told or is_reported) and not self.cases

    @property
    def is_unproven(self) -> bool:
        """It succeeded, but its report is missing or unreadable."""
        return self.writes_report and self.is_successful and bool(self.report_problem) and not self.cases

    @property
    def is_all_skipped(self) -> bool:
        return bool(self.cases) and all(case.outcome is CaseOutcome.skipped for case in self.cases)


class TestRun(Value):
    """One run of the tester.

    :param selection: why these tests were run, one sentence.
    :param flaky: ids of the tests that failed first and passed on retry.
    :param known: ids of the tests that also fail without the change.
    :param runs_all: whether all tests were to run, and not only those that concern the change.
    :param is_unconcerned: no test concerns the change, so none ran.
    :param not_run: why the tests could not run; empty if they ran.
    """

    __test__ = False  # pytest would collect a class whose name begins with Test

    commands: tuple[CommandResult, ...] = ()
    flaky: tuple[TestId, ...] = ()
    known: tuple[TestId, ...] = ()
    coverage: Coverage | None = None
    diff_coverage: DiffCoverage | None = None
    selection: str = Field(default="", max_length=1_000)
    runs_all: bool = False
    is_unconcerned: bool = False
    not_run: str = Field(default="", max_length=1_000)

    @property
    def test_commands(self) -> tuple[CommandResult, ...]:
        """The commands that ran tests, including retries."""
        return tuple(command for command in self.commands if command.kind in _RAN_TESTS)

    @property
    def cases(self) -> tuple[TestCase, ...]:
        """Each test once, with its worst outcome."""
        return keep_worst(case for command in self.test_commands for case in command.cases)

    @property
    def failures(self) -> tuple[TestCase, ...]:
        """The tests that failed, are not known to be flaky, and do not fail without the change."""
        others = {*self.flaky, *self.known}
        return tuple(case for case in self.cases if case.outcome.is_bad and case.id not in others)

    @property
    def failed_commands(self) -> tuple[CommandResult, ...]:
        """The failed commands that count against the change."""
        return tuple(
            command
            for command in self.commands
            if not (command.is_successful or command.is_excused or command.has_no_tests)
            and command.kind not in {"coverage", "setup"}
        )

    @property
    def is_all_skipped(self) -> bool:
        """Whether there are tests and all were skipped."""
        has_run = any(not (command.has_no_tests or command.is_all_skipped) for command in self.test_commands)
        return not has_run and any(command.is_all_skipped for command in self.test_commands)

    @property
    def is_only_excused(self) -> bool:
        """Whether every test that ran fails without the change, too, so that nothing is proved."""
        return any(command.is_excused for command in self.test_commands) and not self.has_passed_test

    @property
    def has_passed_test(self) -> bool:
        """Whether at least one test passed; a command without a report counts as one test."""
        if any(case.outcome is CaseOutcome.passed or case.id in self.flaky for case in self.cases):
            return True
        return any(command.is_successful for command in self.without_report)

    @property
    def without_report(self) -> tuple[CommandResult, ...]:
        """The test commands without cases in a report; only their exit status is known."""
        return tuple(command for command in self.test_commands if not command.cases and not command.has_no_tests)


class SuiteVerdict(StrEnum):
    """The verdict of a test run."""

    passed = "passed"
    failed = "failed"
    no_tests = "no_tests"  # there is nothing to run
    not_run = "not_run"  # the tests could not run: never a success


def decide_verdict(run: TestRun) -> SuiteVerdict:
    """Decides the verdict; a success only if every command succeeded."""
    if run.not_run or any(command.kind == "setup" and not command.is_successful for command in run.commands):
        return SuiteVerdict.not_run
    if run.failed_commands or run.failures:
        return SuiteVerdict.failed
    if run.is_unconcerned:
        return SuiteVerdict.passed
    if any(command.is_unproven for command in run.test_commands) or run.is_all_skipped:
        return SuiteVerdict.not_run
    if run.is_only_excused:
        return SuiteVerdict.not_run
    if all(command.has_no_tests for command in run.test_commands):
        return SuiteVerdict.no_tests
    return SuiteVerdict.passed


def shows_nothing(run: TestRun) -> bool:
    """Whether its tests say nothing about the code: they could not run, or not one of those that ran passed."""
    verdict = decide_verdict(run)
    has_failed_all = bool(run.test_commands) and not run.has_passed_test
    return verdict is SuiteVerdict.not_run or (verdict is SuiteVerdict.failed and has_failed_all)


def merge_retry(first: TestRun, retried: TestRun) -> TestRun:
    """Merges both runs: tests that failed first and then passed are flaky.

    A failed command is excused only by a successful retry in which all its failed tests passed.

    :param retried: the second run of the failed tests.
    """
    again = {case.id: case for case in retried.cases}
    flaky = [case.id for case in first.failures if case.id in again and again[case.id].outcome is CaseOutcome.passed]
    second = retried.test_commands
    passed = frozenset(flaky) if second and all(command.is_successful for command in second) else frozenset[str]()
    return first.model_copy(
        update={
            "commands": (
                *(_excuse(command, passed) for command in first.commands),
                *(command.model_copy(update={"kind": "retry"}) for command in second),
            ),
            "flaky": tuple(dict.fromkeys((*first.flaky, *flaky))),
        }
    )


def excuse_known(run: TestRun, known: Collection[str]) -> TestRun:
    """Excuses failures that also occur without the change.

    :param run: with its retry, if there was one; :param known: ids of tests that fail at the merge base.
    """
    known = [case.id for case in run.failures if case.id in known]
    if not known:
        return run
    retries = [_excuse(command, known) for command in run.commands if command.kind == "retry"]
    is_trusted = all(command.is_successful or command.is_excused for command in retries)
    others = frozenset((*known, *(run.flaky if is_trusted else ())))
    tested = [_excuse(command, others) for command in run.commands if command.kind != "retry"]
    return run.model_copy(update={"commands": (*tested, *retries), "known": tuple(known)})


_TESTS_FAILED = {Framework.pytest: range(1, 2)}  # the others' exit statuses say less
_ORDINARY = range(1, 126)  # a shell uses higher ones for commands that did not start or were killed


def _excuse(command: CommandResult, passed: Collection[str]) -> CommandResult:
    failed = {case.id for case in command.cases if case.outcome.is_bad}
    is_ordinary = command.kind in _RAN_TESTS and command.exit_status in _TESTS_FAILED.get(command.framework, _ORDINARY)
    excused = is_ordinary and bool(failed) and failed.issubset(passed)
    return command.model_copy(update={"is_excused": command.is_excused or excused})
