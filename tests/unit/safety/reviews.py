"""Reviews as the rules of safety are given them."""

from typing import Any

from domain.review.findings import Finding
from domain.review.review import Conclusion, Decision, Review, Risk, RiskLevel


def build_review(*findings: Finding, **differs: Any) -> Review:
    """An approving review, whatever its findings say, but for what is said otherwise."""
    usual: dict[str, Any] = {
        "merge_base": "a" * 40,
        "head_sha": "b" * 40,
        "files": 1,
        "additions": 1,
        "deletions": 0,
        "findings": findings,
        "layers": (),
        "not_looked_at": (),
        "risk": Risk(score=0, level=RiskLevel.low, parts=()),
        "decision": Decision.approve,
        "reasons": (),
        "conclusion": Conclusion.success,
        "seconds": 0,
    }
    return Review.model_validate(usual | differs)
