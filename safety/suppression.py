"""Decides which findings to suppress, since people dismissed the same or similar ones, and what a verdict is then.

The summary lists suppressed findings with the reason, so that people can disagree.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from domain.review.feedback import FindingFeedback
from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.reading import BY_RULE
from domain.review.review import (
    MIN_CONFIDENCE,
    NOTHING_JUDGED,
    AdjustedConfidence,
    JudgedFindings,
    Review,
    SuppressedFinding,
    SuppressionReason,
    UptakeRecord,
    parent_folder,
)
from safety.review_decision import CONCLUSIONS, decide, raise_confirmed
from safety.risk import reassess, weigh_layer


@dataclass(frozen=True)
class DismissalHistory:
    """People's reactions in a repository to findings of these rules and places.

    :param dismissed: the current dismissals, oldest first.
    """

    dismissed: Sequence[FindingFeedback] = ()
    taken_up: Sequence[UptakeRecord] = ()


NO_HISTORY = DismissalHistory()


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


def find_suppression(finding: Finding, history: DismissalHistory) -> SuppressedFinding | None:
    """Returns why to suppress a finding that nobody dismissed; None if Forge raises it."""
    if not may_be_suppressed(finding):
        return None
    weight = rate_confidence(finding, history)
    same = _find_reworded(finding, history)
    if same:
        return _build_held(finding, SuppressionReason.reworded, weight, same)
    if not _is_doubted(weight):
        return None
    return _build_held(finding, SuppressionReason.rule, weight, _fewest_to_release(finding, history))


HERE = 0.2
"""The confidence that a dismissal takes from its rule in the same folder."""
ELSEWHERE = 0.1
"""The confidence it takes in other folders: half, because a folder may be special."""
TAKEN_UP = 0.1
"""The confidence that a fixed finding gives back, at most what dismissals took on the same side."""
FEWEST = 2
"""The fewest people, and dismissals of distinct findings (for other folders: pull requests and folders), before a rule
loses confidence: one dismissal is about one finding, one person's are one opinion, and one folder may be special."""
DATA_LOSS = "model/data-loss"
_DIGITS = 4  # avoids rounding errors in sums of tenths


def may_be_suppressed(finding: Finding) -> bool:
    """Whether dismissals of similar findings count: never for credentials, critical findings, and errors of security
    or data loss.

    Those include all findings of the gate ``security_findings``. Those of giving up have a record of their own, by
    which people are asked before one is silent (:class:`domain.review.avoidance.DetectorRecord`).
    """
    if finding.category is Category.avoidance:
        return False
    is_security = finding.category is Category.security or finding.layer is Layer.security
    is_grave = is_security or finding.rule == DATA_LOSS
    return not (finding.is_credential or finding.severity is Severity.critical or (is_grave and finding.blocks))


def rate_confidence(finding: Finding, history: DismissalHistory) -> AdjustedConfidence:
    """The confidence of a finding in this repository."""
    dismissed = list_distinct(finding, history)
    where = parent_folder(finding.path)
    here = sum(parent_folder(past.path) == where for past in dismissed)
    folders = {parent_folder(past.path) for past in dismissed}
    is_spread = min(len(folders), len({past.number for past in dismissed})) >= FEWEST
    elsewhere = len(dismissed) - here if is_spread else 0
    kept = [parent_folder(each.path) == where for each in history.taken_up if each.rule == finding.rule]
    kept_here, kept_elsewhere = sum(kept), len(kept) - sum(kept)
    of_rule = [past for past in history.dismissed if past.rule == finding.rule]
    people = {past.by_id: past.by for past in of_rule if elsewhere or parent_folder(past.path) == where}
    counts = len(people) >= FEWEST
    here_takes = max(0.0, HERE * here - TAKEN_UP * kept_here) if counts else 0.0
    elsewhere_takes = max(0.0, ELSEWHERE * elsewhere - TAKEN_UP * kept_elsewhere) if counts else 0.0
    return AdjustedConfidence(
        stated=finding.confidence,
        here=here,
        elsewhere=elsewhere,
        kept_here=kept_here,
        kept_elsewhere=kept_elsewhere,
        alone="" if counts else next(iter(people.values()), ""),
        here_takes=round(here_takes, _DIGITS),
        elsewhere_takes=round(elsewhere_takes, _DIGITS),
        effective=round(max(0.0, finding.confidence - here_takes - elsewhere_takes), _DIGITS),
    )


def list_distinct(finding: Finding, history: DismissalHistory) -> list[FindingFeedback]:
    """Dismissals of other findings of its rule, oldest first.

    The same finding counts once, and so do findings dismissed together in one folder.
    """
    counted: list[FindingFeedback] = []
    seen = {finding.fingerprint}
    for past in history.dismissed:
        is_known = past.fingerprint in seen or past.memory_id in seen
        if past.rule == finding.rule and not is_known:
            counted.append(past)
            seen |= {past.fingerprint, past.memory_id} - {""}
    return counted


def _is_same(one: FindingFeedback, other: FindingFeedback) -> bool:
    return one.fingerprint == other.fingerprint or (one.memory_id != "" and one.memory_id == other.memory_id)


def _is_doubted(weight: AdjustedConfidence) -> bool:
    """Whether dismissals have taken too much confidence from its rule."""
    takes = weight.here_takes + weight.elsewhere_takes
    return weight.here + weight.elsewhere >= FEWEST and takes > 0 and weight.effective < MIN_CONFIDENCE


def _find_reworded(finding: Finding, history: DismissalHistory) -> list[FindingFeedback]:
    """Dismissals of the same place and category: a model may choose another rule or other words for the same finding.

    Some lines further on, the words must be similar. A more severe finding is never the same.
    """
    if finding.layer is not Layer.model:
        return []
    no_graver = [past for past in history.dismissed if finding.severity.rank <= past.severity.rank]
    return [past for past in no_graver if _is_same_place(finding, past)]


def _is_same_place(finding: Finding, past: FindingFeedback) -> bool:
    if finding.place and past.place == finding.place:
        return True
    if past.path != finding.path or past.spot is None or finding.spot is None:
        return False
    return finding.spot.matches(past.spot)


def _fewest_to_release(finding: Finding, history: DismissalHistory) -> list[FindingFeedback]:
    """The fewest dismissals to undo so that Forge raises the finding: first those of its folder, the newest first."""
    where = parent_folder(finding.path)
    newest = list(reversed(list_distinct(finding, history)))
    gone: list[FindingFeedback] = []
    left = history
    for past in sorted(newest, key=lambda past: parent_folder(past.path) != where):
        gone += [each for each in left.dismissed if _is_same(each, past)]
        left = DismissalHistory([each for each in left.dismissed if not _is_same(each, past)], history.taken_up)
        if not _is_doubted(rate_confidence(finding, left)):
            break
    return [past for past in history.dismissed if past.rule == finding.rule and past in gone]


def _build_held(
    finding: Finding, why: SuppressionReason, weight: AdjustedConfidence, releasing: Sequence[FindingFeedback]
) -> SuppressedFinding:
    memories = tuple(dict.fromkeys(name for past in releasing if (name := past.short_memory_id)))
    return SuppressedFinding(finding=finding, why=why, weight=weight, memories=memories, release=len(releasing))


def list_to_release(finding: Finding, history: DismissalHistory) -> Sequence[FindingFeedback]:
    """The dismissals to undo when a person wants a suppressed finding to count."""
    found = find_suppression(finding, history)
    if found is None:
        return ()
    return (
        _find_reworded(finding, history)
        if found.why is SuppressionReason.reworded
        else _fewest_to_release(finding, history)
    )
