"""Compares the coverage of a head with that of its base, line by line: what did code that stays lose?"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

from pydantic import Field

from domain.paths import is_test
from domain.review.changes import Change, ChangeStatus, FileChange
from domain.runs.testing import Coverage, FileCoverage, Line, Path, SuiteVerdict, TestRun, decide_verdict
from domain.value import Value

LONGEST_MEASURED = 600.0
"""Seconds. Where the commands of a head took longer, its base is not tested as well, only to be compared."""
QUICK = 60.0
"""Seconds. Where the tests of a base took no longer, all tests of a head run, so that it can be compared."""
_REPORT = re.compile(r"[^\s=:]*/(?:junit|coverage)\.xml")  # in a folder whose name differs from run to run


class BaseCoverage(Value):
    """What the tests of one commit cover.

    :param coverage: None if they left no report.
    :param commands: the lines of the commands that measured it, as they can be compared.
    :param seconds: how long the tests took.
    """

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


TOLERATED = 2.0
"""So many percentage points may be lost."""
FEW_LINES = 3
"""Fewer lines that lost their test are no loss, however small the program is."""
MANY_LINES = 10
"""So many lines that no test runs, new ones among them, are a loss if the share falls by more than is tolerated."""
_MOST_FILES = 20
_DIGITS = 6  # so that 100 % less 98 % are not more than 2 points


class CoveredShare(Value):
    """Lines that tests run, of those that could run."""

    covered: int = Field(default=0, ge=0)
    total: int = Field(default=0, ge=0)

    @property
    def percent(self) -> float:
        """From 0 to 100; 100 of nothing."""
        return 100.0 if not self.total else 100.0 * self.covered / self.total

    def __add__(self, other: "CoveredShare") -> "CoveredShare":
        return CoveredShare(covered=self.covered + other.covered, total=self.total + other.total)


class FileLoss(Value):
    """What one file lost.

    :param path: at head.
    :param lost: lines at head that stayed as they were and that no test runs any more, ascending.
    :param uncovered: lines that the change adds and no test runs, ascending.
    :param is_unnamed: the report of the head does not name the file any more.
    """

    path: Path
    lost: tuple[Line, ...] = ()
    uncovered: tuple[Line, ...] = ()
    is_unnamed: bool = False

    @property
    def lines(self) -> int:
        return len(self.lost) + len(self.uncovered)


class CoverageComparison(Value):
    """The coverage of the program, which is every file that holds no tests, before and after a change.

    :param before: of the base; :param after: of the head.
    :param kept_before: of the lines that stay as they were and that both reports measure, before the change.
    :param kept_after: the same lines after it.
    :param added: the lines that the change adds.
    :param losses: the files that lost most first.
    :param lost: lines that stay and lost their test, in all files.
    :param left_out: covered lines that stay, in files that are measured, and are not measured any more.
    :param unknown: measured files of the base whose change could not be read.
    """

    before: CoveredShare
    after: CoveredShare
    kept_before: CoveredShare
    kept_after: CoveredShare
    added: CoveredShare = CoveredShare()
    losses: tuple[FileLoss, ...] = ()
    lost: int = 0
    left_out: int = 0
    unknown: int = 0

    @property
    def delta(self) -> float:
        """How the share changed where like can be compared with like, in percentage points.

        Code that is removed counts neither before nor after. New code counts where it lowers the share, so that it
        makes up for nothing that was lost.
        """
        return min(self._delta_of_kept, self._delta_with_new)

    @property
    def fall(self) -> float:
        """By how many points the share fell; never below 0."""
        return max(-self.delta, 0.0)

    @property
    def is_lost(self) -> bool:
        """Whether code that stays lost its tests, or new code came without, to more than is tolerated."""
        is_of_kept = self._delta_of_kept < -TOLERATED and self.lost >= FEW_LINES
        uncovered = self.added.total - self.added.covered
        return is_of_kept or (self._delta_with_new < -TOLERATED and self.lost + uncovered >= MANY_LINES)

    @property
    def _delta_of_kept(self) -> float:
        """What the lines that stay gained or lost, beside the whole program: of a rewritten one few lines stay."""
        gained = self.kept_after.covered - self.kept_before.covered
        return round(100.0 * gained / self.before.total, _DIGITS) if self.before.total else 0.0

    @property
    def _delta_with_new(self) -> float:
        """The share of what stays and what is new, beside that of the program or of what stays: the lower of both.

        Well covered code that is removed lowers the former, badly covered code that is rewritten the latter.
        """
        if not self.before.total:
            return 0.0
        before = min(self.before.percent, self.kept_before.percent)
        return round((self.kept_after + self.added).percent - before, _DIGITS)


def compare_coverage(base: Coverage, head: Coverage, change: Change) -> CoverageComparison:
    """The coverage before and after a change.

    :param base: of the merge base of the change, with all tests; :param head: of its head, with all tests.
    """
    kept = [_compare_lines(*each) for each in _pair_files(base, head, change)]
    changed = {file.path: file.added_lines.keys() for file in change.files}
    added = [_select(file, changed[file.path]) for file in _list_program(head) if file.path in changed]
    losses = {each.path: FileLoss(path=each.path, lost=each.lost, is_unnamed=each.is_unnamed) for each in kept}
    losses |= {
        each.path: losses.get(each.path, FileLoss(path=each.path)).model_copy(update={"uncovered": each.missed})
        for each in added
    }
    ordered = sorted((each for each in losses.values() if each.lines), key=lambda each: (-each.lines, each.path))
    return CoverageComparison(
        before=_count(_list_program(base)),
        after=_count(_list_program(head)),
        kept_before=CoveredShare(covered=sum(each.ran_before for each in kept), total=sum(each.total for each in kept)),
        kept_after=CoveredShare(covered=sum(each.ran_after for each in kept), total=sum(each.total for each in kept)),
        added=_count(added),
        losses=tuple(ordered[:_MOST_FILES]),
        lost=sum(len(each.lost) for each in kept),
        left_out=sum(each.left_out for each in kept),
        unknown=len(_find_unread(change) & {file.path for file in _list_program(base)}),
    )


class _KeptLines(Value):
    """The lines of one file that stay and that both reports measure; see :class:`CoverageComparison`."""

    path: Path
    total: int
    ran_before: int
    ran_after: int
    lost: tuple[int, ...]
    left_out: int
    is_unnamed: bool


def _pair_files(
    base: Coverage, head: Coverage, change: Change
) -> Iterator[tuple[FileCoverage, str, FileCoverage | None, "_LineMap"]]:
    """Each file of the base that stays: its coverage, its path at head, its coverage there, and where its lines are."""
    named = {file.path: file for file in _list_program(head)}
    changed = {file.old_path or file.path: file for file in change.files if file.status is not ChangeStatus.added}
    gone = {each.path for each in change.touched if each.is_gone} | _find_unread(change)
    for file in _list_program(base):
        there = changed.get(file.path)
        if there is not None and there.status is not ChangeStatus.deleted:
            yield file, there.path, named.get(there.path), _LineMap(there)
        elif there is None and file.path not in gone:
            yield file, file.path, named.get(file.path), _LineMap(None)


def _compare_lines(before: FileCoverage, path: str, after: FileCoverage | None, lines: "_LineMap") -> _KeptLines:
    ran = {at for line in before.covered if (at := lines.find(line)) is not None}
    idle = {at for line in before.missed if (at := lines.find(line)) is not None}
    stays = ran | idle
    runs = frozenset[int](() if after is None else after.covered)
    rests = frozenset(stays if after is None else after.missed)
    measured = stays & (runs | rests)
    return _KeptLines(
        path=path,
        total=len(measured),
        ran_before=len(measured & ran),
        ran_after=len(measured & runs),
        lost=tuple(sorted((measured & ran) - runs)),
        left_out=len(ran - measured),
        is_unnamed=after is None,
    )


class _LineMap:
    """Where the lines of a file are after a change; as :meth:`FileChange.head_line`, but quick for many lines."""

    def __init__(self, file: FileChange | None) -> None:
        hunks = () if file is None else file.hunks
        self._shown = {old: new for hunk in hunks for old, new, _ in hunk.number_lines() if old is not None}
        self._ends = [hunk.old_start + (hunk.old_length or 1) for hunk in hunks]
        self._shifts = [
            hunk.new_start + (hunk.new_length or 1) - end for hunk, end in zip(hunks, self._ends, strict=True)
        ]

    def find(self, line: int) -> int | None:
        """The line at head; None if it is gone."""
        if line in self._shown:
            return self._shown[line]
        behind = bisect_right(self._ends, line)
        return line + (self._shifts[behind - 1] if behind else 0)


def _find_unread(change: Change) -> frozenset[str]:
    """Files whose lines cannot be followed, since their change was not read: their paths at the base."""
    read = {file.path for file in change.files}
    unread = [each for each in change.touched if each.path not in read and not each.is_gone]
    return frozenset(each.old_path or each.path for each in unread)


def _select(file: FileCoverage, lines: Collection[int]) -> FileCoverage:
    covered = frozenset(file.covered).intersection(lines)
    missed = frozenset(file.missed).intersection(lines) - covered
    return FileCoverage(path=file.path, covered=tuple(sorted(covered)), missed=tuple(sorted(missed)))


def _list_program(coverage: Coverage) -> list[FileCoverage]:
    """The files that hold no tests."""
    return [file for file in coverage.files if not is_test(file.path)]


def _count(files: Sequence[FileCoverage]) -> CoveredShare:
    covered = sum(len(file.covered) for file in files)
    return CoveredShare(covered=covered, total=covered + sum(len(file.missed) for file in files))
