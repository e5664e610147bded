"""Updates the verdict of a review with earlier credentials, with dismissals, and with findings that are gone."""

from collections.abc import Collection, Sequence

from domain.review.checks import BY_RULE
from domain.review.findings import Finding, Layer
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


def is_present(finding: Finding, review: Review) -> bool:
    """Whether a review found it again, even if it is muted."""
    return finding.fingerprint in {each.fingerprint for each in review.all_findings}


def is_gone(finding: Finding, review: Review, carried: Collection[str], *, called_gone: bool) -> bool:
    """Whether a finding of an earlier review is certainly gone.

    A tool's finding is gone if the same tool ran again and does not report it; a model's if its
    file changed and the model calls it gone. A credential is never gone: it stays in the history, and only a person
    knows that it is revoked.

    :param carried: fingerprints of findings with their own comment; one without may be this one, moved.
    :param called_gone: whether the model called it gone when it read the new lines.
    """
    if finding.is_credential or is_present(finding, review):
        return False
    alike = [each for each in review.all_findings if each.trail == finding.trail]
    if finding.layer is Layer.model:
        return called_gone and not alike
    return all(each.fingerprint in carried for each in alike) and _ran_again(finding, review)


def _ran_again(finding: Finding, review: Review) -> bool:
    """Whether its tool fully checked its file at this head."""
    prefix = finding.rule.partition("/")[0]
    check = BY_RULE.get(prefix)
    tool = prefix if check is None else check.name
    layers = [layer for layer in review.layers if layer.layer is finding.layer]
    ran = [each for layer in layers for each in layer.tools if each.tool == tool]
    if any(layer.cut for layer in layers) or any(each.problem is not None for each in ran):
        return False
    if finding.path not in review.changed:
        return True  # unchanged from the base
    unread = [each.path for each in review.not_looked_at if not each.by_model]
    is_broken = any(each.is_syntax_error and each.path == finding.path for each in review.all_findings)
    return finding.path not in unread and not is_broken and (bool(ran) or (check is not None and check.always_runs))
