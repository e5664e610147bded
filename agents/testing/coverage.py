"""Reads coverage reports, and says what they tell of a change: tests that it lacks, and tests that it lost.

A report is untrusted; it is in Cobertura's format, as coverage.py writes it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from pydantic import Base64UrlBytes

from agents.testing.junit import parse_number, read_xml, to_repository_path
from domain.errors import ToolError
from domain.paths import is_manifest, is_source, is_test
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity
from domain.runs.coverage import CoverageComparison, FileLoss
from domain.runs.patches import RequiredFix
from domain.runs.testing import (
    LAST_LINE,
    LONGEST_PATH,
    Coverage,
    DiffCoverage,
    FileCoverage,
    SuiteVerdict,
    TestRun,
    decide_verdict,
)
from messages.tests import format_ranges

MOST_FILES = 20_000
MOST_LINES = 1_000_000
_MOST_SOURCES = 50
_BRANCHES = re.compile(r"\((\d{1,6})/(\d{1,6})\)", re.ASCII)

_CERTAIN, _LIKELY = 0.9, 0.75
_MUCH = 10.0
"""Percentage points from which it is an error."""
_NAMED = 3  # files
_TAKEN = frozenset({AvoidanceKind.failure_hidden, AvoidanceKind.test_skipped})
_ASKED = "asked for"  # in the excuse of a removal that people asked for
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_MAY_FALL = re.compile(
    r"\bcoverage\b.{0,40}\b(may|can|might|will) (\w+ )?(fall|drop|sink|decrease|shrink|go down|be lower)\b|"
    r"\b(accept|allow|tolerate)\w*\b.{0,40}\b(lower|less|loss|lost|falling|fall|drop)\b.{0,20}\bcoverage\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(not|never|no|nor|without)\b|n't\b", re.IGNORECASE)
UNREADABLE = Avoidance(
    kind=AvoidanceKind.coverage_lost,
    path="",
    what="The tests left a coverage report that cannot be read or names no line, so nobody knows what they run now.",
    confidence=_LIKELY,
)
"""Where the base has coverage: otherwise a broken report would be a way past the comparison."""

MISSING = "tests.missing"
FEW_LINES = 3
"""A file with fewer uncovered lines has few: mostly a guard against the impossible, or a line for logs."""
SMALL_SHARE = 0.1
"""Files with few uncovered lines pass if those lines together are below this share of the added lines.

Tests for the last tenth cost more than they find. In a small change, one line is more than that and is reported.
"""
MAX_FILES = 20  # one attempt cannot fix more

_IS_SET_UP = re.compile(
    r"(^|/)(conftest|noxfile|fabfile|dodo)\.py$|(^|/)[^/]+\.(config|conf|setup)\.\w+$|(^|/)\.|\.d\.ts$"
)


def find_missing_tests(run: TestRun, changed: Sequence[str]) -> tuple[RequiredFix, ...]:
    """The tests that are missing.

    Nothing is reported if tests failed, because a failing test runs fewer lines than it will. Nor is a file that the
    coverage report does not name: the report may leave it out for a reason.

    :param changed: changed paths that exist at head; only these are reported.
    """
    sources = [path for path in dict.fromkeys(changed) if wants_tests(path)]
    match decide_verdict(run):
        case SuiteVerdict.no_tests:
            found = [
                RequiredFix(path=path, rule=MISSING, message=_NO_TEST) for path in sources if not _only_joins(path)
            ]
        case SuiteVerdict.passed if run.diff_coverage is not None:
            found = list(_find_uncovered(run.diff_coverage, frozenset(sources)))
        case _:
            return ()
    return tuple(found[:MAX_FILES])


_NO_TEST = "No test covers this file, and the repository has none at all: add tests for what it does."


def wants_tests(path: str) -> bool:
    """Whether a file is code of the program itself: no test, manifest or configuration of a tool."""
    return is_source(path) and not is_test(path) and not is_manifest(path) and _IS_SET_UP.search(path) is None


def _only_joins(path: str) -> bool:
    """Whether a file mostly is empty or only imports others; without coverage, Forge cannot tell."""
    return path.rsplit("/", 1)[-1] == "__init__.py"


def _find_uncovered(coverage: DiffCoverage, sources: Collection[str]) -> Iterator[RequiredFix]:
    """The files with added lines that did not run, those with most of them first."""
    uncovered = {path: lines for path, lines in coverage.uncovered.items() if lines and path in sources}
    few = {path for path, lines in uncovered.items() if len(lines) < FEW_LINES}
    if sum(len(uncovered[path]) for path in few) < SMALL_SHARE * coverage.total:
        uncovered = {path: lines for path, lines in uncovered.items() if path not in few}
    for path, lines in sorted(uncovered.items(), key=lambda item: (-len(item[1]), item[0])):
        message = (
            f"No test runs these added lines: {format_ranges(lines)}. Add tests that do, and "
            "that fail if they are wrong."
        )
        yield RequiredFix(path=path, line=lines[0], rule=MISSING, message=message)


def find_coverage_loss(compared: CoverageComparison, found: Sequence[Avoidance], asked: str = "") -> Avoidance | None:
    """The coverage that a change lost; None if it lost no more than is tolerated.

    It is excused if people said that the coverage may fall, or if they asked for every test to go that is gone.

    :param found: where else the change gives up in disguise.
    :param asked: what people asked for; never the words of the change itself.
    """
    if not compared.is_lost or not compared.losses:
        return None
    worst = compared.losses[0]
    is_proven = not worst.is_unnamed and len(worst.lost) >= len(worst.uncovered)
    lines = worst.lost or worst.uncovered
    return Avoidance(
        kind=AvoidanceKind.coverage_lost,
        path=worst.path,
        line=lines[0],
        what=_describe(compared),
        confidence=_CERTAIN if is_proven else _LIKELY,
        severity=Severity.error if compared.fall >= _MUCH else Severity.warning,
        excuse=_find_excuse(compared, found, asked),
    )


def _describe(compared: CoverageComparison) -> str:
    named = "; ".join(_describe_file(each) for each in compared.losses[:_NAMED])
    more = len(compared.losses) - _NAMED
    others = f"; and {more} more files" if more > 0 else ""
    return (
        f"The coverage of what stays and what is new fell by {compared.fall:.1f} points (that of the whole program "
        f"went from {compared.before.percent:.1f} % to {compared.after.percent:.1f} %): {named}{others}."
    )


def _describe_file(loss: FileLoss) -> str:
    """What a file lost, with its lines at head."""
    lost = f"no test runs lines {format_ranges(loss.lost)} any more" if loss.lost else ""
    unnamed = "the report does not name it any more" if loss.is_unnamed else ""
    added = f"no test runs the added lines {format_ranges(loss.uncovered)}" if loss.uncovered else ""
    return f"in `{loss.path}` {', '.join(filter(None, (lost, unnamed, added)))}"


def _find_excuse(compared: CoverageComparison, found: Sequence[Avoidance], asked: str) -> str:
    if any(_MAY_FALL.search(each) and not _DENIED.search(each) for each in _SENTENCE.split(asked)):
        return "People said that the coverage may fall."
    taken = [each for each in found if each.kind in _TAKEN]
    is_by_lost_tests = 2 * compared.lost >= sum(each.lines for each in compared.losses)
    is_asked = any(_ASKED in each.excuse for each in taken) and all(each.excuse for each in taken)
    return "The removal of its tests was asked for." if is_asked and is_by_lost_tests else ""


def parse(document: Base64UrlBytes, root: str, paths: Sequence[str] = ()) -> Coverage:
    """The coverage of the files inside the repository. The report's own totals are not trusted but computed anew.

    :param root: absolute path of the folder that the tests ran in, as they saw it.
    :param paths: the files of the repository, if they are known; others are left out.
    :raises ToolError: it is not a Cobertura report, or is too large.
    """
    report = _CoverageReport(root, frozenset(paths))
    for _, element in read_xml(document, "The coverage report", ("coverage",), {"source", "class"}):
        report.add(element)
    return Coverage(files=tuple(file.to_coverage(path) for path, file in sorted(report.files.items())))


@dataclass
class _File:
    """What was read of one file so far; it may be spread over several classes."""

    hits: dict[int, bool] = field(default_factory=dict[int, bool])
    branches: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    functions: list[bool] = field(default_factory=list[bool])

    def to_coverage(self, path: str) -> FileCoverage:
        ran = sum(self.functions)
        return FileCoverage(
            path=path,
            covered=tuple(sorted(line for line, hit in self.hits.items() if hit)),
            missed=tuple(sorted(line for line, hit in self.hits.items() if not hit)),
            branches_covered=sum(covered for covered, _ in self.branches.values()),
            branches=sum(total for _, total in self.branches.values()),
            functions_covered=ran if self.functions else None,
            functions=len(self.functions) or None,
        )


class _CoverageReport:
    """What was read so far."""

    def __init__(self, root: str, paths: frozenset[str]) -> None:
        self.files: dict[str, _File] = {}
        self._root, self._paths = root, paths
        self._lines = 0
        self._sources: list[str] = []

    def add(self, element: Element) -> None:
        """Take in a source, or a class with its functions and lines."""
        if element.tag == "source":
            if len(self._sources) < _MOST_SOURCES:
                self._sources.append((element.text or "").strip())
        elif (file := self._find_file(element.get("filename", ""))) is not None:
            for method in element.iter("method"):
                self._count()
                file.functions.append(any(_has_run(line) for line in method.iter("line")))
            for line in element.iter("line"):
                self._add_line(file, line)

    def _find_file(self, name: str) -> _File | None:
        """The file of a class; None if the repository has no such file."""
        path = self._path(name)
        if path is None:
            return None
        if path not in self.files and len(self.files) >= MOST_FILES:
            raise ToolError(f"The coverage report has more than {MOST_FILES:,} files.")
        return self.files.setdefault(path, _File())

    def _path(self, name: str) -> str | None:
        """The path of a file in the repository; its name is relative to one of the sources, not known which."""
        if not name:
            return None
        if name.startswith("/"):
            candidates = [name]
        else:
            candidates = [f"{source.rstrip('/')}/{name}" if source else name for source in self._sources] or [name]
        found = [
            path
            for path in (to_repository_path(each, self._root, LONGEST_PATH) for each in candidates)
            if path is not None
        ]
        if self._paths:
            found = [path for path in found if path in self._paths]
        return found[0] if found else None

    def _add_line(self, file: _File, element: Element) -> None:
        line = _read_number(element)
        if not line:
            return
        if line not in file.hits:
            self._count()
        file.hits[line] = file.hits.get(line, False) or _has_run(element)
        if element.get("branch") == "true" and (match := _BRANCHES.search(element.get("condition-coverage", ""))):
            covered, total = int(match[1]), int(match[2])
            if covered <= total:
                file.branches[line] = covered, total

    def _count(self) -> None:
        self._lines += 1
        if self._lines > MOST_LINES:
            raise ToolError(f"The coverage report has more than {MOST_LINES:,} lines and functions.")


def _read_number(line: Element) -> int | None:
    return parse_number(line.get("number"), LAST_LINE)


def _has_run(line: Element) -> bool:
    hits = line.get("hits", "")
    return bool(_read_number(line)) and hits.isdecimal() and hits.strip("0") != ""
