"""What follows when an agent was caught giving up in disguise."""

import pytest

from domain.gates import Choice
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.runs.patches import RequiredFix, list_required_fixes
from domain.runs.recovery import (
    AFTER_GUIDANCE,
    MOST_ATTEMPTS,
    AgentMake,
    Caught,
    HiddenFailure,
    RecoveryAttempt,
    RecoveryOutcome,
    RecoveryTrigger,
    Strategy,
    choose_strategy,
    diagnose,
    list_certain_failures,
    list_hidden,
    select_counted,
    select_related,
)
from tests.unit.domain.recoveries import ELSEWHERE, ORDER, SKIPPED, catch
from tests.unit.domain.recoveries import build_attempt as attempt


def find_triggers(caught: Caught, *past: RecoveryAttempt) -> list[RecoveryTrigger]:
    return [*diagnose("run", caught, select_related(past, "run", caught)).triggers]


@pytest.mark.parametrize(("made", "is_asked"), [(0, False), (1, False), (2, False), (3, True), (4, True)])
def test_people_are_asked_after_three_attempts(made: int, is_asked: bool) -> None:
    past = [attempt(number + 1) for number in range(made)]
    assert (RecoveryTrigger.attempts in find_triggers(catch(), *past)) == is_asked
    assert diagnose("run", catch(), past).attempts == made


def test_a_strategy_is_tried_once_between_two_answers() -> None:
    past: list[RecoveryAttempt] = []
    for expected in ORDER:
        assert choose_strategy(past) is expected
        past.append(attempt(len(past) + 1, strategy=expected))
    again = attempt(4, strategy=choose_strategy((), Choice.retry), answer=Choice.retry)
    assert again.strategy is Strategy.cause
    assert choose_strategy(select_counted([*past, again])) is Strategy.restore
    assert choose_strategy((), Choice.approve) is Strategy.guided


@pytest.mark.parametrize(
    ("answer", "most"),
    [(Choice.approve, AFTER_GUIDANCE), (Choice.retry, MOST_ATTEMPTS), (Choice.other_agent, MOST_ATTEMPTS)],
)
def test_an_answer_begins_to_count_anew(answer: Choice, most: int) -> None:
    before = [attempt(number) for number in (1, 2, 3)]
    after = [attempt(4 + number, answer=answer if number == 0 else None) for number in range(most)]
    assert RecoveryTrigger.attempts in find_triggers(catch(), *before, *after)
    if most > 1:
        assert RecoveryTrigger.attempts not in find_triggers(catch(), *before, *after[:-1])


def test_after_a_rejection_nothing_before_it_counts() -> None:
    """Whoever begins a new run after it has all attempts again; after silence there are none."""
    asked = attempt(4, strategy=None, run_id="earlier")
    past = [attempt(number, run_id="earlier") for number in (1, 2, 3)]
    assert find_triggers(catch(), *past, asked.model_copy(update={"answer": Choice.reject})) == []
    assert RecoveryTrigger.attempts in find_triggers(catch(), *past, asked)


def test_the_same_trouble_counts_whoever_finds_it_and_in_whichever_run() -> None:
    there = attempt(1, run_id="earlier", work="implement T2")
    moved = attempt(2, run_id="earlier", hidden=(SKIPPED.model_copy(update={"line": 90}),))
    others = [
        attempt(3, run_id="earlier", hidden=(ELSEWHERE,)),
        attempt(4, run_id="earlier", hidden=(SKIPPED.model_copy(update={"kind": AvoidanceKind.failure_hidden}),)),
    ]
    mine = attempt(5, hidden=(ELSEWHERE,))
    past = [there, moved, *others, mine]
    assert select_related(past, "run", catch()) == [there, moved, mine]
    assert select_related(past, "run", catch(work="mend 1")) == [there, moved]


def test_who_leaves_the_same_change_repeats_itself() -> None:
    assert find_triggers(catch(change="change 1"), attempt(1)) == [RecoveryTrigger.repeats]
    assert find_triggers(catch(change="change 1"), attempt(1), attempt(2)) == []
    assert find_triggers(catch(change="change 1"), attempt(1, run_id="earlier")) == []
    assert find_triggers(catch(change="change 1"), attempt(1, strategy=None)) == []


@pytest.mark.parametrize(
    ("hidden", "is_critical"),
    [
        ((SKIPPED,) * 4, False),
        ((SKIPPED,) * 5, True),
        ((SKIPPED.model_copy(update={"kind": AvoidanceKind.failure_hidden, "what": "The test `a` is gone."}),), False),
    ],
)
def test_much_at_once_asks_people_at_once(hidden: tuple[HiddenFailure, ...], is_critical: bool) -> None:
    assert find_triggers(catch(*hidden)) == ([RecoveryTrigger.critical] if is_critical else [])


def test_a_failure_that_comes_and_goes_asks_people() -> None:
    assert find_triggers(catch(is_flaky=True)) == [RecoveryTrigger.flaky]
    assert find_triggers(catch(is_spent=True)) == [RecoveryTrigger.attempts]


def test_a_doubtful_diagnosis_asks_people() -> None:
    """Each attempt in vain makes it less sure, and so does a failure that is hidden somewhere else each time."""
    unsure = SKIPPED.model_copy(update={"confidence": 0.7})
    assert find_triggers(catch(unsure), attempt(1, hidden=(unsure,))) == []
    elsewhere = ELSEWHERE.model_copy(update={"confidence": 0.7})
    assert find_triggers(catch(elsewhere), attempt(1, hidden=(unsure,))) == [RecoveryTrigger.doubtful]
    assert find_triggers(catch(ELSEWHERE), attempt(1)) == []
    assert diagnose("run", catch(), [attempt(1, outcome=RecoveryOutcome.mended)]).confidence == 0.9


def test_what_is_sent_back_is_read_again_as_what_was_hidden() -> None:
    found = Avoidance(
        kind=AvoidanceKind.test_skipped, path="tests/test_a.py", line=3, what="It is skipped.", confidence=0.9
    )
    doubtful = found.model_copy(update={"confidence": 0.6})
    excused = found.model_copy(update={"excuse": "That was asked for."})
    assert list_certain_failures([found, doubtful, excused]) == (SKIPPED,)
    assert list_hidden(list_required_fixes([found, doubtful, excused])) == (SKIPPED,)
    others = [
        RequiredFix(path="a.py", rule="ruff/F821", message="Undefined."),
        RequiredFix(path="a.py", rule="avoidance/of-tomorrow", message="Who knows?"),
        RequiredFix(path="a.py", rule="avoidance/test-skipped", message="Perhaps.", confidence=0.5),
    ]
    assert list_hidden(others) == ()


def test_there_are_two_makes_of_agents() -> None:
    assert [make.opposite for make in AgentMake] == [AgentMake.other, AgentMake.own]
