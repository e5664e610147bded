"""Decides which findings are held back because people dismissed their like often enough, or the same in other words.

Nothing here mutes by itself: what is held back is kept and listed with its reason, so that people can disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.suppression import LEAST, Held, Past, TakenUp, Unseconded, Weight, Why, folder, shown

HERE = 0.2
"""What a dismissal takes from the confidence of its rule in the same folder."""

ELSEWHERE = 0.1
"""What it takes in other folders of the repository: half, because a folder may be special."""

TAKEN_UP = 0.1
"""What a finding that people took up gives back, at most what dismissals took on the same side."""

FEWEST = 2
"""Dismissals of distinct findings, in as many pull requests for other folders, before a rule is doubted at all: one
dismissal is about one finding."""

DECISIVE = frozenset({"maintain", "admin"})
"""Roles whose dismissals need no second person's to hold back what blocks."""

_DIGITS = 4  # so that sums of tenths are what they seem


@dataclass(frozen=True)
class History:
    """What people did in a repository with findings of the rules, and at the places, in question.

    :param dismissed: the dismissals that stand, oldest first.
    """

    dismissed: Sequence[Past] = ()
    taken_up: Sequence[TakenUp] = ()


NO_HISTORY = History()


def held(finding: Finding, history: History) -> Held | None:
    """Why a finding that nobody dismissed is held back; None if it is raised."""
    if not may_be_held(finding):
        return None
    weight = weighed(finding, history)
    same = _reworded(finding, history)
    if same:
        return _held(finding, Why.reworded, weight, same)
    if _is_raised(finding, history):
        return None
    return _held(finding, Why.rule, weight, _releasing(finding, history))


def unseconded(finding: Finding, history: History) -> Unseconded | None:
    """Who alone stands against a finding that blocks and would be held back; None if that is not so."""
    if not may_be_held(finding) or _reworded(finding, history) or not _is_doubted(weighed(finding, history)):
        return None
    return _alone(finding, history)


def may_be_held(finding: Finding) -> bool:
    """Credentials, what is critical, and security findings that block are raised however often people dismissed others.

    Among them is all about which the gate ``security_findings`` asks.
    """
    is_security = finding.category is Category.security or finding.layer is Layer.security
    blocks = finding.severity.rank >= Severity.error.rank
    return not (finding.is_credential or finding.severity is Severity.critical or (is_security and blocks))


def weighed(finding: Finding, history: History) -> Weight:
    """How sure a finding is here."""
    dismissed = distinct(finding, history)
    where = folder(finding.path)
    here = sum(folder(past.path) == where for past in dismissed)
    spread = len(dismissed) >= FEWEST and len({past.number for past in dismissed}) >= FEWEST
    elsewhere = len(dismissed) - here if spread else 0
    kept = [folder(each.path) == where for each in history.taken_up if each.rule == finding.rule]
    kept_here, kept_elsewhere = sum(kept), len(kept) - sum(kept)
    here_takes = max(0.0, HERE * here - TAKEN_UP * kept_here)
    elsewhere_takes = max(0.0, ELSEWHERE * elsewhere - TAKEN_UP * kept_elsewhere)
    return Weight(
        stated=finding.confidence,
        here=here,
        elsewhere=elsewhere,
        kept_here=kept_here,
        kept_elsewhere=kept_elsewhere,
        here_takes=round(here_takes, _DIGITS),
        elsewhere_takes=round(elsewhere_takes, _DIGITS),
        effective=round(max(0.0, finding.confidence - here_takes - elsewhere_takes), _DIGITS),
    )


def distinct(finding: Finding, history: History) -> list[Past]:
    """The dismissals of other findings of its rule, oldest first.

    The same finding counts once, and so does what was dismissed together in one folder: that taught one thing.
    """
    counted: list[Past] = []
    seen = {finding.fingerprint}
    for past in history.dismissed:
        is_known = past.fingerprint in seen or past.memory_id in seen
        if past.rule == finding.rule and not is_known:
            counted.append(past)
            seen |= {past.fingerprint, past.memory_id} - {""}
    return counted


def _is_one(one: Past, other: Past) -> bool:
    return one.fingerprint == other.fingerprint or (one.memory_id != "" and one.memory_id == other.memory_id)


def _is_raised(finding: Finding, history: History) -> bool:
    return not _is_doubted(weighed(finding, history)) or _alone(finding, history) is not None


def _is_doubted(weight: Weight) -> bool:
    """Whether its rule was dismissed so often that it is not sure enough any more."""
    takes = weight.here_takes + weight.elsewhere_takes
    return weight.here + weight.elsewhere >= FEWEST and takes > 0 and weight.effective < LEAST


def _alone(finding: Finding, history: History) -> Unseconded | None:
    """What blocks takes two people, or one of :data:`DECISIVE`."""
    where, counts_elsewhere = folder(finding.path), weighed(finding, history).elsewhere > 0
    of_rule = [past for past in history.dismissed if past.rule == finding.rule]
    counted = [past for past in of_rule if counts_elsewhere or folder(past.path) == where]
    if finding.severity.rank < Severity.error.rank or any(past.role in DECISIVE for past in counted):
        return None
    people = {past.by_id for past in counted}
    if len(people) != 1:
        return None
    return Unseconded(finding=finding, by=counted[-1].by, dismissals=len({past.fingerprint for past in counted}))


def _reworded(finding: Finding, history: History) -> list[Past]:
    """Dismissals of the same place and category: a model chooses another rule or other words, and means the same.

    So it does some lines further on, if at least its words are alike. What is graver than what was dismissed is not.
    """
    if finding.layer is not Layer.model:
        return []
    no_graver = [past for past in history.dismissed if finding.severity.rank <= past.severity.rank]
    return [past for past in no_graver if _is_same_place(finding, past)]


def _is_same_place(finding: Finding, past: Past) -> bool:
    if finding.place and past.place == finding.place:
        return True
    if past.path != finding.path or past.spot is None or finding.spot is None:
        return False
    return finding.spot.means(past.spot)


def _releasing(finding: Finding, history: History) -> list[Past]:
    """The fewest dismissals without which the finding would be raised: the newest first, those of its folder before."""
    where = folder(finding.path)
    newest = list(reversed(distinct(finding, history)))
    gone: list[Past] = []
    left = history
    for past in sorted(newest, key=lambda past: folder(past.path) != where):
        gone += [each for each in left.dismissed if _is_one(each, past)]
        left = History([each for each in left.dismissed if not _is_one(each, past)], history.taken_up)
        if _is_raised(finding, left):
            break
    return [past for past in history.dismissed if past.rule == finding.rule and past in gone]


def _held(finding: Finding, why: Why, weight: Weight, releasing: Sequence[Past]) -> Held:
    memories = tuple(dict.fromkeys(name for past in releasing if (name := shown(past))))
    return Held(finding=finding, why=why, weight=weight, memories=memories, release=len(releasing))


def releasing(finding: Finding, history: History) -> Sequence[Past]:
    """The dismissals that are taken back when a person says that a finding which is held back does count."""
    found = held(finding, history)
    if found is None:
        return ()
    return _reworded(finding, history) if found.why is Why.reworded else _releasing(finding, history)
