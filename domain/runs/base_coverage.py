"""The coverage that the tests of a base came to, and whether that of a head can be compared with it."""

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from domain.runs.testing import Coverage, SuiteVerdict, TestRun, decide_verdict

LONGEST_MEASURED = 600.0
"""Seconds. Where the commands of a head took longer, its base is not tested as well, only to be compared."""
QUICK = 60.0
"""Seconds. Where the tests of a base took no longer, all tests of a head run, so that it can be compared."""
_REPORT = re.compile(r"[^\s=:]*/(?:junit|coverage)\.xml")  # in a folder whose name differs from run to run


class BaseCoverage(BaseModel):
    """What the tests of one commit cover.

    :param coverage: None if they left no report.
    :param commands: the lines of the commands that measured it, as they can be compared.
    :param seconds: how long the tests took.
    """

    model_config = ConfigDict(frozen=True)

    commit: str
    coverage: Coverage | None = None
    commands: tuple[str, ...] = ()
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    @property
    def is_quick(self) -> bool:
        """Whether all tests are worth the time, because they can be compared then."""
        return self.coverage is not None and self.seconds <= QUICK


class Obstacle(StrEnum):
    """Why the coverage of a head is not compared with that of its base."""

    selected = "selected"  # only some tests ran
    unproven = "unproven"  # its tests did not pass, or only the second time: what failed runs fewer lines than it will
    no_report = "no_report"  # the base has coverage, the head left no report of it
    unreadable = "unreadable"  # the base has coverage, the head left a report that cannot be read or names no line
    no_base = "no_base"  # the tests of the base left no coverage
    too_slow = "too_slow"  # the base would have to be tested, too, and that takes too long
    other_commands = "other_commands"  # other commands measured the base


def build_base_coverage(commit: str, run: TestRun) -> BaseCoverage:
    """The coverage of a base, from a run of all of its tests."""
    seconds = sum(each.seconds for each in run.commands if each.kind in _MEASURE)
    coverage = run.coverage if has_coverage(run) else None
    return BaseCoverage(commit=commit, coverage=coverage, commands=_list_measuring(run), seconds=seconds)


def has_coverage(run: TestRun) -> bool:
    """Whether its tests left a report that names lines."""
    return run.coverage is not None and run.coverage.lines[1] > 0


def has_bad_report(run: TestRun) -> bool:
    """Whether they left only reports that cannot be read, or that name no line."""
    is_bad = any(command.has_bad_coverage for command in run.commands)
    return (is_bad or run.coverage is not None) and not has_coverage(run)


def is_worth_a_base(run: TestRun) -> bool:
    """Whether the base of a head is to be tested as well, only for its coverage."""
    is_affordable = sum(each.seconds for each in run.commands) <= LONGEST_MEASURED
    return (has_coverage(run) or has_bad_report(run)) and _is_proven(run) and is_affordable


def find_obstacle(run: TestRun, base: BaseCoverage | None) -> Obstacle | None:
    """Why the coverage of a head cannot be compared; None if it can, or if neither side has any.

    :param base: None if it was not measured.
    """
    is_base_measured = base is not None and base.coverage is not None
    left_report = has_coverage(run) or has_bad_report(run)
    if not left_report and not (is_base_measured and run.test_commands):
        return None
    if not _is_proven(run):
        return Obstacle.unproven
    if base is None:
        return Obstacle.too_slow
    if base.coverage is None:
        return Obstacle.no_base if has_coverage(run) else None
    return _find_difference(run, base)


def _find_difference(run: TestRun, base: BaseCoverage) -> Obstacle | None:
    """Why a head cannot be compared with a base that has coverage."""
    if not run.runs_all:
        return Obstacle.selected
    if not has_coverage(run):
        return Obstacle.unreadable if has_bad_report(run) else Obstacle.no_report
    return None if _list_measuring(run) == base.commands else Obstacle.other_commands


_MEASURE = frozenset({"test", "coverage"})


def _list_measuring(run: TestRun) -> tuple[str, ...]:
    return tuple(_REPORT.sub("", each.line) for each in run.commands if each.kind in _MEASURE)


def _is_proven(run: TestRun) -> bool:
    return decide_verdict(run) is SuiteVerdict.passed and not run.flaky
