"""The automation ladder: who rises, who falls, what holds a level, and what each level allows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.configuration import Ladder
from domain.review.review import RiskLevel
from safety.allowed_actions import Action, ActionFacts, allows
from safety.automation_level import (
    LEVELS,
    RUNS_NEEDED,
    HumanDecision,
    LadderFacts,
    LadderVerdict,
    LevelChange,
    RunRecord,
    approval_rate,
    describes_miss,
    evaluate,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
ANY = Ladder()


def _at(run: float) -> datetime:
    """The moment at which the run of that number, counted from 1, completed."""
    return BEGIN + run * HOUR


def _runs(count: int, posted: int = 3, dismissed: int = 0, first: int = 1) -> list[RunRecord]:
    return [RunRecord(_at(first + number), posted, dismissed) for number in range(count)]


def _build_approvals(count: int, first: int = 1) -> list[HumanDecision]:
    return [HumanDecision(_at(first + number), True, number % 2) for number in range(count)]


class Repository:
    """Lives through runs, and asks for its level after each."""

    def __init__(self, level: int = 1, bounds: Ladder = ANY) -> None:
        self.facts = LadderFacts(level=level)
        self.bounds = bounds
        self.moves: list[tuple[int, int, LevelChange]] = []

    def run(self, count: int = 1, *, dismissed: int = 0, missed: int = 0, approved: bool | None = True) -> "Repository":
        for _ in range(count):
            at = _at(len(self.facts.runs) + 1)
            self.facts = replace(
                self.facts,
                runs=[*self.facts.runs, RunRecord(at, 3, dismissed)],
                missed=[*self.facts.missed, *[at] * missed],
                decisions=[
                    *self.facts.decisions,
                    *([] if approved is None else [HumanDecision(at, approved, len(self.facts.decisions) % 2)]),
                ],
            )
            self._settle(at)
        return self

    def _settle(self, at: datetime) -> None:
        verdict = evaluate(self.facts, self.bounds, at)
        assert abs(verdict.level - self.facts.level) <= 1
        if verdict.is_changed:
            self.moves.append((len(self.facts.runs), verdict.level, verdict.move))
            self.facts = replace(self.facts, level=verdict.level, since=verdict.at)


def test_six_hundred_good_runs_rise_level_by_level_and_bad_ones_fall_one_by_one() -> None:
    repository = Repository().run(600)
    assert repository.moves == [(50, 2, LevelChange.rises), (200, 3, LevelChange.rises), (500, 4, LevelChange.rises)]
    repository.moves.clear()
    repository.run(100, dismissed=3)
    # 500 runs posted 1500 findings, of which 30 may be dismissed: the 11th bad run is too many, and so on
    assert repository.moves == [
        (611, 3, LevelChange.falls),
        (622, 2, LevelChange.falls),
        (633, 1, LevelChange.falls),
        (639, 0, LevelChange.falls),
    ]
    repository.moves.clear()
    repository.run(900)
    # half of the last 10 may be bad; then 40, 150 and 300 runs at the level before
    assert repository.moves == [
        (705, 1, LevelChange.rises),
        (745, 2, LevelChange.rises),
        (895, 3, LevelChange.rises),
        (1195, 4, LevelChange.rises),
    ]


def test_each_missed_bug_costs_a_level_at_once_where_none_may_be_missed() -> None:
    repository = Repository().run(600)
    repository.moves.clear()
    repository.run(missed=1).run(5)
    assert repository.moves == [(601, 3, LevelChange.falls)]
    repository.run(missed=1).run(5).run(missed=1).run(5)
    assert repository.moves[1:] == [(607, 2, LevelChange.falls)]  # level 2 forgives one
    repository.run(missed=1)
    assert repository.moves[2:] == [(619, 1, LevelChange.falls)]
    repository.run(missed=5).run(missed=1)
    assert repository.moves[3:] == [(621, 0, LevelChange.falls)]


def test_rejections_cost_a_level_and_approvals_after_them_none() -> None:
    repository = Repository().run(600)
    repository.moves.clear()
    repository.run(approved=False)
    assert repository.moves == [(601, 3, LevelChange.falls)]
    repository.run(approved=False)
    assert repository.moves[1:] == [(602, 2, LevelChange.falls)]
    repository.run(40)  # the rate is below 90 %, and level 2 asks for 80 %
    assert repository.moves[2:] == []


def test_it_does_not_flap_at_a_limit() -> None:
    """A little more than the one dismissal in 20 that level 3 may have, for ever, costs one level and no more."""
    repository = Repository().run(200)
    repository.moves.clear()
    for number in range(2000):
        repository.run(dismissed=1 if number % 6 == 0 else 0)
    assert repository.moves == [(repository.moves[0][0], 2, LevelChange.falls)]


@pytest.mark.parametrize("level", [2, 3, 4])
def test_after_a_fall_it_takes_as_many_runs_as_lie_between_the_levels(level: int) -> None:
    between = LEVELS[level].runs - LEVELS[level - 1].runs
    facts = LadderFacts(
        level=level - 1, since=_at(1000), runs=_runs(1000 + between - 1), decisions=_build_approvals(50, 1000)
    )
    assert evaluate(facts, ANY, _at(2000)).move is LevelChange.stays
    assert evaluate(replace(facts, runs=_runs(1000 + between)), ANY, _at(2000)).level == level


@pytest.mark.parametrize("level", [2, 3, 4])
def test_the_page_names_the_runs_that_a_level_asks_for(level: int) -> None:
    page = Path(__file__).parents[3].joinpath("docs", "automation.md").read_text()
    between = LEVELS[level].runs - LEVELS[level - 1].runs
    [row] = [line for line in page.splitlines() if line.startswith(f"| {level} ")]
    assert f"| {LEVELS[level].runs} runs, {between} of them at level {level - 1}, " in row


def _ready(level: int) -> LadderFacts:
    """Exactly what the next level asks for, with every limit reached and none passed."""
    row = LEVELS[level + 1]
    posted = 100 * row.runs
    runs = [RunRecord(_at(1), posted, row.false_positives * posted // 100), *_runs(row.runs - 1, 0, first=2)]
    return LadderFacts(level=level, runs=runs, missed=[_at(1.5)] * row.missed, decisions=_build_approvals(40))


@pytest.mark.parametrize(
    ("by", "rises"),
    [
        ([1] * 40, False),
        ([*[1] * 39, 2], False),
        ([*[1] * 27, *[2] * 13], False),
        ([*[1] * 26, *[2] * 14], True),
        ([*[1] * 26, *[2] * 7, *[3] * 7], True),
    ],
)
def test_several_people_are_more_than_one_and_a_word_of_another(by: list[int], rises: bool) -> None:
    facts = replace(_ready(1), decisions=[HumanDecision(_at(number + 2), True, who) for number, who in enumerate(by)])
    assert (evaluate(facts, ANY, _at(2000)).move is LevelChange.rises) == rises


def test_rejections_and_old_approvals_do_not_make_somebody_one_of_several() -> None:
    ones = [HumanDecision(_at(60 + number), True, 1) for number in range(60)]
    facts = replace(_ready(1), runs=_runs(120))
    for before in (
        [HumanDecision(_at(1), False, 2)],
        [HumanDecision(_at(1 + number / 100), True, 2) for number in range(60)],
    ):
        assert evaluate(replace(facts, decisions=[*before, *ones]), ANY, _at(2000)).move is LevelChange.stays


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_exactly_at_the_threshold_is_enough_and_one_beyond_is_not(level: int) -> None:
    facts = _ready(level)
    first, *others = facts.runs
    row = LEVELS[level + 1]
    verdict = evaluate(facts, ANY, _at(9999))
    assert (verdict.level, verdict.move, verdict.at) == (level + 1, LevelChange.rises, _at(9999))
    worse = {
        "ladder.runs": replace(facts, runs=others),
        "ladder.false_positives": replace(facts, runs=[replace(first, dismissed=first.dismissed + 1), *others]),
        "ladder.missed": replace(facts, missed=[_at(1.5)] * (row.missed + 1)),
    }
    if row.approval is not None:
        worse["ladder.approvals"] = replace(facts, decisions=[*facts.decisions, *[HumanDecision(_at(50), False)] * 3])
    for code, spoilt in worse.items():
        stays = evaluate(spoilt, ANY, _at(9999))
        assert stays.move is not LevelChange.rises
        assert code in _unmet(stays, spoilt)


def _unmet(verdict: LadderVerdict, facts: LadderFacts) -> str:
    """Codes of what is named as not met in the text."""
    return " ".join(child.code for child in verdict.reason.children if child.text in verdict.reason.text)


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_exactly_at_its_own_limits_a_level_stays_and_one_beyond_it_falls(level: int) -> None:
    facts = replace(_ready(level - 1), level=level)
    assert evaluate(facts, Ladder(max_level=level), _at(9999)).move is LevelChange.stays
    first, *others = facts.runs
    beyond = replace(facts, runs=[replace(first, dismissed=first.dismissed + 1), *others])
    verdict = evaluate(beyond, ANY, _at(9999))
    assert (verdict.level, verdict.move) == (level - 1, LevelChange.falls)
    assert f"at most {LEVELS[level].false_positives} % allowed" in verdict.reason.text
    missed = replace(facts, missed=[_at(2)] * (LEVELS[level].missed + 1))
    assert evaluate(missed, ANY, _at(9999)).level == level - 1


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_what_was_before_the_change_is_not_counted_against_it_again(level: int) -> None:
    runs = _runs(600, dismissed=3)
    decisions = [HumanDecision(_at(600), False)] * 10
    facts = LadderFacts(level=level, since=_at(600), runs=runs, missed=[_at(600)] * 9, decisions=decisions)
    assert evaluate(facts, ANY, _at(601)).level == level
    assert evaluate(replace(facts, since=_at(599.5)), ANY, _at(601)).level == level - 1


LONG = LadderFacts(level=3, since=_at(1), runs=_runs(900), missed=[_at(400)], decisions=_build_approvals(900))
NEWEST = replace(LONG, runs=LONG.runs[-RUNS_NEEDED:], decisions=LONG.decisions[-200:])
OLD = [RunRecord(_at(number), 3, 3) for number in range(1, 101)]
BEHIND = LadderFacts(runs=[*OLD, *_runs(50, first=101)], missed=[_at(100)] * 9, decisions=_build_approvals(50, 101))
YOUNG = LadderFacts(runs=_runs(9, dismissed=3))
SET = LadderFacts(level=3, since=_at(20), runs=_runs(60), decisions=_build_approvals(3))
SILENT = LadderFacts(runs=_runs(50, posted=0), decisions=_build_approvals(50))
MERGED = LadderFacts(runs=_runs(60), decisions=_build_approvals(60))
CLOSED = [replace(run, merged=False) for run in _runs(100, 0, first=51)]
HISTORIES: dict[str, tuple[LadderFacts, int, int]] = {  # facts, number of the run after which, level
    "a long history": (LONG, 901, 4),
    "the newest runs of it are enough": (NEWEST, 901, 4),
    "a bug that became known within them": (replace(NEWEST, missed=[_at(400.5)]), 901, 3),
    "what is older than the window is not counted": (BEHIND, 200, 2),
    "bugs that became known within it": (replace(BEHIND, missed=[_at(100.5)] * 2), 200, 1),
    "a young repository is not judged on a few runs": (YOUNG, 10, 1),
    "but on ten": (replace(YOUNG, runs=_runs(10, dismissed=3)), 11, 0),
    "and on missed bugs": (replace(YOUNG, missed=[_at(1)] * 6), 10, 0),
    "what an admin set does not fall for want of decisions": (SET, 61, 3),
    "without findings nothing was a false positive": (SILENT, 51, 2),
    "merged pull requests raise it": (MERGED, 100, 2),
    "others raise nothing": (replace(MERGED, runs=[replace(run, merged=False) for run in MERGED.runs]), 100, 1),
    "others hide no bad result": (replace(MERGED, level=2, runs=[*_runs(50, 2, 1), *CLOSED]), 200, 1),
}


@pytest.mark.parametrize("history", HISTORIES)
def test_the_level_after_a_history(history: str) -> None:
    facts, run, level = HISTORIES[history]
    assert evaluate(facts, ANY, _at(run)).level == level


@pytest.mark.parametrize(
    ("bounds", "level", "move"),
    [
        (Ladder(pinned=3), 1, LevelChange.pinned),
        (Ladder(pinned=0), 1, LevelChange.pinned),
        (Ladder(pinned=3, max_level=0), 1, LevelChange.pinned),
        (Ladder(max_level=1), 1, LevelChange.stays),
        (Ladder(max_level=0), 0, LevelChange.capped),
        (Ladder(max_level=2), 2, LevelChange.rises),
    ],
)
def test_a_cap_is_reached_and_a_pin_is_not(bounds: Ladder, level: int, move: LevelChange) -> None:
    verdict = evaluate(_ready(1), bounds, _at(99))
    assert (verdict.level, verdict.move, verdict.before) == (level, move, 1)


def test_a_cap_takes_more_than_one_level_at_once_and_the_way_up_is_earned_again() -> None:
    capped = evaluate(
        LadderFacts(level=4, runs=_runs(600), decisions=_build_approvals(60)), Ladder(max_level=1), _at(600)
    )
    assert (capped.level, capped.move) == (1, LevelChange.capped)
    since = LadderFacts(level=1, since=capped.at, runs=_runs(639), decisions=_build_approvals(60, 580))
    assert evaluate(since, ANY, _at(700)).level == 1
    assert evaluate(replace(since, runs=_runs(640)), ANY, _at(700)).level == 2


def test_a_pin_holds_and_says_what_it_holds_against() -> None:
    facts = LadderFacts(level=2, runs=_runs(60, dismissed=3))
    verdict = evaluate(facts, Ladder(pinned=2), _at(61))
    assert (verdict.level, verdict.is_changed) == (2, False)
    assert verdict.reason.text == (
        "Level 2 is pinned, although it would fall: "
        "150 of 150 findings in the last 50 runs dismissed, 100 %, at most 20 % allowed"
    )


def test_a_share_that_does_not_count_yet_says_so() -> None:
    verdict = evaluate(LadderFacts(runs=_runs(1, posted=1, dismissed=1)), ANY, _at(2))
    assert verdict.move is LevelChange.stays
    assert verdict.reason.children[0].text == (
        "1 of 1 finding in the last run dismissed, 100 %, at most 50 % allowed "
        "(not counted yet: that begins with 10 runs)"
    )


def test_the_reason_names_what_is_missing() -> None:
    verdict = evaluate(LadderFacts(runs=_runs(49), decisions=_build_approvals(10)), ANY, _at(50))
    assert verdict.reason.text == (
        "Level 1 stays; level 2 is not met: 49 completed runs of merged pull requests, at least 50 needed; "
        "approval rate 65.1 %, at least 80 % needed"
    )
    assert [child.code for child in verdict.reason.children] == [
        *["ladder.false_positives", "ladder.missed"],
        *["ladder.runs", "ladder.runs_at_level", "ladder.false_positives", "ladder.missed"],
        *["ladder.approvals", "ladder.people"],
    ]


@pytest.mark.parametrize(
    ("decisions", "rate"),
    [([], 0), ([True], 0.1), ([False], 0), ([True, True], 0.19), ([True, False], 0.09), ([True] * 16, 0.8147)],
)
def test_the_approval_rate_starts_at_zero_and_weighs_the_newest_a_tenth(decisions: Sequence[bool], rate: float) -> None:
    assert approval_rate(decisions) == pytest.approx(rate, abs=1e-4)


@given(st.lists(st.booleans()))
def test_the_approval_rate_is_a_rate(decisions: list[bool]) -> None:
    assert 0 <= approval_rate(decisions) < 1


_LIVES = st.lists(
    st.tuples(st.integers(1, 60), st.integers(0, 3), st.integers(0, 2), st.sampled_from([True, True, False, None])),
    max_size=8,
)


@given(_LIVES, st.integers(0, 4), st.integers(0, 4))
def test_whatever_happens_it_moves_by_one_and_stays_within_its_bounds(
    life: list[tuple[int, int, int, bool | None]], level: int, highest: int
) -> None:
    repository = Repository(min(level, highest), Ladder(max_level=highest))
    for count, dismissed, missed, approved in life:
        repository.run(count, dismissed=dismissed, missed=missed, approved=approved)
        assert 0 <= repository.facts.level <= highest
    rises = [run for run, _, move in repository.moves if move is LevelChange.rises]
    changes = [0, *(run for run, _, _ in repository.moves)]
    assert all(run - max(other for other in changes if other < run) >= 10 for run in rises)


CALM = ActionFacts(
    risk=RiskLevel.low,
    touches_protected=False,
    from_fork=False,
    checks_green=True,
    asked=False,
    is_simple=True,
    is_all_read=True,
    is_read_by_model=True,
)


@pytest.mark.parametrize(
    ("act", "facts", "levels"),
    [
        (Action.comment, CALM, {1, 2, 3, 4}),
        (Action.comment, replace(CALM, asked=True), {0, 1, 2, 3, 4}),
        (Action.comment, replace(CALM, risk=RiskLevel.critical, from_fork=True), {1, 2, 3, 4}),
        (Action.auto_fix, CALM, {2, 3, 4}),
        (Action.auto_fix, replace(CALM, is_simple=False), {4}),
        (Action.auto_fix, replace(CALM, checks_green=False), {2, 3, 4}),
        (Action.auto_approve, CALM, {2, 3, 4}),
        (Action.auto_merge, CALM, {3, 4}),
        (Action.staging_deploy, CALM, {3, 4}),
        (Action.open_issue, CALM, {1, 2, 3, 4}),
        (Action.open_draft_pr, CALM, set[int]()),
        (Action.open_draft_pr, ActionFacts(asked=True), {1, 2, 3, 4}),
        (Action.production_deploy, replace(CALM, asked=True), set[int]()),
    ],
)
def test_what_each_level_allows(act: Action, facts: ActionFacts, levels: set[int]) -> None:
    assert {level for level in range(5) if allows(level, act, facts).allowed} == levels


@pytest.mark.parametrize(
    ("facts", "rule", "acts"),
    [
        (
            replace(CALM, risk=RiskLevel.medium),
            "ladder.low_risk",
            {Action.auto_approve, Action.auto_merge, Action.staging_deploy},
        ),
        (
            replace(CALM, touches_protected=True),
            "ladder.protected_paths",
            {Action.auto_fix, Action.auto_approve, Action.auto_merge, Action.staging_deploy},
        ),
        (replace(CALM, from_fork=True), "ladder.fork", {Action.auto_fix, Action.auto_approve, Action.auto_merge}),
        (replace(CALM, is_all_read=False), "ladder.unread", {Action.auto_fix}),
        (replace(CALM, is_read_by_model=False), "ladder.unread", {Action.auto_approve, Action.auto_merge}),
        (replace(CALM, checks_green=False), "ladder.checks", {Action.auto_approve, Action.auto_merge}),
    ],
)
def test_even_the_highest_level_keeps_to_the_rules(facts: ActionFacts, rule: str, acts: set[Action]) -> None:
    refused = {
        act: allows(4, act, facts) for act in Action if act not in {Action.open_draft_pr, Action.production_deploy}
    }
    assert {act for act, verdict in refused.items() if not verdict.allowed} == acts
    assert {verdict.rule for verdict in refused.values() if not verdict.allowed} == {rule}


@pytest.mark.parametrize("act", Action)
@pytest.mark.parametrize("level", [-1, 0, 5])
def test_no_level_allows_anything_unasked_but_the_four(act: Action, level: int) -> None:
    assert not allows(level, act, CALM).allowed


@pytest.mark.parametrize("act", [act for act in Action if act not in {Action.comment, Action.open_issue}])
def test_where_nothing_is_known_nothing_is_done(act: Action) -> None:
    assert not allows(4, act).allowed


def test_people_can_stop_a_merge_at_level_three() -> None:
    windows = {(level, act) for level in range(5) for act in Action if allows(level, act, CALM).override_window}
    assert windows == {(3, Action.auto_merge), (3, Action.staging_deploy)}


def test_the_reason_names_level_and_rule() -> None:
    refused = allows(2, Action.auto_merge, replace(CALM, risk=RiskLevel.high))
    assert (refused.rule, refused.reason.code, refused.reason.value) == ("ladder.level", "ladder.auto_merge", 2)
    assert refused.reason.text == "Level 2 (acts) does not let Forge merge: it takes level 3 or higher"
    assert [child.text for child in refused.reason.children][1:] == [
        "risk is high for what nobody asked for, and it must be low",
        "it does not change protected paths",
        "its head is in this repository",
        "a model read every changed file",
        "all required checks are green",
    ]
    allowed = allows(3, Action.auto_merge, CALM)
    assert (allowed.rule, allowed.reason.text) == ("ladder.auto_merge", "Level 3 (acts and tells) lets Forge merge")


@pytest.mark.parametrize("risk", [RiskLevel.high, RiskLevel.critical, None])
def test_a_change_of_high_or_unknown_risk_is_not_corrected(risk: RiskLevel | None) -> None:
    verdict = allows(4, Action.auto_fix, replace(CALM, risk=risk))
    assert (verdict.allowed, verdict.rule) == (False, "ladder.moderate_risk")


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("it works", False),
        ("bad!", False),
        ("everything is broken.", False),
        ("carts lose their contents", True),
        ("shop/cart.py", True),
        ("see cart.py:12", True),
        ("合計が間違っています", True),
    ],
)
def test_a_missed_bug_is_told_by_a_place_or_a_few_words(text: str, *, is_told: bool) -> None:
    assert describes_miss(text) is is_told
