"""The baseline of a run: how the repository's commands end before anything is changed."""

import re
from collections import Counter

from pydantic import BaseModel, ConfigDict

from domain.runs.testing import (
    LONGEST_OUTPUT,
    CaseOutcome,
    CommandKind,
    CommandResult,
    SuiteVerdict,
    TestId,
    TestRun,
    decide_verdict,
    excuse_known,
)

_CHECKS: frozenset[CommandKind] = frozenset({"build", "lint", "typecheck"})
_NUMBER = re.compile(r"\d+")
_STILL_UNABLE = "As before the change, the tests show nothing here: {}"


class Baseline(BaseModel):
    """How the commands of a repository end on the base of a run.

    :param commit: the base.
    :param commands: as they ended; test cases only where they failed.
    :param passed: how many tests passed.
    :param failing: ids of the tests that failed twice.
    :param lacks: why its tests show nothing here, one sentence; empty if they do, or if there are none.
    """

    model_config = ConfigDict(frozen=True)

    commit: str
    commands: tuple[CommandResult, ...] = ()
    passed: int = 0
    failing: tuple[TestId, ...] = ()
    lacks: str = ""

    def list_failed_checks(self) -> tuple[CommandResult, ...]:
        """The commands that failed, of those that build, and check style and types."""
        return tuple(each for each in self.commands if each.kind in _CHECKS and not each.is_successful)


def build_baseline(commit: str, run: TestRun, lacks: str) -> Baseline:
    """The baseline from a run of all tests on the base.

    :param lacks: why they show nothing; empty if they do.
    """
    return Baseline(
        commit=commit,
        commands=tuple(map(_keep_failed, run.commands)),
        passed=sum(case.outcome is CaseOutcome.passed for case in run.cases),
        failing=tuple(case.id for case in run.failures),
        lacks=lacks,
    )


def excuse_failures(run: TestRun, base: Baseline) -> TestRun:
    """The run of a head, in which nothing counts that failed in the same way before the change.

    Where the tests of the base showed nothing, those of the head count only if they pass.
    """
    if not base.lacks:
        run = excuse_known(run, frozenset(base.failing))
        before = {(command.kind, command.line): command for command in base.list_failed_checks()}
        commands = tuple(_excuse_check(each, before.get((each.kind, each.line))) for each in run.commands)
        return run.model_copy(update={"commands": commands})
    if decide_verdict(run) is SuiteVerdict.failed:
        return run.model_copy(update={"not_run": _STILL_UNABLE.format(base.lacks)[:1_000]})
    return run


def _keep_failed(command: CommandResult) -> CommandResult:
    """The command without its tests that passed, and without what the others printed."""
    failed = [case for case in command.cases if case.outcome.is_bad]
    cases = tuple(case.model_copy(update={"message": "", "details": ""}) for case in failed)
    return command.model_copy(update={"cases": cases})


def _excuse_check(command: CommandResult, before: CommandResult | None) -> CommandResult:
    """A failed check is excused if it failed before with the same status, and says nothing that it did not say then."""
    if before is None or command.is_successful or command.exit_status != before.exit_status:
        return command
    is_cut = len(before.output) >= LONGEST_OUTPUT  # nobody knows what it said first
    says_more = Counter(_list_lines(command)) - Counter(_list_lines(before))
    return command if says_more and not is_cut else command.model_copy(update={"is_excused": True})


def _list_lines(command: CommandResult) -> list[str]:
    """What it printed, without numbers: lines move, and times differ."""
    lines = (_NUMBER.sub("", line).strip() for line in command.output.splitlines())
    return [line for line in lines if line]
