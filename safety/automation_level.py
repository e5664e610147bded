"""Decides the automation level of a repository from the results of its runs.

Each level has one row of numbers, :data:`LEVELS`. It rises one level when the next row is met, and falls one when its
own row is broken. Runs are completed runs of pull requests that were merged in the end: anybody can open others. False
positives are dismissed among posted findings; both they and the missed critical bugs are counted since the first of the
last so many runs as the row itself asks for, in pull requests that were not merged as well. Two rules keep the level
from going up and down with every run:

- **Up**: after a change of level it takes as many runs as lie between the two rows (10, 40, 150, 300), and
  the row must be met over its whole window, bad results before the change included. A repository that never fell rises
  at runs 50, 200 and 500.
- **Down**: results before the last change of level do not count again. A level falls when later results
  break its row: findings dismissed in later runs, compared with all that its window posted; bugs reported
  since; too few approvals after a rejection since. So one bad week costs one level, and another one costs
  the next, after about ten bad runs each. Fewer than 10 runs are not judged.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.config.configuration import Ladder
from domain.value import Value
from domain.verdicts import Reason

START, HIGHEST = 1, 4
ALPHA = 0.1
"""Weight of the newest decision in the approval rate."""
DECIDERS = 2
"""The fewest people whose approvals raise a level; three would leave out small teams."""
OTHERS = 3
"""One in so many approvals, at least, comes from others than the most frequent approver."""
ENOUGH = 10
"""The fewest completed runs for judging a share of false positives: those of the lowest row."""


@dataclass(frozen=True)
class LevelRequirements:
    """The requirements of a level.

    :param runs: completed runs; also the window over which the rest is counted.
    :param false_positives: at most, in percent of the posted findings.
    :param missed: critical bugs missed, at most.
    :param approval: approval rate at least, in percent; None: it does not matter.
    """

    runs: int
    false_positives: int
    missed: int
    approval: int | None = None


LEVELS: Mapping[int, LevelRequirements] = {
    1: LevelRequirements(10, 50, 5),
    2: LevelRequirements(50, 20, 1, 80),
    3: LevelRequirements(200, 5, 0, 90),
    4: LevelRequirements(500, 2, 0, 95),
}
"""Level 0 has no requirements, so nobody falls from it."""
RUNS_NEEDED = LEVELS[HIGHEST].runs + 1
"""The number of newest runs needed: the longest window, and the run before it, which marks its beginning."""


@dataclass(frozen=True)
class RunRecord:
    """A completed run: its end, its posted findings, and how many of them people have dismissed.

    :param merged: whether its pull request was merged.
    """

    at: datetime
    posted: int = 0
    dismissed: int = 0
    merged: bool = True


@dataclass(frozen=True)
class HumanDecision:
    """A person's decision at a gate or on a pull request.

    :param by: the account; None if it is not known.
    """

    at: datetime
    approved: bool
    by: int | None = None


@dataclass(frozen=True)
class LadderFacts:
    """The facts about a repository.

    :param since: when its level last changed or was set; None: never.
    :param runs: its completed runs, oldest first; the newest :data:`RUNS_NEEDED` of each kind are enough.
    :param missed: when each critical bug that was missed became known.
    :param decisions: oldest first; the newest 200 are enough, since earlier ones weigh less than a billionth.
    """

    level: int = START
    since: datetime | None = None
    runs: Sequence[RunRecord] = ()
    missed: Sequence[datetime] = ()
    decisions: Sequence[HumanDecision] = ()

    @property
    def runs_of_merges(self) -> Sequence[RunRecord]:
        """The runs of pull requests that were merged, oldest first."""
        return [run for run in self.runs if run.merged]

    def find_begin(self, runs: int) -> datetime | None:
        """When the first of the last so many merged runs ended; None if there are fewer."""
        merged = self.runs_of_merges
        return merged[-runs].at if len(merged) >= runs else None

    def list_since_begin(self, runs: int) -> Sequence[RunRecord]:
        """The last so many merged runs, and those between them that were not merged."""
        begin = self.find_begin(runs)
        return [run for run in self.runs if begin is None or run.at >= begin]


class LevelChange(StrEnum):
    """Why the level is what it is."""

    stays = "stays"
    rises = "rises"  # the next row is met
    falls = "falls"  # its own row is broken
    pinned = "pinned"  # the configuration sets the level; the reached one is kept for later
    capped = "capped"  # the configuration allows no higher one


class LadderVerdict(Value):
    """The level reached from now on. Forge acts at this level or the pinned one, within the bounds.

    :param before: the level until now.
    :param at: the moment of the decision; where the level changed, the next ``since``.
    :param reason: why; the children are all measurements, met or not.
    """

    level: int
    before: int
    move: LevelChange
    at: datetime
    reason: Reason

    @property
    def is_changed(self) -> bool:
        return self.level != self.before


_PLACE = re.compile(r"\w[\w./-]*(?:/\w|\.[A-Za-z]\w{0,7}\b|:\d)")
_FEWEST_WORDS = 4


def describes_miss(text: str) -> bool:
    """Whether words tell what was missed: they name a file, or are a few. Not all languages part words."""
    return len(text.split()) >= _FEWEST_WORDS or _PLACE.search(text) is not None or not text.isascii()


def cap_level(level: int, bounds: Ladder) -> int:
    """The effective level: the level reached or set, within the limits of the configuration."""
    return min(level if bounds.pinned is None else bounds.pinned, bounds.max_level)


def evaluate(facts: LadderFacts, bounds: Ladder, now: datetime) -> LadderVerdict:
    """Decides the level from now on: at most one above or below, and never above the highest allowed.

    A pin does not change the reached level; it applies again once the pin is gone.

    :param bounds: the section ``ladder`` of the repository's configuration.
    :param now: UTC.
    """
    level, move, text, measured = _find_level(facts, bounds)
    reason = Reason(
        code=f"ladder.{move.value}",
        text=text,
        value=facts.level,
        threshold=bounds.max_level,
        children=tuple(one.reason for one in measured),
    )
    return LadderVerdict(level=level, before=facts.level, move=move, at=now, reason=reason)


@dataclass(frozen=True)
class LevelMeasure:
    """One number against its limit.

    :param met: whether it is within, or there is too little to judge by.
    """

    met: bool
    reason: Reason


def approval_rate(decisions: Sequence[bool]) -> float:
    """The exponential moving average of people's decisions, oldest first, from 0 (nobody approved) to 1."""
    rate = 0.0
    for approved in decisions:
        rate += ALPHA * (approved - rate)
    return rate


def _find_level(facts: LadderFacts, bounds: Ladder) -> tuple[int, LevelChange, str, list[LevelMeasure]]:
    if bounds.pinned is not None:
        level = min(bounds.pinned, bounds.max_level)
        measures = _measure_limits(facts, level)
        although = "" if _are_met(measures) else f", although it would fall: {_list_unmet(measures)}"
        return facts.level, LevelChange.pinned, f"Level {level} is pinned{although}", measures
    if facts.level > bounds.max_level:
        text = f"Level {bounds.max_level} is the highest that the configuration allows"
        return bounds.max_level, LevelChange.capped, text, []
    own = _measure_limits(facts, facts.level)
    if not _are_met(own):
        return (
            facts.level - 1,
            LevelChange.falls,
            f"Level {facts.level} falls to {facts.level - 1}: {_list_unmet(own)}",
            own,
        )
    return _try_upwards(facts, bounds, own)


def _try_upwards(
    facts: LadderFacts, bounds: Ladder, own: list[LevelMeasure]
) -> tuple[int, LevelChange, str, list[LevelMeasure]]:
    level, above = facts.level, facts.level + 1
    if above > min(bounds.max_level, HIGHEST):
        return level, LevelChange.stays, f"Level {level} stays: it is the highest allowed", own
    requirements = _measure_requirements(facts, above)
    if _are_met(requirements):
        return (
            above,
            LevelChange.rises,
            f"Level {level} rises to {above}: it meets everything that level {above} requires",
            requirements,
        )
    return (
        level,
        LevelChange.stays,
        f"Level {level} stays; level {above} is not met: {_list_unmet(requirements)}",
        [*own, *requirements],
    )


def _are_met(measures: Iterable[LevelMeasure]) -> bool:
    return all(measure.met for measure in measures)


def _list_unmet(measures: Iterable[LevelMeasure]) -> str:
    return "; ".join(measure.reason.text for measure in measures if not measure.met)


def _measure_limits(facts: LadderFacts, level: int) -> list[LevelMeasure]:
    """Measures the limits of a level since it last changed."""
    row = LEVELS.get(level)
    if row is None:
        return []
    window = facts.list_since_begin(row.runs)
    dismissed = sum(run.dismissed for run in window if _is_since(run.at, facts.since))
    rejected = any(not one.approved and _is_since(one.at, facts.since) for one in facts.decisions)
    return [
        _measure_false_positives(row, window, dismissed, len(window) < ENOUGH),
        _measure_missed(row, [at for at in _list_missed(facts, row) if _is_since(at, facts.since)]),
        *_measure_approvals(row, facts, not rejected),
    ]


def _measure_requirements(facts: LadderFacts, level: int) -> list[LevelMeasure]:
    """Measures the requirements of a level over its whole window."""
    row = LEVELS[level]
    window = facts.list_since_begin(row.runs)
    least = row.runs - (LEVELS[level - 1].runs if level > 1 else 0)
    runs = sum(_is_since(run.at, facts.since) for run in facts.runs_of_merges)
    text = f"{_count(runs, 'run')} at level {facts.level}, at least {least} needed"
    return [
        _measure_runs(row, len(facts.runs_of_merges)),
        LevelMeasure(runs >= least, _reason("runs_at_level", text, runs, least)),
        _measure_false_positives(row, window, sum(run.dismissed for run in window)),
        _measure_missed(row, _list_missed(facts, row)),
        *_measure_approvals(row, facts),
        *_measure_people(row, facts),
    ]


def _is_since(at: datetime, since: datetime | None) -> bool:
    return since is None or at > since


def _list_missed(facts: LadderFacts, row: LevelRequirements) -> list[datetime]:
    """The missed bugs that became known within the last so many runs."""
    before = facts.find_begin(row.runs + 1)
    return [at for at in facts.missed if _is_since(at, before)]


def _measure_runs(row: LevelRequirements, completed: int) -> LevelMeasure:
    text = f"{_count(completed, 'completed run')} of merged pull requests, at least {row.runs} needed"
    return LevelMeasure(completed >= row.runs, _reason("runs", text, completed, row.runs))


def _measure_false_positives(
    row: LevelRequirements, window: Sequence[RunRecord], dismissed: int, too_few: bool = False
) -> LevelMeasure:
    posted = sum(run.posted for run in window)
    percent = 100 * dismissed / posted if posted else 0.0
    last = "the last run" if len(window) == 1 else f"the last {len(window)} runs"
    text = (
        f"{dismissed} of {_count(posted, 'finding')} in {last} dismissed, {percent:.3g} %, "
        f"at most {row.false_positives} % allowed"
    )
    is_within = 100 * dismissed <= row.false_positives * posted
    is_too_early = too_few and not is_within
    if is_too_early:
        text += f" (not counted yet: that begins with {ENOUGH} runs)"
    reason = _reason("false_positives", text, percent, row.false_positives)
    return LevelMeasure(is_too_early or is_within, reason)


def _measure_missed(row: LevelRequirements, missed: Sequence[datetime]) -> LevelMeasure:
    text = f"{_count(len(missed), 'critical bug')} missed, at most {row.missed} allowed"
    return LevelMeasure(len(missed) <= row.missed, _reason("missed", text, len(missed), row.missed))


def _measure_approvals(row: LevelRequirements, facts: LadderFacts, forgiven: bool = False) -> list[LevelMeasure]:
    if row.approval is None:
        return []
    percent = 100 * approval_rate([one.approved for one in facts.decisions])
    text = f"approval rate {percent:.3g} %, at least {row.approval} % needed"
    is_met = forgiven or percent >= row.approval
    return [LevelMeasure(is_met, _reason("approvals", text, percent, row.approval))]


def _measure_people(row: LevelRequirements, facts: LadderFacts) -> list[LevelMeasure]:
    """Measures whether several people approved within the window of the row.

    One alone does not raise a level, however many accounts open pull requests, and neither does one beside a single
    word of another.
    """
    if row.approval is None:
        return []
    begin = facts.find_begin(row.runs)
    given = Counter(
        one.by for one in facts.decisions if one.approved and one.by is not None and (begin is None or one.at >= begin)
    )
    people, total = len(given), given.total()
    others = total - max(given.values(), default=0)
    names = f"{people} {'person' if people == 1 else 'people'}"
    text = (
        f"{names} approved, at least {DECIDERS} needed; {others} of {_count(total, 'approval')} by others than the most"
        f" frequent, at least one in {OTHERS} needed"
    )
    met = people >= DECIDERS and OTHERS * others >= total
    return [LevelMeasure(met, _reason("people", text, people, DECIDERS))]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _reason(what: str, text: str, value: float, threshold: float) -> Reason:
    return Reason(code=f"ladder.{what}", text=text, value=value, threshold=threshold)
