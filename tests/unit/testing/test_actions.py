"""What workflows say about a head: good and bad ends told apart, and nothing unknown taken for good."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agents.testing.actions import (
    MOST_LOG,
    build_test_run,
    find_failed_once,
    find_flaky_jobs,
    find_relevant_runs,
    trim_log,
    wants_log,
)
from domain.github.checks import Job, WorkflowRun
from domain.runs.testing import LONGEST_OUTPUT, LONGEST_RUN, SuiteVerdict, TestRun, decide_verdict

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _run(number: int = 1, conclusion: str | None = "success", **more: Any) -> WorkflowRun:
    known: dict[str, Any] = {
        "id": number,
        "name": "CI",
        "status": "completed" if conclusion else "in_progress",
        "conclusion": conclusion,
        "attempt": 1,
        "event": "pull_request",
        "url": f"https://github.example/acme/shelf/actions/runs/{number}",
        "path": ".github/workflows/ci.yml",
    }
    return WorkflowRun(**{**known, **more})


def _job(number: int = 11, conclusion: str | None = "success", **more: Any) -> Job:
    status = "completed" if conclusion else "in_progress"
    known: dict[str, Any] = {"id": number, "name": "test", "status": status, "conclusion": conclusion}
    return Job(**{**known, **more})


def _build_run(run: WorkflowRun, *jobs: Job, log: str | None = None) -> TestRun:
    logs = {} if log is None else {job.id: log for job in jobs}
    found = build_test_run([run], {run.id: jobs}, logs)
    assert found is not None
    return found


# --- when there is something to say ------------------------------------------------------------------------


def test_nothing_is_said_before_all_that_counts_is_over() -> None:
    done, jobs = _run(1), {1: [_job(11)], 2: [_job(12)]}
    lint = {"path": "lint.yml", "name": "Lint"}
    assert build_test_run([], {}, {}) is None
    assert build_test_run([done, _run(2, None, **lint)], jobs, {}) is None
    assert build_test_run([done, _run(2, None, status="queued", **lint)], jobs, {}) is None
    assert build_test_run([done, _run(2, **lint)], {**jobs, 2: [_job(12, None)]}, {}) is None
    assert build_test_run([done, _run(2, **lint)], jobs, {}) is not None


@pytest.mark.parametrize("event", ["schedule", "pull_request_target", "workflow_dispatch", "merge_group"])
def test_workflows_that_test_no_head_do_not_count(event: str) -> None:
    other = _run(2, "failure", event=event, path="other.yml")
    assert build_test_run([other], {2: [_job(12, "failure")]}, {}) is None
    found = build_test_run([_run(1), other], {1: [_job(11)], 2: [_job(12, "failure")]}, {})
    assert found is not None
    assert decide_verdict(found) is SuiteVerdict.passed


@pytest.mark.parametrize(
    ("earlier", "counts"), [("cancelled", False), ("skipped", False), ("failure", True), ("success", True)]
)
def test_a_run_that_a_later_one_of_its_workflow_replaced(earlier: str, counts: bool) -> None:
    first, second = _run(1, earlier, event="push"), _run(2)
    assert (first in find_relevant_runs([second, first])) is counts
    assert find_relevant_runs([first]) == (first,)
    assert find_relevant_runs([first, _run(2, path="other.yml")])[0] == first


def test_a_later_run_that_was_cancelled_still_counts() -> None:
    found = build_test_run([_run(1), _run(2, "cancelled")], {1: [_job(11)], 2: []}, {})
    assert found is not None
    assert decide_verdict(found) is SuiteVerdict.not_run


# --- what it says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("conclusion", ["success", "neutral", "skipped"])
def test_good_ends(conclusion: str) -> None:
    run = _build_run(_run(1, conclusion), _job(11), _job(12, conclusion, name="lint"))
    assert [(one.kind, one.line, one.exit_status) for one in run.commands] == [
        ("test", "CI / test", 0),
        ("test", "CI / lint", 0),
    ]
    assert decide_verdict(run) is SuiteVerdict.passed
    assert (run.cases, run.not_run) == ((), "")


@pytest.mark.parametrize("conclusion", ["failure", "timed_out"])
def test_bad_ends(conclusion: str) -> None:
    run = _build_run(_run(1, conclusion), _job(11), _job(12, conclusion, name="lint"))
    assert [one.line for one in run.failed_commands] == ["CI / lint"]
    assert decide_verdict(run) is SuiteVerdict.failed


@pytest.mark.parametrize(
    ("conclusion", "said"),
    [
        ("cancelled", "was cancelled"),
        ("startup_failure", "could not be started"),
        ("action_required", "waits for a maintainer's approval"),
        ("stale", "given up"),
        ("invented", "does not know (invented)"),
        (None, "does not know (None)"),
    ],
)
def test_what_did_not_run_is_no_success(conclusion: str | None, said: str) -> None:
    run = _run(1, conclusion, status="completed")
    for jobs in ((), (_job(11),), (_job(11), _job(12, "cancelled"))):
        told = _build_run(run, *jobs)
        assert decide_verdict(told) is SuiteVerdict.not_run
        assert told.not_run.startswith("“CI” ")
        assert said in told.not_run


def test_a_failure_outranks_what_did_not_run() -> None:
    told = _build_run(_run(1, "cancelled"), _job(11, "failure"), _job(12, "cancelled"))
    assert (decide_verdict(told), told.not_run) == (SuiteVerdict.failed, "")
    both = build_test_run([_run(1, "cancelled"), _run(2, "failure", path="b.yml")], {2: [_job(12, "failure")]}, {})
    assert both is not None
    assert decide_verdict(both) is SuiteVerdict.failed


@pytest.mark.parametrize("jobs", [(), (_job(11),)])
def test_a_failure_that_no_job_accounts_for_is_one(jobs: tuple[Job, ...]) -> None:
    told = _build_run(_run(1, "failure"), *jobs)
    assert decide_verdict(told) is SuiteVerdict.failed
    assert [(one.line, one.output) for one in told.failed_commands] == [("CI", f"See {_run(1).url}")]


@pytest.mark.parametrize("jobs", [(), (_job(11, "skipped"), _job(12, "skipped"))])
def test_where_no_job_ran_nothing_was_tested(jobs: tuple[Job, ...]) -> None:
    told = _build_run(_run(1, "skipped"), *jobs)
    assert decide_verdict(told) is SuiteVerdict.not_run
    assert "skipped" in told.not_run


def test_one_bad_job_among_many_workflows() -> None:
    runs = [_run(number, path=f"{number}.yml") for number in range(1, 40)]
    jobs = {run.id: [_job(100 * run.id + n) for n in range(5)] for run in runs}
    good = build_test_run(runs, jobs, {})
    bad = build_test_run(runs, {**jobs, 20: [*jobs[20], _job(1, "failure")]}, {})
    assert good is not None
    assert bad is not None
    assert (decide_verdict(good), decide_verdict(bad)) == (SuiteVerdict.passed, SuiteVerdict.failed)
    assert len(bad.failed_commands) == 1


@pytest.mark.parametrize(("seconds", "kept"), [(90, 90.0), (-5, 0.0), (10 * LONGEST_RUN, LONGEST_RUN)])
def test_how_long_a_job_took(seconds: float, kept: float) -> None:
    ended = BEGAN + timedelta(seconds=seconds)
    assert _build_run(_run(), _job(started_at=BEGAN, completed_at=ended)).commands[0].seconds == kept
    assert _build_run(_run(), _job(started_at=None, completed_at=ended)).commands[0].seconds == 0


def test_names_and_reasons_without_end_are_cut() -> None:
    told = _build_run(_run(1, "cancelled", name="x" * 9_000), _job(name="y" * 9_000))
    assert decide_verdict(told) is SuiteVerdict.not_run
    assert _build_run(_run(1, "failure", name="x" * 9_000)).failed_commands


# --- logs --------------------------------------------------------------------------------------------------

LOG = """\ufeff2026-03-01T12:00:00.1234567Z ##[group]Run pytest
2026-03-01T12:00:00.1234568Z \x1b[36;1mpytest -q\x1b[0m
2026-03-01T12:00:00.1234569Z ##[endgroup]
2026-03-01T12:00:03.0000000Z FAILED test_a.py::test_b - \x1b[31massert 1 == 2\x1b[0m
2026-03-01T12:00:03.0000001Z
2026-03-01T12:00:03.0000001Z at 2026-03-01T12:00:00.1Z it was so
2026-03-01T12:00:03.0000002Z ##[error]Process completed with exit code 1.
2026-03-01T12:00:04.0000000Z Post job cleanup.
2026-03-01T12:00:04.0000001Z [command]/usr/bin/git version
"""


def test_a_log_reads_as_the_job_printed_it_up_to_its_failure() -> None:
    assert trim_log(LOG).splitlines() == [
        "Run pytest",
        "pytest -q",
        "",
        "FAILED test_a.py::test_b - assert 1 == 2",
        "",
        "at 2026-03-01T12:00:00.1Z it was so",
        "Process completed with exit code 1.",
    ]
    assert trim_log(LOG.replace("\n", "\r\n")) == trim_log(LOG)


def test_a_log_without_an_error_is_read_to_its_end() -> None:
    assert trim_log(LOG.replace("##[error]", "")).endswith("[command]/usr/bin/git version")
    assert trim_log("") == ""


def test_the_end_of_a_long_log_is_kept_in_whole_lines() -> None:
    lines = [f"2026-03-01T12:00:00.1234567Z line {number:05}" for number in range(20_000)]
    read = trim_log("\n".join(lines))
    assert LONGEST_OUTPUT - 20 < len(read) <= LONGEST_OUTPUT
    assert read.splitlines()[-1] == "line 19999"
    assert all(len(line) == len("line 00000") for line in read.splitlines())
    assert len(trim_log("x" * (MOST_LOG + 1))) == LONGEST_OUTPUT


def test_only_what_failed_needs_its_log() -> None:
    ends = {"success": False, "neutral": False, "skipped": False, None: False, "failure": True, "timed_out": True}
    assert {end: wants_log(_job(11, end)) for end in ends} == ends


def test_what_a_job_printed_stands_beside_it() -> None:
    assert _build_run(_run(1, "failure"), _job(11, "failure"), log=LOG).commands[0].output == trim_log(LOG)


def test_a_job_without_a_log_says_what_is_known() -> None:
    def run_output(**more: Any) -> str:
        return _build_run(_run(1, "failure"), _job(11, **more)).commands[0].output

    assert run_output(conclusion="failure", failed_step="Run pytest") == (
        "The step “Run pytest” failed. GitHub has no log of it."
    )
    assert run_output(conclusion="timed_out") == "It ended as timed_out. GitHub has no log of it."
    assert run_output(conclusion="success") == ""


# --- run once more -----------------------------------------------------------------------------------------


def test_only_what_failed_in_its_first_attempt_is_run_once_more() -> None:
    others = [_run(number, end, path=f"{end}.yml") for number, end in enumerate(("success", "cancelled", None), 5)]
    assert find_failed_once([_run(1, "failure"), *others]) == (_run(1, "failure"),)
    assert find_failed_once([_run(1, "failure", attempt=2), *others]) == ()
    assert find_failed_once([_run(1, "startup_failure")]) == ()


@pytest.mark.parametrize(
    ("before", "now", "flaky"),
    [
        ("failure", ["success"], True),
        ("timed_out", ["success"], True),
        ("failure", ["failure"], False),
        ("failure", ["skipped"], False),
        ("failure", ["success", "failure"], False),
        ("cancelled", ["success"], False),
        ("success", ["success"], False),
    ],
)
def test_a_job_that_failed_and_passed_is_flaky(before: str, now: list[str], flaky: bool) -> None:
    newest = [_job(20 + number, end) for number, end in enumerate(now)]
    assert find_flaky_jobs(newest, [_job(11, before), *newest]) == (("test",) if flaky else ())
