"""Says whether a change gives up in disguise by running code without its tests."""

import re
from collections.abc import Sequence

from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity
from domain.runs.coverage import CoverageComparison, FileLoss
from messages.tests import format_ranges

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


UNREADABLE = Avoidance(
    kind=AvoidanceKind.coverage_lost,
    path="",
    what="The tests left a coverage report that cannot be read or names no line, so nobody knows what they run now.",
    confidence=_LIKELY,
)
"""Where the base has coverage: otherwise a broken report would be a way past the comparison."""


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
