"""Updates the verdict of a review with earlier credentials and with dismissals."""

from collections.abc import Collection, Sequence

from domain.review.findings import Finding
from domain.review.review import NOTHING_JUDGED, JudgedFindings, Review
from safety.review_decision import CONCLUSIONS, decide, raise_confirmed
from safety.risk import reassess, weigh_layer
from safety.suppression import NO_HISTORY, DismissalHistory, find_suppression


def with_history(review: Review, earlier: Sequence[Finding]) -> Review:
    """Adds credentials of earlier heads that this head no longer has: deleted is not revoked.

    The verdict follows from :func:`with_dismissals`, which knows the confirmed ones.

    :param earlier: credentials found in this pull request so far, in order. One that moved within
        its file keeps its trail.
    """
    here = {known for each in review.all_findings for known in (each.fingerprint, each.trail)}
    deleted = {each.trail: each for each in earlier if each.fingerprint not in here and each.trail not in here}
    return review.model_copy(update={"in_history": tuple(deleted.values()), "in_history_dismissed": ()})


def with_dismissals(
    review: Review,
    dismissed: Collection[str],
    past: DismissalHistory = NO_HISTORY,
    judged: JudgedFindings = NOTHING_JUDGED,
) -> Review:
    """Applies what people said to a review and decides it again.

    :param dismissed: fingerprints that people dismissed in this repository.
    :param past: dismissals of the same rules and places.
    :param judged: what people said about findings of giving up.
    """
    dismissed = {*dismissed, *judged.passing}
    weighed = [
        (finding, find_suppression(finding, past))
        for finding in review.all_findings
        if finding.fingerprint not in dismissed
    ]
    findings = tuple(finding for finding, held_back in weighed if held_back is None)
    risk = reassess(review.risk, findings)
    layers = tuple(weigh_layer(layer, risk) for layer in review.layers)
    history = (*review.in_history, *review.in_history_dismissed)
    in_history = tuple(finding for finding in history if finding.fingerprint not in dismissed)
    verdict = decide(
        raise_confirmed(findings, judged),
        risk,
        layers,
        review.not_looked_at,
        in_history,
        review.unread,
        review.base_that_holds,
    )
    return review.model_copy(
        update={
            "findings": findings,
            "dismissed": tuple(finding for finding in review.all_findings if finding.fingerprint in dismissed),
            "held": tuple(held_back for _, held_back in weighed if held_back is not None),
            "judged": judged,
            "in_history": in_history,
            "in_history_dismissed": tuple(finding for finding in history if finding.fingerprint in dismissed),
            "risk": risk,
            "layers": layers,
            "decision": verdict.decision,
            "reasons": verdict.reasons,
            "conclusion": CONCLUSIONS[verdict.decision],
        }
    )
