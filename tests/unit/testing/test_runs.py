"""What a run of the tests comes to, whatever its reports claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.testing.execution import read_ends
from domain.runs.testing import (
    LONGEST_OUTPUT,
    CaseOutcome,
    Coverage,
    FileCoverage,
    Framework,
    SuiteVerdict,
    TestRun,
    decide_verdict,
    excuse_known,
    keep_worst,
    measure_diff_coverage,
    merge_retry,
)
from tests.unit.testing.forging import case, command, run

GOOD, BAD, BROKEN = case("a"), case("b", CaseOutcome.failed), case("c", CaseOutcome.error)
SKIPPED = case("d", CaseOutcome.skipped)


@pytest.mark.parametrize(
    ("given_run", "expected"),
    [
        (run(command(0, GOOD)), SuiteVerdict.passed),
        (run(command(0, GOOD, SKIPPED)), SuiteVerdict.passed),
        (run(command(0, SKIPPED)), SuiteVerdict.not_run),
        (run(command(0, SKIPPED), command(5)), SuiteVerdict.not_run),
        (run(command(0, SKIPPED), command(0, framework=Framework.go)), SuiteVerdict.passed),
        (run(command(0, writes_report=True, report_problem="It left no report.")), SuiteVerdict.not_run),
        (run(command(1, writes_report=True, report_problem="It left no report.")), SuiteVerdict.failed),
        (run(command(0, GOOD), command(0, writes_report=True, report_problem="None.")), SuiteVerdict.not_run),
        (run(command(0, writes_report=True, framework=Framework.node)), SuiteVerdict.no_tests),
        (run(command(0)), SuiteVerdict.passed),
        (run(command(1, GOOD, BAD)), SuiteVerdict.failed),
        (run(command(1, GOOD)), SuiteVerdict.failed),  # the report claims that all passed
        (run(command(0, BAD)), SuiteVerdict.failed),
        (run(command(0, BROKEN)), SuiteVerdict.failed),
        (run(command(None, GOOD)), SuiteVerdict.failed),
        (run(command(0, GOOD), command(1, framework=Framework.go)), SuiteVerdict.failed),
        (run(command(0, GOOD), command(1, kind="lint")), SuiteVerdict.failed),
        (run(command(0, GOOD), command(1, kind="coverage")), SuiteVerdict.passed),
        (run(), SuiteVerdict.no_tests),
        (run(command(5)), SuiteVerdict.no_tests),
        (run(command(5, GOOD)), SuiteVerdict.failed),
        (run(command(5, framework=Framework.other)), SuiteVerdict.failed),
        (run(command(1, kind="setup"), command(0, GOOD)), SuiteVerdict.not_run),
        (run(not_run="There is no sandbox."), SuiteVerdict.not_run),
    ],
)
def test_an_exit_status_is_never_overridden(given_run: TestRun, expected: SuiteVerdict) -> None:
    assert decide_verdict(given_run) is expected


def test_what_passes_when_run_again_is_flaky() -> None:
    both = merge_retry(run(command(1, GOOD, BAD)), run(command(0, case("b"))))
    assert both.flaky == ("b",)
    assert decide_verdict(both) is SuiteVerdict.passed
    assert [each.kind for each in both.commands] == ["test", "retry"]
    assert not both.failures


@pytest.mark.parametrize(
    ("first", "retried"),
    [
        (run(command(1, GOOD, BAD)), run(command(1, BAD))),
        (run(command(1, BAD, BROKEN)), run(command(1, case("b"), BROKEN))),
        (run(command(1, BAD)), run(command(1, case("b")))),  # it claims success and fails
        (run(command(1, BAD)), run(command(0))),  # nothing says that it ran
        (run(command(1, BAD)), run()),
        (run(command(1, BAD)), run(command(0, case("b", CaseOutcome.skipped)))),
        (run(command(1, BAD)), run(command(0, case("b"), BAD))),
        (run(command(2, BAD)), run(command(0, case("b")))),  # interrupted: others may not have run
        (run(command(None, BAD)), run(command(0, case("b")))),
        (run(command(137, BAD, framework=Framework.go)), run(command(0, case("b")))),
        (run(command(1, GOOD)), run(command(0, GOOD))),  # it failed for a reason no test shows
        (run(command(1, BAD), command(1, line="npm test")), run(command(0, case("b")))),
    ],
)
def test_a_retry_excuses_nothing_else(first: TestRun, retried: TestRun) -> None:
    assert decide_verdict(merge_retry(first, retried)) is SuiteVerdict.failed


KNOWN = case("k", CaseOutcome.failed)


def test_what_fails_without_the_change_does_not_stand_against_it() -> None:
    known = excuse_known(merge_retry(run(command(1, GOOD, KNOWN)), run(command(1, KNOWN))), {"k", "a", "gone"})
    assert known.known == ("k",)
    assert not known.failures
    assert not known.failed_commands
    assert decide_verdict(known) is SuiteVerdict.passed


def test_flaky_and_known_failures_excuse_a_command_together() -> None:
    both = excuse_known(merge_retry(run(command(1, BAD, KNOWN)), run(command(1, case("b"), KNOWN))), {"k"})
    assert (both.flaky, both.known) == (("b",), ("k",))
    assert decide_verdict(both) is SuiteVerdict.passed


@pytest.mark.parametrize(
    "given_run",
    [
        run(command(1, BAD, KNOWN)),
        run(command(2, KNOWN)),  # interrupted: others may not have run
        run(command(1, KNOWN), command(1, line="npm test")),
        run(command(1, KNOWN), command(1, kind="lint")),
        merge_retry(run(command(1, BAD, KNOWN)), run(command(2, case("b"), KNOWN))),
        merge_retry(run(command(1, KNOWN)), run(command(1))),  # nothing says why it failed
    ],
)
def test_what_fails_without_the_change_excuses_nothing_else(given_run: TestRun) -> None:
    assert decide_verdict(excuse_known(given_run, {"k"})) is SuiteVerdict.failed


def test_a_second_entry_does_not_hide_a_failure() -> None:
    assert keep_worst([BAD, case("b")]) == keep_worst([case("b"), BAD]) == (BAD,)


def test_a_run_survives_being_written_down() -> None:
    whole = merge_retry(run(command(1, GOOD, BAD)), run(command(0, case("b"))))
    assert TestRun.model_validate_json(whole.model_dump_json()) == whole


def test_diff_coverage_counts_added_executable_lines_only() -> None:
    coverage = Coverage(files=(FileCoverage(path="a.py", covered=(1, 2), missed=(4, 5, 9)),))
    found = measure_diff_coverage(coverage, {"a.py": {2, 3, 4, 9}, "b.py": {1}, "c.md": {1}, "tests/test_a.py": {1}})
    assert (found.covered, found.total, found.uncovered) == (1, 3, {"a.py": (4, 9)})
    assert found.unmeasured == ("b.py",)
    assert found.share == pytest.approx(1 / 3)
    assert measure_diff_coverage(coverage, {}).share is None


LINES = st.sets(st.integers(1, 60))


@given(LINES, LINES, LINES)
def test_diff_coverage_adds_up(covered: set[int], missed: set[int], added: set[int]) -> None:
    file = FileCoverage(path="a.py", covered=tuple(sorted(covered)), missed=tuple(sorted(missed - covered)))
    found = measure_diff_coverage(Coverage(files=(file,)), {"a.py": added})
    assert found.total == len(added & (covered | missed))
    assert found.covered == len(added & covered)
    assert set(found.uncovered.get("a.py", ())) == added & missed - covered


def test_a_stream_full_of_warnings_leaves_the_other_its_room() -> None:
    told, warned = "  1) Failure:\n  }\n  }\n9 runs, 1 failures\n", "lib/rake.rb:379: warning: old\n"
    assert read_ends(told.encode(), warned.encode()) == f"{told}\n{warned}"
    noise = "".join(f"lib/rake.rb:{number}: warning: again\n" for number in range(LONGEST_OUTPUT))
    assert read_ends((warned * LONGEST_OUTPUT + told).encode()) == warned + told
    both = read_ends(told.encode(), (warned * 99 + noise).encode())
    assert both.startswith(told)
    assert both.endswith(noise[-500:])
    assert len(both) == LONGEST_OUTPUT - 1
    assert read_ends() == ""
