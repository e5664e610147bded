"""Draws the verdict of a review anew when people dismiss findings or take that back."""

from collections.abc import Collection

from domain.review import Review
from safety.decision import CONCLUSIONS, decide
from safety.risk import reassess


def with_dismissals(review: Review, dismissed: Collection[str]) -> Review:
    """The review as it stands with these dismissals.

    :param dismissed: fingerprints that people dismissed in this repository.
    """
    everything = sorted((*review.findings, *review.dismissed), key=lambda finding: finding.weight)
    findings = tuple(finding for finding in everything if finding.fingerprint not in dismissed)
    held_back = tuple(finding for finding in everything if finding.fingerprint in dismissed)
    risk = reassess(review.risk, findings)
    verdict = decide(findings, risk, review.layers, review.not_looked_at)
    return review.model_copy(
        update={
            "findings": findings,
            "dismissed": held_back,
            "risk": risk,
            "decision": verdict.decision,
            "reasons": verdict.reasons,
            "conclusion": CONCLUSIONS[verdict.decision],
        }
    )
