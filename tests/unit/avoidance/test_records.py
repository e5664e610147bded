"""A detector is believed less where people called its findings wrong."""

import pytest

from domain.review.avoidance import CERTAIN, Avoidance, AvoidanceKind, DetectorRecord, apply_records, list_certain

FOUND = Avoidance(kind=AvoidanceKind.test_skipped, path="a.py", what="The test `a` is skipped.", confidence=0.9)


@pytest.mark.parametrize(
    ("found", "dismissed", "is_certain"), [(0, 0, True), (1, 1, True), (2, 2, False), (20, 2, True), (20, 10, False)]
)
def test_false_alarms_count_against_it(found: int, dismissed: int, is_certain: bool) -> None:
    [judged] = apply_records([FOUND], {FOUND.kind.rule: DetectorRecord(found, dismissed)})
    assert (judged.confidence >= CERTAIN) is is_certain
    assert bool(list_certain([judged])) is is_certain


def test_other_detectors_are_left_alone() -> None:
    assert apply_records([FOUND], {AvoidanceKind.failure_ignored.rule: DetectorRecord(9, 9)}) == [FOUND]
