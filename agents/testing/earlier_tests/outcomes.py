"""Decides how each earlier test ended on the new code, from what its runs showed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from domain.runs.earlier_tests import EarlierOutcome
from domain.runs.testing import CaseOutcome, TestCase

Cases = Mapping[str, TestCase]
"""Id of a test → how it ended."""


@dataclass(frozen=True)
class Runs:
    """What the runs of the same tests showed.

    :param overlay: on the new code; :param again: what failed there, once more.
    :param base: ids of the tests that passed each time on the code they were written for.
    :param head: how the tests of head ended, which are there now.
    """

    overlay: Cases
    again: Cases = field(default_factory=dict[str, TestCase])
    base: Collection[str] = ()
    head: Cases = field(default_factory=dict[str, TestCase])


def decide(test: str, runs: Runs) -> EarlierOutcome:
    """How one test ended, by its name alone."""
    first = runs.overlay.get(test)
    if first is not None and first.outcome is CaseOutcome.passed:
        return EarlierOutcome.holds
    second = runs.again.get(test, first)
    if first is None or second is None or not (first.outcome.is_bad and second.outcome.is_bad) or test not in runs.base:
        return EarlierOutcome.unknown
    now = runs.head.get(test)
    if now is None or now.outcome is CaseOutcome.skipped:
        return EarlierOutcome.lost
    return EarlierOutcome.open if now.outcome.is_bad else EarlierOutcome.changed
