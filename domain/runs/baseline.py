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
_POSITION = re.compile(r"(?<=[:(,])\s*\d+|\b(?:line|column) \d+|\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds)\b")
_NAMES_A_PLACE = re.compile(r"[:(]\d+")
_STILL_UNABLE = "As before the change, the tests show nothing here: {}"
_MOST_FAILING = 5_000  # ids that are kept
_SHORT = 500  # characters of the output of commands that is not compared


class Baseline(BaseModel):
    """How the commands of a repository end on the base of a run.

    :param commit: the base.
    :param commands: as they ended, without test cases.
    :param passed: how many tests passed.
    :param failing: ids of the tests that failed twice.
    :param lacks: why its tests show nothing here, one sentence; empty if they do, or if there are none.
    :param is_runnable: whether its tests ran, whatever they showed.
    """

    model_config = ConfigDict(frozen=True)

    commit: str
    commands: tuple[CommandResult, ...] = ()
    passed: int = 0
    failing: tuple[TestId, ...] = ()
    lacks: str = ""
    is_runnable: bool = True

    def list_failed_checks(self) -> tuple[CommandResult, ...]:
        """The commands that failed, of those that build, and check style and types."""
        return tuple(each for each in self.commands if each.kind in _CHECKS and not each.is_successful)


def build_baseline(commit: str, run: TestRun, lacks: str) -> Baseline:
    """The baseline from a run of all tests on the base.

    :param lacks: why they show nothing; empty if they do.
    """
    return Baseline(
        commit=commit,
        commands=tuple(map(_trim, run.commands)),
        passed=sum(case.outcome is CaseOutcome.passed for case in run.cases),
        failing=tuple(case.id for case in run.failures[:_MOST_FAILING]),
        lacks=lacks,
        is_runnable=decide_verdict(run) is not SuiteVerdict.not_run,
    )


def excuse_failures(run: TestRun, base: Baseline) -> TestRun:
    """The run of a head, in which nothing counts that failed in the same way before the change.

    Where the tests of the base showed nothing, and those of the head do not either, it counts as not run, unless a
    check fails that succeeded before.
    """
    run = excuse_known(run, frozenset(base.failing))
    before = {(each.kind, each.line): each for each in base.commands if not each.is_successful}
    commands = tuple(_excuse(each, before.get((each.kind, each.line))) for each in run.commands)
    run = run.model_copy(update={"commands": commands})
    has_failed_check = any(command.kind in _CHECKS for command in run.failed_commands)
    if base.lacks and not run.has_passed_test and not has_failed_check and decide_verdict(run) is SuiteVerdict.failed:
        return run.model_copy(update={"not_run": _STILL_UNABLE.format(base.lacks)[:1_000]})
    return run


def _trim(command: CommandResult) -> CommandResult:
    """The command without its cases. Its output is kept where the head's is compared with it."""
    is_compared = not command.is_successful and not command.cases
    output = command.output if is_compared else command.output[-_SHORT:]
    return command.model_copy(update={"cases": (), "output": output})


def _excuse(command: CommandResult, before: CommandResult | None) -> CommandResult:
    """What failed without a report is excused if it failed before with the same status, and says nothing new."""
    if before is None or command.is_successful or command.cases or command.exit_status != before.exit_status:
        return command
    is_cut = len(before.output) >= LONGEST_OUTPUT  # nobody knows what it said first
    says_more = _count_lines(command.output) - _count_lines(before.output)
    return command if says_more and not is_cut else command.model_copy(update={"is_excused": True})


def _count_lines(output: str) -> Counter[str]:
    """The lines that name a place, without its numbers and without times; all lines if none names one.

    Others sum up ("2 errors") or show the code around.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    placed = [line for line in lines if _NAMES_A_PLACE.search(line)]
    return Counter(_POSITION.sub("", line) for line in placed or lines)
