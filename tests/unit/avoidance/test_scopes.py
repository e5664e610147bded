"""A scope covers what it names, for its time, in its file, and for its version of the detector."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.review.avoidance import AvoidanceKind, DetectorRecord, find_version
from domain.review.feedback import SCOPE_TIME, DismissalScope, FindingFeedback, Lapse, find_lapsed, find_passing
from domain.review.findings import Category, Finding, Layer, Severity

NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)
RULE = AvoidanceKind.test_skipped.rule


def _find(path: str = "tests/test_a.py", rule: str = RULE, message: str = "The test `a` is skipped.") -> Finding:
    return Finding(
        rule=rule,
        category=Category.avoidance,
        severity=Severity.warning,
        confidence=0.9,
        path=path,
        message=message,
        line=3,
        layer=Layer.static,
        fingerprint="1",
        trail="1",
    )


def _allow(scope: DismissalScope = DismissalScope.file, version: int | None = None) -> FindingFeedback:
    return FindingFeedback(
        id="W1",
        number=1,
        name="F-AEGTUI",
        rule=RULE,
        path="tests/test_a.py",
        fingerprint="0",
        by="bob",
        by_id=1,
        reason="they moved",
        at=NOON,
        scope=scope,
        until=NOON + SCOPE_TIME,
        version=find_version(RULE) if version is None else version,
    )


@pytest.mark.parametrize(
    ("finding", "scope", "covered"),
    [
        (_find(), DismissalScope.file, True),
        (_find(), DismissalScope.repository, True),
        (_find("tests/test_b.py"), DismissalScope.file, False),
        (_find("tests/test_b.py"), DismissalScope.repository, True),
        (_find(rule=AvoidanceKind.failure_ignored.rule), DismissalScope.repository, False),
    ],
)
def test_it_covers_what_it_names(finding: Finding, scope: DismissalScope, covered: bool) -> None:
    assert (find_passing(finding, [_allow(scope)], NOON) is not None) is covered


@pytest.mark.parametrize(
    ("allowed", "later", "lapse"),
    [
        (_allow(), SCOPE_TIME - timedelta(seconds=1), None),
        (_allow(), SCOPE_TIME, Lapse.time),
        (_allow(version=0), timedelta(0), Lapse.version),
    ],
)
def test_it_says_why_it_does_not_hold_any_more(allowed: FindingFeedback, later: timedelta, lapse: Lapse | None) -> None:
    found = find_lapsed(_find(), [allowed], NOON + later)
    assert (found and found[1]) == lapse
    assert (find_passing(_find(), [allowed], NOON + later) is None) is (lapse is not None)


@pytest.mark.parametrize(
    ("record", "reliability", "unreliable"),
    [
        (DetectorRecord(0, 0), 1.0, False),
        (DetectorRecord(2, 2), 4 / 6, False),
        (DetectorRecord(3, 2, 1), 6 / 7, False),
        (DetectorRecord(3, 1, 3), 1.0, False),
        (DetectorRecord(20, 2), 22 / 24, False),
        (DetectorRecord(20, 3), 21 / 24, True),
        (DetectorRecord(19, 9), 14 / 23, False),
    ],
)
def test_a_detector_is_believed_as_it_was_right(record: DetectorRecord, reliability: float, unreliable: bool) -> None:
    assert record.reliability == pytest.approx(reliability)
    assert record.is_unreliable is unreliable


def test_every_detector_has_a_version() -> None:
    assert all(find_version(kind.rule) >= 1 for kind in AvoidanceKind)
    assert find_version("ruff/F401") == 0
