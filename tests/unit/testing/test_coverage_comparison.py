"""What a change does to the coverage: lines that stay and lost their test, and honest changes that lose nothing."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.testing.coverage import find_coverage_loss
from domain.review.avoidance import CERTAIN, Avoidance, AvoidanceKind
from domain.review.changes import Change, TouchedFile
from domain.review.findings import Severity
from domain.runs.coverage import CoverageComparison, compare_coverage
from domain.runs.testing import Coverage, FileCoverage
from tests.unit.checks.building import change_of, file_change

OLD = "".join(f"a{line} = {line}\n" for line in range(1, 41))
MEASURED = {"a.py": (range(1, 41), ())}
NOTHING, _ = change_of({})


Measured = Mapping[str, tuple[object, object]]


def cover(files: Measured) -> Coverage:
    """:param files: path → (lines that ran, lines that did not)."""
    return Coverage.model_validate(
        {"files": [{"path": path, "covered": ran, "missed": idle} for path, (ran, idle) in files.items()]}
    )


def compare(before: Measured, after: Measured, change: Change = NOTHING) -> CoverageComparison:
    return compare_coverage(cover(before), cover(after), change)


def find(compared: CoverageComparison, *found: Avoidance, asked: str = "") -> Avoidance:
    lost = find_coverage_loss(compared, found, asked)
    assert lost is not None
    return lost


def build_avoidance(excuse: str, kind: AvoidanceKind = AvoidanceKind.failure_hidden) -> Avoidance:
    return Avoidance(kind=kind, path="tests/test_a.py", what="Gone.", confidence=0.9, excuse=excuse)


LOST = compare(MEASURED, {"a.py": (range(1, 31), range(31, 41))})


def plain_delta(compared: CoverageComparison) -> float:
    """How the share of the whole program changed, in percentage points: what a report alone would say."""
    return round(compared.after.percent - compared.before.percent, 2)


def test_lines_that_stay_and_that_no_test_runs_any_more_are_lost() -> None:
    assert (plain_delta(LOST), LOST.fall, LOST.lost, LOST.is_lost) == (-25.0, 25.0, 10, True)
    lost = find(LOST)
    assert (lost.kind, lost.path, lost.line) == (AvoidanceKind.coverage_lost, "a.py", 31)
    assert (lost.confidence, lost.severity) == (0.9, Severity.error)
    assert lost.what == (
        "The coverage of what stays and what is new fell by 25.0 points (that of the whole program went from "
        "100.0 % to 75.0 %): in `a.py` no test runs lines 31–40 any more."
    )


def test_the_file_that_lost_most_is_the_place() -> None:
    compared = compare(
        {"a.py": (range(1, 41), ()), "b.py": (range(1, 41), ()), "c.py": (range(1, 41), ())},
        {"a.py": (range(4, 41), (1, 2, 3)), "b.py": (range(9, 41), range(1, 9)), "c.py": (range(1, 41), ())},
    )
    assert [(each.path, each.lines) for each in compared.losses] == [("b.py", 8), ("a.py", 3)]
    assert (find(compared).path, find(compared).line) == ("b.py", 1)
    assert find(compared).severity is Severity.warning


def change(**versions: tuple[str | None, str | None]) -> Change:
    """:param versions: of files of Python, by their names without suffix."""
    return change_of({f"{name}.py": each for name, each in versions.items()})[0]


LINES = OLD.splitlines(keepends=True)
LAST_LOST = {"a.py": (range(1, 31), range(31, 41))}
OTHER = {"b.py": ((1,), (2, 3))}
IDLE = {"b.py": ((), range(1, 14))}
TESTS = {"tests/test_a.py": (range(1, 90), ())}
COMPARED: dict[str, tuple[Measured, Measured, Change, dict[str, float]]] = {
    "covered code goes with its tests, and no line lost its test": (
        {**MEASURED, **IDLE, **TESTS},
        {"a.py": (range(1, 11), ()), **IDLE},
        change(a=(OLD, "".join(LINES[30:]))),
        {"plain": -31.99, "fall": 0.0, "lost": 0, "is_lost": False},
    ),
    "a whole file goes": ({**MEASURED, **OTHER}, OTHER, change(a=(OLD, None)), {"lost": 0, "is_lost": False}),
    "uncovered code goes, and the tests of what stays as well": (
        {**MEASURED, "b.py": ((), range(1, 41))},
        LAST_LOST,
        change(b=(OLD, None)),
        {"plain": 25.0, "fall": 12.5, "is_lost": True},
    ),
    "new covered code hides no loss": (
        MEASURED,
        {"a.py": (range(1, 36), range(36, 41)), "b.py": (range(1, 801), ())},
        change(b=(None, OLD * 20)),
        {"plain": -0.6, "fall": 12.5, "is_lost": True},
    ),
    "of code written anew three of five lines that stay lost their test, which is nothing of the program": (
        {"a.py": ((*range(1, 6), *range(6, 106)), range(106, 201))},
        {"a.py": ((1, 2, *range(6, 110)), (3, 4, 5, *range(110, 201)))},
        change(a=(OLD * 5, "".join(LINES[:5]) + "new = 1\n" * 195)),
        {"kept": 5, "lost": 3, "delta": -1.5, "is_lost": False},
    ),
    "a change that was not read": (
        MEASURED,
        {"a.py": ((), range(1, 41))},
        NOTHING.model_copy(update={"touched": (TouchedFile(path="a.py"),)}),
        {"unknown": 1, "lost": 0, "is_lost": False},
    ),
    "a new test imports a file first, whose lines count from now on": (
        MEASURED,
        {**MEASURED, "old.py": ((1,), range(2, 400))},
        NOTHING,
        {"plain": -90.66, "delta": 0.0, "is_lost": False},
    ),
    "left out of the measurement, as by a comment": (
        MEASURED,
        {"a.py": (range(1, 31), ())},
        NOTHING,
        {"left_out": 10, "lost": 0, "is_lost": False},
    ),
    "tests are no part of the program": (
        {**MEASURED, **TESTS},
        MEASURED,
        change_of({"tests/test_a.py": (OLD, None)})[0],
        {"whole": 40, "plain": 0.0, "is_lost": False},
    ),
    "lines beyond a file raise the plain share only": (
        MEASURED,
        {"a.py": (range(11, 9_000), range(1, 11))},
        NOTHING,
        {"plain": -0.11, "is_lost": True},
    ),
    "better tests": (LAST_LOST, MEASURED, NOTHING, {"delta": 25.0, "plain": 25.0, "fall": 0.0}),
}


@pytest.mark.parametrize("told", COMPARED)
def test_what_counts_as_a_loss(told: str) -> None:
    """Whatever the share of the whole program says."""
    before, after, made, expected = COMPARED[told]
    compared = compare(before, after, made)
    counted = {"kept": compared.kept_before.total, "whole": compared.before.total, "plain": plain_delta(compared)}
    assert {name: counted[name] if name in counted else getattr(compared, name) for name in expected} == expected
    assert (find_coverage_loss(compared, ()) is None) is not compared.is_lost


def test_lines_are_followed_through_the_change() -> None:
    """Ten lines come in at the top, one is changed, and five at the end lose their test."""
    lines = OLD.splitlines(keepends=True)
    head = "".join(["new = 1\n"] * 10 + lines[:19] + ["a20 = 'changed'\n"] + lines[20:])
    change, _ = change_of({"a.py": (OLD, head)})
    compared = compare(MEASURED, {"a.py": (range(1, 46), range(46, 51))}, change)
    assert (compared.kept_before.total, compared.added.total) == (39, 11)
    assert compared.losses[0].lost == (46, 47, 48, 49, 50)
    assert compared.losses[0].uncovered == ()


def test_a_renamed_file_is_followed() -> None:
    renamed = file_change("b.py", OLD, OLD + "last = 1\n").model_copy(update={"old_path": "a.py", "status": "renamed"})
    change = NOTHING.model_copy(
        update={"files": (renamed,), "touched": (TouchedFile(path="b.py", old_path="a.py", lines=1),)}
    )
    compared = compare(MEASURED, {"b.py": (range(1, 31), range(31, 42))}, change)
    assert (compared.losses[0].path, compared.lost) == ("b.py", 10)


def test_a_file_that_the_report_does_not_name_any_more_is_lost() -> None:
    """As where nothing imports it: coverage.py names files that ran only."""
    compared = compare({**MEASURED, "b.py": (range(1, 61), ())}, {"b.py": (range(1, 61), ())})
    assert (compared.lost, compared.losses[0].is_unnamed) == (40, True)
    assert CERTAIN <= find(compared).confidence < 0.9
    assert "the report does not name it any more" in find(compared).what


@pytest.mark.parametrize(
    ("lines", "lost", "is_lost"),
    [
        (100, 2, False),  # 2 points are tolerated
        (100, 3, True),
        (1_000, 20, False),
        (1_000, 21, True),
        (20, 2, False),  # so few lines are no loss, however small the program is
        (20, 3, True),
    ],
)
def test_more_than_two_points_are_lost(lines: int, lost: int, is_lost: bool) -> None:
    after = {"a.py": (range(1, lines - lost + 1), range(lines - lost + 1, lines + 1))}
    assert compare({"a.py": (range(1, lines + 1), ())}, after).is_lost is is_lost


@pytest.mark.parametrize(
    ("new", "covered", "is_lost"),
    [
        (9, 0, False),  # too few lines, although the share falls by 8 points
        (10, 0, True),
        (40, 30, True),
        (40, 38, False),
    ],
)
def test_much_new_code_without_tests_is_a_loss(new: int, covered: int, is_lost: bool) -> None:
    code = "".join(f"b{line} = {line}\n" for line in range(new))
    change, _ = change_of({"b.py": (None, code)})
    measured = {"a.py": (range(1, 101), ())}
    compared = compare(measured, {**measured, "b.py": (range(1, covered + 1), range(covered + 1, new + 1))}, change)
    assert compared.is_lost is is_lost
    if is_lost:
        assert (find(compared).path, find(compared).line) == ("b.py", covered + 1)
        assert CERTAIN <= find(compared).confidence < 0.9


@pytest.mark.parametrize(
    ("asked", "is_excused"),
    [
        ("The coverage may fall a little here.", True),
        ("Go on.\nWe accept a lower coverage.", True),
        ("It is generated code, so its coverage will drop.", True),
        ("The coverage may not fall.", False),
        ("Raise the coverage.", False),
        ("Never accept lower coverage.", False),
    ],
)
def test_people_may_let_it_fall(asked: str, is_excused: bool) -> None:
    assert find(LOST, asked=asked).excuse == ("People said that the coverage may fall." if is_excused else "")


def test_tests_that_people_asked_to_remove_excuse_what_they_ran() -> None:
    asked = build_avoidance("Its removal was asked for.")
    assert (
        find(LOST, asked, build_avoidance("An equal test stays.")).excuse == "The removal of its tests was asked for."
    )
    assert not find(LOST, build_avoidance("An equal test stays.")).excuse
    assert not find(LOST, asked, build_avoidance("")).excuse
    assert not find(LOST, build_avoidance("It was asked for.", AvoidanceKind.failure_ignored)).excuse


_LINES = st.sets(st.integers(1, 60), max_size=30)


@given(_LINES, _LINES, _LINES, _LINES, st.integers(0, 40))
def test_any_reports_can_be_compared(ran: set[int], idle: set[int], runs: set[int], rests: set[int], cut: int) -> None:
    change, _ = change_of({"a.py": (OLD, "".join(OLD.splitlines(keepends=True)[cut:]) + "last = 1\n")})
    before = FileCoverage(path="a.py", covered=tuple(sorted(ran)), missed=tuple(sorted(idle - ran)))
    after = FileCoverage(path="a.py", covered=tuple(sorted(runs)), missed=tuple(sorted(rests - runs)))
    compared = compare_coverage(Coverage(files=(before,)), Coverage(files=(after,)), change)
    assert 0 <= compared.fall <= 100
    assert -100 <= plain_delta(compared) <= 100
    assert compared.fall == max(-compared.delta, 0)
    assert compared.kept_after.covered >= compared.kept_before.covered - compared.lost
    if not ran:
        assert not compared.lost


@given(st.integers(0, 12), st.sets(st.integers(0, 39)), st.integers(1, 60))
def test_lines_are_followed_as_one_by_one(added: int, removed: set[int], line: int) -> None:
    """What is measured is where :meth:`FileChange.head_line` says it is."""
    kept = [text for at, text in enumerate(OLD.splitlines(keepends=True)) if at not in removed]
    change, _ = change_of({"a.py": (OLD, "".join([*kept[:5], *(["new = 1\n"] * added), *kept[5:]]))})
    at = change.files[0].head_line(line)
    compared = compare({"a.py": ((line,), ())}, {"a.py": ((), range(1, 120))}, change)
    assert [each.lost for each in compared.losses if each.lost] == ([] if at is None else [(at,)])
