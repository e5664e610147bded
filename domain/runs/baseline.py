"""The baseline of a run: how the repository's commands end before anything is changed."""

from collections import Counter
from collections.abc import Sequence

from domain.runs.testing import (
    CHECKS,
    CaseOutcome,
    CommandResult,
    SuiteVerdict,
    TestId,
    TestRun,
    decide_verdict,
    excuse_known,
)
from domain.value import Value

_STILL_UNABLE = "As before the change, the tests show nothing here: {}"
_MOST_FAILING = 5_000  # ids that are kept
_SHORT = 500  # characters of an output that are kept: its lines are compared


class Baseline(Value):
    """How the commands of a repository end on the base of a run.

    :param commit: the base.
    :param commands: as they ended, without test cases.
    :param passed: how many tests passed.
    :param failing: ids of the tests that failed twice.
    :param lacks: why its tests show nothing here, one sentence; empty if they do, or if there are none.
    :param is_runnable: whether its tests ran, whatever they showed.
    """

    commit: str
    commands: tuple[CommandResult, ...] = ()
    passed: int = 0
    failing: tuple[TestId, ...] = ()
    lacks: str = ""
    is_runnable: bool = True

    def list_failed_checks(self) -> tuple[CommandResult, ...]:
        """The commands that failed, of those that build, and check style and types."""
        return tuple(each for each in self.commands if each.kind in CHECKS and not each.is_successful)


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
    run = forget_output(run.model_copy(update={"commands": commands}))
    has_failed_check = any(command.kind in CHECKS for command in run.failed_commands)
    if base.lacks and not run.has_passed_test and not has_failed_check and decide_verdict(run) is SuiteVerdict.failed:
        return run.model_copy(update={"not_run": _STILL_UNABLE.format(base.lacks)[:1_000]})
    return run


def excuse_commands(run: TestRun, before: Sequence[CommandResult]) -> TestRun:
    """The run of a head, in which no command counts that names no tests and fails in the same way without the change.

    :param before: the same commands without the change.
    """
    failed = {(each.kind, each.line): each for each in before if not each.is_successful and not each.cases}
    commands = tuple(_excuse(each, failed.get((each.kind, each.line))) for each in run.commands)
    return run.model_copy(update={"commands": commands})


def forget_output(run: TestRun) -> TestRun:
    """The run without what only a comparison needs."""
    return run.model_copy(
        update={"commands": tuple(each.model_copy(update={"mistakes": None, "digest": ""}) for each in run.commands)}
    )


def _trim(command: CommandResult) -> CommandResult:
    """The command without its cases and most of its output."""
    return command.model_copy(update={"cases": (), "output": command.output[-_SHORT:]})


def _excuse(command: CommandResult, before: CommandResult | None) -> CommandResult:
    """What failed without a report is excused if it failed before with the same status, and says nothing new.

    A check may name fewer mistakes than before. Tests must say the same: a line that is new or gone may be a failure,
    and nobody knows which lines tell one. Where one of both said more than is compared, nobody knows; neither where
    tests say nothing at all.
    """
    if before is None or command.is_successful or command.cases or command.exit_status != before.exit_status:
        return command
    if command.kind in CHECKS:
        is_known = command.mistakes is not None and before.mistakes is not None
        is_excused = is_known and not Counter(command.mistakes) - Counter(before.mistakes)
    else:
        is_excused = bool(command.digest) and command.digest == before.digest
    return command.model_copy(update={"is_excused": True}) if is_excused else command
