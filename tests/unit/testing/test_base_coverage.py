"""When the coverage of a head can be compared with that of its base, and what is said where it cannot."""

import pytest

from domain.runs.coverage import (
    LONGEST_MEASURED,
    QUICK,
    BaseCoverage,
    Obstacle,
    build_base_coverage,
    find_obstacle,
    is_worth_a_base,
)
from domain.runs.testing import CaseOutcome, Coverage, FileCoverage, TestRun
from tests.unit.testing.forging import case, command, run

COVERED = Coverage(files=(FileCoverage(path="a.py", covered=(1, 2), missed=(3,)),))
EMPTY = Coverage(files=(FileCoverage(path="a.py"),))
LINE = "pytest --junit-xml=/tmp/{}/junit.xml --cov-report=xml:/tmp/{}/coverage.xml"


def build_run(**more: object) -> TestRun:
    usual = {"coverage": COVERED, "runs_all": True}
    return run(command(0, case("t"), line=LINE.format("a", "a"), seconds=2.0), **{**usual, **more})


BASE = build_base_coverage("b" * 40, run(command(0, case("t"), line=LINE.format("b", "b")), coverage=COVERED))
UNMEASURED = BaseCoverage(commit="b" * 40)
FAILED = run(command(1, case("t", CaseOutcome.failed)), coverage=COVERED, runs_all=True)
BAD_REPORT = run(command(0, case("t"), has_bad_coverage=True), runs_all=True)


@pytest.mark.parametrize(
    ("head", "base", "expected"),
    [
        (build_run(), BASE, None),
        (build_run(), None, Obstacle.too_slow),
        (build_run(), UNMEASURED, Obstacle.no_base),
        (build_run(runs_all=False), BASE, Obstacle.selected),
        (build_run(flaky=("t",)), BASE, Obstacle.unproven),
        (FAILED, BASE, Obstacle.unproven),
        (FAILED, None, Obstacle.unproven),
        (build_run(coverage=None), BASE, Obstacle.no_report),
        (build_run(coverage=EMPTY), BASE, Obstacle.unreadable),
        (BAD_REPORT, BASE, Obstacle.unreadable),
        (BAD_REPORT, UNMEASURED, None),
        (build_run(coverage=None), None, None),  # neither side has any: nothing to say
        (build_run(coverage=None), UNMEASURED, None),
        (TestRun(is_unconcerned=True), BASE, None),
        (build_run(), BASE.model_copy(update={"commands": ("make test",)}), Obstacle.other_commands),
    ],
)
def test_only_like_is_compared_with_like(head: TestRun, base: BaseCoverage | None, expected: Obstacle | None) -> None:
    assert find_obstacle(head, base) is expected


def test_a_base_without_coverage_is_known_to_have_none() -> None:
    base = build_base_coverage("b" * 40, build_run(coverage=EMPTY))
    assert (base.coverage, base.seconds, base.is_quick) == (None, 2.0, False)


def test_a_base_is_tested_as_well_where_that_is_worth_it() -> None:
    slow = command(0, case("t"), seconds=LONGEST_MEASURED + 1)
    assert is_worth_a_base(build_run())
    assert is_worth_a_base(build_run(runs_all=False))
    assert not is_worth_a_base(run(slow, coverage=COVERED))
    assert not is_worth_a_base(build_run(coverage=None))
    assert not is_worth_a_base(FAILED)
    assert is_worth_a_base(BAD_REPORT)


@pytest.mark.parametrize(("seconds", "is_quick"), [(QUICK, True), (QUICK + 1, False)])
def test_quick_tests_are_all_run(seconds: float, is_quick: bool) -> None:
    assert BASE.model_copy(update={"seconds": seconds}).is_quick is is_quick
