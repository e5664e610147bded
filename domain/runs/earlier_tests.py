"""How a repository's commands end before a change, and what its tests of then say of the code after it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import Field

from domain.runs.testing import (
    CHECKS,
    CaseOutcome,
    CommandResult,
    SuiteVerdict,
    TestCase,
    TestId,
    TestRun,
    decide_verdict,
    excuse_known,
)
from domain.value import Value

_STILL_UNABLE = "As before the change, the tests show nothing here: {}"
_MOST_FAILING = 5_000  # ids that are kept
_SHORT = 500  # characters of an output that are kept: its lines are compared


MOST_TOLD = 100
"""Tests that are told one by one; of those that hold, only how many."""
MOST_NAMED = 5
"""Removed tests that are named."""
LONGEST_LINE = 500
"""Characters of a line that is shown."""
LONGEST_CELL = 160
"""Characters of a line in a table: a longer one is not shown there, as a part of it may say something else."""


class EarlierOutcome(StrEnum):
    """How a test that passed before the change ends on the new code."""

    holds = "holds"  # it passes: whatever became of it hides nothing
    gone = "gone"  # it cannot be loaded, because what it names is gone from the program
    lost = "lost"  # it fails, and nothing in its place demands the same
    changed = "changed"  # it fails, and the same test passes with another expectation
    open = "open"  # it fails, and so does what stands in its place: everybody sees that
    unknown = "unknown"  # it failed before, passed and failed on the same code, or could not be run


class Fate(StrEnum):
    """What a change did to a test."""

    removed = "removed"  # it is gone
    unreached = "unreached"  # it is there, and nothing runs it any more
    hushed = "hushed"  # it fails, and its runner is made to say that nothing failed
    skipped = "skipped"  # it is there and is skipped, or expected to fail
    rewritten = "rewritten"  # its own text differs
    surroundings = "surroundings"  # its text is the same; a helper, fixture, snapshot or setting of it differs
    noticed = "noticed"  # it failed, and passes now only because the program finds out that a test runs it


class EarlierTest(Value):
    """One test as it stood before the change.

    :param id: as its runner names it.
    :param path: of its file before the change.
    :param line: of the test there, from 1; None if unknown.
    :param demanded: the lines that demanded what does not hold any more.
    :param now: the lines that stand in their place.
    :param shared_path: of the file that these lines are in, where tests share it; None if they are the test's own.
    :param is_blind: whether what stands in its place passes on the code of before as well.
    :param culprits: the places of the program, as they were, for which it fails, as far as they were looked for.
    :param output: the last lines that it printed on the new code.
    :param names: what it names and the program has no more, for people.
    :param head_path: of the file it is in after the change; None if it is in none.
    :param head_line: of the test there, from 1.
    """

    id: TestId
    path: str
    line: int | None = None
    outcome: EarlierOutcome
    fate: Fate
    demanded: tuple[str, ...] = ()
    now: tuple[str, ...] = ()
    shared_path: str | None = None
    is_blind: bool = False
    culprits: tuple[str, ...] = ()
    output: str = Field(default="", max_length=2_000)
    names: tuple[str, ...] = ()
    head_path: str | None = None
    head_line: int | None = None


class RemovedTest(Value):
    """A test that a change removes and that nobody ran.

    :param path: of its file before the change.
    """

    name: str
    path: str


class EarlierTests(Value):
    """The earlier tests of one change, on its code.

    :param tests: those that do not hold, the most telling first.
    :param holding: how many hold.
    :param left_out: how many were not run, because their files are too many.
    :param untold: of how many it is known that they do not hold, beyond those that are told one by one.
    :param not_run: why tests could not be run and what would make them run, one sentence each; empty if all were.
    :param lacks: why no test of the head can run, whatever a change touches, as a clause; empty where nobody knows.
    :param seconds: of the sandbox.
    :param removed: the first of those that are removed and were not run; :param removed_count: how many there are.
    """

    tests: tuple[EarlierTest, ...] = Field(default=(), max_length=MOST_TOLD)
    holding: int = Field(default=0, ge=0)
    left_out: int = Field(default=0, ge=0)
    untold: int = Field(default=0, ge=0)
    not_run: tuple[str, ...] = ()
    lacks: str = ""
    seconds: float = Field(default=0.0, ge=0)
    removed: tuple[RemovedTest, ...] = Field(default=(), max_length=MOST_NAMED)
    removed_count: int = Field(default=0, ge=0)

    def select(self, *outcomes: EarlierOutcome) -> tuple[EarlierTest, ...]:
        """Those that ended in one of some ways."""
        return tuple(each for each in self.tests if each.outcome in outcomes)

    @property
    def lost(self) -> tuple[EarlierTest, ...]:
        """The one thing worth saying: each hides a failure, unless it was meant."""
        return self.select(EarlierOutcome.lost)

    @property
    def changed(self) -> tuple[EarlierTest, ...]:
        """Behaviour that tests show to have changed."""
        return self.select(EarlierOutcome.changed)

    @property
    def obligations(self) -> tuple[EarlierTest, ...]:
        """What an agent may not leave behind: it mends its code, or people say that it was meant.

        That it took the code away with the test, or that a test of its own demands the contrary, excuses only people.
        """
        return (*self.lost, *(each for each in self.changed if each.is_blind or each.culprits))


class BaseRun(Value):
    """How tests ended on the code they were written for, each time they ran: none failed, and nothing was lacking.

    :param cases: those that passed and those that are skipped, without texts.
    """

    cases: tuple[TestCase, ...] = Field(min_length=1)


NOTHING_EARLIER = EarlierTests()
"""A change that touches no test."""


def list_gone_names(tests: Iterable[EarlierTest], outcome: EarlierOutcome = EarlierOutcome.gone) -> tuple[str, ...]:
    """What the program has no more that tests of one outcome name, each once, in the order of the tests."""
    return tuple(dict.fromkeys(name for each in tests if each.outcome is outcome for name in each.names))


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
