"""Finds the tests that a change lacks: for added lines that no test runs, and for sources without any tests."""

import re
from collections.abc import Collection, Iterator, Sequence

from domain.paths import is_manifest, is_source, is_test
from domain.runs.patches import RequiredFix
from domain.runs.testing import DiffCoverage, SuiteVerdict, TestRun, decide_verdict
from messages.tests import format_ranges

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
            found = []
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
