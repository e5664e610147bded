"""Attempts to recover from giving up in disguise."""

from datetime import UTC, datetime
from typing import Any

from domain.review.avoidance import AvoidanceKind
from domain.runs.recovery import Caught, HiddenFailure, RecoveryAttempt, RecoveryOutcome, Strategy

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SKIPPED = HiddenFailure(
    kind=AvoidanceKind.test_skipped, path="tests/test_a.py", line=3, what="It is skipped.", confidence=0.9
)
ELSEWHERE = SKIPPED.model_copy(update={"path": "tests/test_b.py"})
ORDER = (Strategy.cause, Strategy.restore, Strategy.context)


def catch(*hidden: HiddenFailure, **more: Any) -> Caught:
    values: dict[str, Any] = {"work": "implement T1", "tried": "now", "hidden": hidden or (SKIPPED,), "change": "now"}
    return Caught.model_validate({**values, **more})


def build_attempt(number: int = 1, **more: Any) -> RecoveryAttempt:
    values: dict[str, Any] = {
        "id": f"{number:026}",
        "run_id": "run",
        "work": "implement T1",
        "tried": f"try {number}",
        "hidden": (SKIPPED,),
        "change": f"change {number}",
        "confidence": 0.9,
        "strategy": ORDER[(number - 1) % 3],
        "outcome": RecoveryOutcome.hidden,
        "at": NOON,
    }
    return RecoveryAttempt.model_validate({**values, **more})
