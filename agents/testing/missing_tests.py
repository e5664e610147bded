"""Finds which tests a change lacks: added lines that no test runs, and sources where there are no tests at all."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from domain.paths import is_manifest, is_source, is_test
from domain.runs.task_result import RequiredFix
from domain.runs.testing import DiffCoverage, SuiteVerdict, TestRun, decide_verdict
from messages.tests import format_ranges

MISSING = "tests.missing"
FEW_LINES = 3
"""Fewer uncovered lines of a file are few: mostly the way out where something cannot happen, or a line for logs."""
SMALL_SHARE = 0.1
"""What few lines come to, all files together, is let pass below this share of the added lines: tests for the last tenth
cost more than they find. In a small change one line is more than that, and is named."""
MAX_FILES = 20  # files; more are more than one attempt mends

_IS_SET_UP = re.compile(
    r"(^|/)(conftest|noxfile|fabfile|dodo)\.py$|(^|/)[^/]+\.(config|conf|setup)\.\w+$|(^|/)\.|\.d\.ts$"
)


def find_missing_tests(run: TestRun, changed: Sequence[str]) -> tuple[RequiredFix, ...]:
    """The tests that are missing.

    Nothing is said where tests failed, because a test that fails runs less than it will, nor of files that the
    coverage report does not name: it may leave them out for a reason.

    :param changed: paths the change touches that are there at head; of those alone something is said.
    """
    sources = [path for path in dict.fromkeys(changed) if _wants_tests(path)]
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


def _wants_tests(path: str) -> bool:
    """Whether a file is code of the program itself: no test, no list of dependencies, no settings of a tool."""
    return is_source(path) and not is_test(path) and not is_manifest(path) and _IS_SET_UP.search(path) is None


def _only_joins(path: str) -> bool:
    """Whether a file is one that most often is empty or imports others, where nobody measured what it holds."""
    return path.rsplit("/", 1)[-1] == "__init__.py"


def _find_uncovered(coverage: DiffCoverage, sources: Collection[str]) -> Iterator[RequiredFix]:
    """The files with added lines that did not run, those with the most of them first."""
    uncovered = {path: lines for path, lines in coverage.uncovered.items() if lines and path in sources}
    few = {path for path, lines in uncovered.items() if len(lines) < FEW_LINES}
    if _count_lines(uncovered, few) < SMALL_SHARE * coverage.total:
        uncovered = {path: lines for path, lines in uncovered.items() if path not in few}
    for path, lines in sorted(uncovered.items(), key=lambda item: (-len(item[1]), item[0])):
        message = (
            f"No test runs these added lines: {format_ranges(lines)}. Add tests that do, and "
            "that fail if they are wrong."
        )
        yield RequiredFix(path=path, line=lines[0], rule=MISSING, message=message)


def _count_lines(uncovered: Mapping[str, Sequence[int]], paths: Collection[str]) -> int:
    return sum(len(uncovered[path]) for path in paths)
