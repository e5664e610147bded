"""Compares both versions of a change and names each place where it gives up in disguise (pure)."""

from collections.abc import Sequence

from agents.review.avoidance import code_comparison, line_comparison, test_comparison
from agents.review.avoidance.pairs import ChangedFacts
from domain.review.avoidance import Avoidance

MOST = 100
"""Of one change; more would tell a reader nothing new."""


def find_avoidance(files: Sequence[ChangedFacts], asked: str = "") -> tuple[Avoidance, ...]:
    """Where a change gives up in disguise, the gravest first.

    :param files: every changed file whose facts are known.
    :param asked: what people asked for, such as the text of the issue; never the words of the change itself.
    """
    found = [
        *test_comparison.compare_tests(files, asked),
        *code_comparison.compare_code(files, asked),
        *line_comparison.compare_lines(files),
    ]
    unique = {(each.kind, each.path, each.line, each.name): each for each in reversed(found)}
    ordered = sorted(unique.values(), key=lambda each: (bool(each.excuse), -each.confidence, each.path, each.line or 0))
    return tuple(ordered[:MOST])
