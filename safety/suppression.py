"""Decides which findings to suppress because people dismissed similar ones, or the same in other words.

The summary lists suppressed findings with the reason, so that people can disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.review.feedback import FindingFeedback
from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.suppression import (
    MIN_CONFIDENCE,
    AdjustedConfidence,
    SuppressedFinding,
    SuppressionReason,
    UptakeRecord,
    parent_folder,
)

HERE = 0.2
"""The confidence that a dismissal takes from its rule in the same folder."""

ELSEWHERE = 0.1
"""The confidence it takes in other folders: half, because a folder may be special."""

TAKEN_UP = 0.1
"""The confidence that a fixed finding gives back, at most what dismissals took on the same side."""

FEWEST = 2
"""The fewest people, and dismissals of distinct findings (for other folders: pull requests), before a rule loses
confidence: one dismissal is about one finding, and one person's are one opinion."""

DATA_LOSS = "model/data-loss"

_DIGITS = 4  # avoids rounding errors in sums of tenths


@dataclass(frozen=True)
class DismissalHistory:
    """People's reactions in a repository to findings of these rules and places.

    :param dismissed: the current dismissals, oldest first.
    """

    dismissed: Sequence[FindingFeedback] = ()
    taken_up: Sequence[UptakeRecord] = ()


NO_HISTORY = DismissalHistory()


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
    spread = len(dismissed) >= FEWEST and len({past.number for past in dismissed}) >= FEWEST
    elsewhere = len(dismissed) - here if spread else 0
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
