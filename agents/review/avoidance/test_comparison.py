"""Compares the tests of a change: which are gone, skipped, or demand less than before."""

from collections.abc import Sequence

from agents.review.avoidance.blurred_comparisons import BlurredComparisons
from agents.review.avoidance.mocked_subjects import MockedSubjects
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.removed_tests import RemovedTests
from agents.review.avoidance.replaced_subjects import ReplacedSubjects
from agents.review.avoidance.repository_context import RepositoryContext
from agents.review.avoidance.skipped_tests import SkippedTests
from agents.review.avoidance.table_cases import TableCases
from agents.review.avoidance.test_change import TestChange
from agents.review.avoidance.unrun_tests import UnrunTests
from agents.review.avoidance.weakened_assertions import WeakenedAssertions
from domain.review.avoidance import ASSERTIONS, CERTAIN, Avoidance


def compare_tests(files: Sequence[ChangedFacts], asked: str, around: RepositoryContext) -> list[Avoidance]:
    """What the tests of a change check no longer.

    :param asked: what people asked for.
    :param around: what the repository says of its tests besides.
    """
    change = TestChange(files, asked)
    removed = RemovedTests(change)
    weakened = [*WeakenedAssertions(change).find_weakened(), *WeakenedAssertions(change).find_weakened_helpers()]
    told = {(each.path, each.line) for each in weakened if each.kind in ASSERTIONS and each.confidence >= CERTAIN}
    return [
        *UnrunTests(change, around).find_unrun(),
        *removed.find_removed(),
        *removed.find_uncollected(),
        *SkippedTests(change).find_skipped(),
        *TableCases(change).find_rows(),
        *weakened,
        *(each for each in BlurredComparisons(change).find_blurred() if (each.path, each.line) not in told),
        *MockedSubjects(change).find_mocked(),
        *ReplacedSubjects(change, around).find_replaced(),
    ]
