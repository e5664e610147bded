"""Builds a test run from the repository's own workflow runs on a head; an unknown conclusion is no success."""

import re
from collections.abc import Iterable, Mapping, Sequence

from domain.github.checks import TESTING_EVENTS, Job, WorkflowRun
from domain.runs.testing import LONGEST_ID, LONGEST_OUTPUT, LONGEST_RUN, CommandResult, TestRun
from domain.text.escaping import strip_invisible

MOST_LOG = 64_000
"""The bytes to read of a job's log: the clean-up after a failed step may print a lot."""

_SELECTION = "What the workflows of the repository ran on this head."
_GOOD = frozenset({"success", "neutral", "skipped"})
_BAD = frozenset({"failure", "timed_out"})
_SUPERSEDED = frozenset({"cancelled", "skipped"})
_LONGEST_LINE = 4_000
_LONGEST_REASON = 1_000
_REASONS = {
    "cancelled": "was cancelled",
    "startup_failure": "could not be started: its workflow file is not valid, or GitHub had no runner for it",
    "action_required": "waits for a maintainer's approval on GitHub",
    "stale": "was given up by GitHub because it did not end for two weeks",
}
_TIMESTAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z ?", re.MULTILINE)
_MARK = re.compile(r"^##\[[a-z]{1,20}\]", re.MULTILINE)
_LAST_ERROR = re.compile(r".*^##\[error\][^\n]*", re.MULTILINE | re.DOTALL)


def find_relevant_runs(runs: Iterable[WorkflowRun]) -> tuple[WorkflowRun, ...]:
    """The runs that count for a head, oldest first, without those that a later run of their workflow replaced.

    GitHub starts a workflow again if a pull request is reopened or labelled, and cancels the former run if the workflow
    says so. A failed run always counts, whatever the result of another run: if it is run again, it stays the same run.

    :param runs: of one head, each in its newest attempt.
    """
    of_tests = sorted((run for run in runs if run.event in TESTING_EVENTS), key=lambda run: run.id)
    newest = {run.path: run.id for run in of_tests}
    return tuple(run for run in of_tests if run.id == newest[run.path] or run.conclusion not in _SUPERSEDED)


def wants_log(job: Job) -> bool:
    """Whether the job's log is needed."""
    return job.is_completed and job.conclusion not in _GOOD


def find_failed_once(runs: Iterable[WorkflowRun]) -> tuple[WorkflowRun, ...]:
    """The runs of a head that failed in their first attempt, as far as known: nobody knows whether they fail again."""
    return tuple(run for run in find_relevant_runs(runs) if run.conclusion in _BAD and run.attempt <= 1)


def find_flaky_jobs(newest: Sequence[Job], every: Sequence[Job]) -> tuple[str, ...]:
    """The names of the jobs that failed in one attempt of a run and succeeded in its newest, on the same head.

    :param newest: the jobs of its newest attempt.
    :param every: those of all its attempts.
    """
    failed = {job.name for job in every if job.conclusion in _BAD}
    unproven = {job.name for job in newest if job.conclusion != "success"}
    return tuple(dict.fromkeys(job.name for job in newest if job.name in failed - unproven))


def build_test_run(
    runs: Iterable[WorkflowRun],
    jobs: Mapping[int, Sequence[Job]],
    logs: Mapping[int, str],
    flaky: Mapping[int, Sequence[str]] | None = None,
) -> TestRun | None:
    """The test run of a head; None while a relevant run is not completed, or if there is none.

    :param runs: all of the head, each in its newest attempt.
    :param jobs: id of each relevant run → its jobs.
    :param logs: id of a job → the end of its log; a missing one could not be read.
    :param flaky: id of a run → the names of its jobs that failed before.
    """
    counted = find_relevant_runs(runs)
    found = [job for run in counted for job in jobs.get(run.id, ())]
    if not counted or not all(one.is_completed for one in (*counted, *found)):
        return None
    commands = [command for run in counted for command in _commands(run, jobs.get(run.id, ()), logs)]
    failed = any(one.conclusion in _BAD for one in (*counted, *found))
    why_not = "" if failed else _explain_not_run(counted, found)
    names = tuple(_name(run, job)[:LONGEST_ID] for run in counted for job in (flaky or {}).get(run.id, ()))
    return TestRun(commands=tuple(commands), flaky=names, selection=_SELECTION, not_run=why_not[:_LONGEST_REASON])


def _explain_not_run(counted: Sequence[WorkflowRun], jobs: Sequence[Job]) -> str:
    """Why there is no result, although nothing failed; empty if there is one."""
    reasons = [f"“{run.name}” {_reason(run)}." for run in counted if run.conclusion not in _GOOD]
    if not reasons and all(job.conclusion == "skipped" for job in jobs):
        return "All jobs of the workflows were skipped, so nothing was tested."
    return " ".join(reasons)


def _reason(run: WorkflowRun) -> str:
    return _REASONS.get(run.conclusion or "", f"ended in a way Forge does not know ({run.conclusion})")


def _commands(run: WorkflowRun, jobs: Sequence[Job], logs: Mapping[int, str]) -> list[CommandResult]:
    """One per job, and one for the run itself if no job accounts for its failure."""
    results = [_command(run, job, logs.get(job.id)) for job in jobs]
    if run.conclusion in _GOOD or any(not result.is_successful for result in results):
        return results
    return [*results, CommandResult(kind="test", line=run.name[:_LONGEST_LINE], exit_status=1, output=f"See {run.url}")]


def _command(run: WorkflowRun, job: Job, log: str | None) -> CommandResult:
    return CommandResult(
        kind="test",
        line=_name(run, job.name),
        exit_status=0 if job.conclusion in _GOOD else 1,
        output=_describe_without_log(job) if log is None else trim_log(log),
        seconds=_seconds(job),
    )


def _name(run: WorkflowRun, job: str) -> str:
    return f"{run.name} / {job}"[:_LONGEST_LINE]


def _describe_without_log(job: Job) -> str:
    if not wants_log(job):
        return ""
    where = f"The step “{job.failed_step[:200]}” failed" if job.failed_step else f"It ended as {job.conclusion}"
    return f"{where}. GitHub has no log of it."


def _seconds(job: Job) -> float:
    if job.started_at is None or job.completed_at is None:
        return 0.0
    return min(max(0.0, (job.completed_at - job.started_at).total_seconds()), LONGEST_RUN)


def trim_log(log: str) -> str:
    """The end of a job's log, up to the last error that GitHub marked in it.

    The lines after that are clean-up, and would hide what went wrong.
    """
    plain = _TIMESTAMP.sub("", strip_invisible(_end(log, MOST_LOG)))
    marked = _LAST_ERROR.match(plain)
    return _end(_MARK.sub("", marked[0] if marked else plain).strip(), LONGEST_OUTPUT)


def _end(text: str, most: int) -> str:
    """The end of a text, from the beginning of a line: half a secret would not be redacted."""
    if len(text) <= most:
        return text
    end = text[-most:]
    return end.partition("\n")[2] or end
