"""Draws the verdict of a review anew: with what earlier heads left behind, and with what people dismissed."""

from collections.abc import Collection, Sequence

from domain.review.findings import Finding
from domain.review.review import Review
from safety.review_decision import CONCLUSIONS, decide
from safety.risk import reassess
from safety.suppression import NO_HISTORY, DismissalHistory, find_suppression, find_unseconded


def with_history(review: Review, earlier: Sequence[Finding]) -> Review:
    """The review with the credentials that an earlier head held and this one does not: deleted is not revoked.

    The verdict is drawn by :func:`with_dismissals`, which knows who answered for them.

    :param earlier: credentials found in this pull request so far, the first found first. One that only moved within
        its file keeps its trail.
    """
    here = {known for each in review.all_findings for known in (each.fingerprint, each.trail)}
    gone = {each.trail: each for each in earlier if each.fingerprint not in here and each.trail not in here}
    return review.model_copy(update={"in_history": tuple(gone.values()), "in_history_dismissed": ()})


def with_dismissals(review: Review, dismissed: Collection[str], past: DismissalHistory = NO_HISTORY) -> Review:
    """The review as it stands with these dismissals.

    :param dismissed: fingerprints that people dismissed in this repository.
    :param past: what people dismissed of the same rules and at the same places.
    """
    judged = [
        (finding, find_suppression(finding, past))
        for finding in review.all_findings
        if finding.fingerprint not in dismissed
    ]
    findings = tuple(finding for finding, held_back in judged if held_back is None)
    alone = [find_unseconded(finding, past) for finding in findings]
    risk = reassess(review.risk, findings)
    history = (*review.in_history, *review.in_history_dismissed)
    in_history = tuple(finding for finding in history if finding.fingerprint not in dismissed)
    verdict = decide(findings, risk, review.layers, review.not_looked_at, in_history, review.unread)
    return review.model_copy(
        update={
            "findings": findings,
            "dismissed": tuple(finding for finding in review.all_findings if finding.fingerprint in dismissed),
            "held": tuple(held_back for _, held_back in judged if held_back is not None),
            "unseconded": tuple(each for each in alone if each is not None),
            "in_history": in_history,
            "in_history_dismissed": tuple(finding for finding in history if finding.fingerprint in dismissed),
            "risk": risk,
            "decision": verdict.decision,
            "reasons": verdict.reasons,
            "conclusion": CONCLUSIONS[verdict.decision],
        }
    )
