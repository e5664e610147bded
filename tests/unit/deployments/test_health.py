"""How a service is, by what could be read: each rule with what it finds and what it leaves alone."""

import pytest

from domain.deployments.health import (
    Health,
    HealthBefore,
    Look,
    check_figure,
    find_sick,
    find_unreadable,
    forget_sick,
    judge,
    judge_return,
)
from domain.deployments.readings import HealthTarget, read_failure
from domain.errors import OutboundRefused
from tests.unit.deployments.figures import ADDRESS, find, look, looks, read, watch

HEALTHY, DEGRADED, UNKNOWN, UNHEALTHY = Health.healthy, Health.degraded, Health.unknown, Health.unhealthy
BEFORE = {"error_rate": 0.01, "latency": 100.0, "throughput": 50.0}


def test_nothing_watched_is_not_well() -> None:
    assert judge(watch(), [], [Look()] * 5, 5).health is UNKNOWN


# --- metrics --------------------------------------------------------------------------------------------------


NO = None  # nobody could read it


@pytest.mark.parametrize(
    ("name", "before", "now", "expected"),
    [
        *(("error_rate", 0.01, [now] * 3, HEALTHY) for now in (0.01, 0.0, 0.0199)),
        *(("error_rate", 0.01, [now] * 3, DEGRADED) for now in (0.0201, 0.0599)),
        ("error_rate", 0.01, [0.0601] * 3, UNHEALTHY),
        ("error_rate", 0.3, [0.3, 0.3], HEALTHY),  # many before excuse as many after, but not more
        ("error_rate", 0.3, [0.36, 0.36], UNHEALTHY),
        ("error_rate", NO, [0.005] * 3, HEALTHY),  # without figures before they count from none
        ("error_rate", NO, [0.03] * 3, DEGRADED),
        ("error_rate", NO, [0.2] * 3, UNHEALTHY),
        *(("latency", 100.0, [now] * 3, HEALTHY) for now in (1.0, 150.0)),
        *(("latency", 100.0, [now] * 3, DEGRADED) for now in (150.1, 250.0)),
        ("latency", 100.0, [250.1] * 3, UNHEALTHY),
        *(("throughput", 50.0, [now] * 3, HEALTHY) for now in (500.0, 35.0)),
        *(("throughput", 50.0, [now] * 3, DEGRADED) for now in (34.9, 20.0)),
        *(("throughput", 50.0, [now] * 3, UNHEALTHY) for now in (19.9, 0.0)),
        *((name, before, [9000.0] * 2, HEALTHY) for name in ("latency", "throughput") for before in (NO, 0.0)),
        *((name, before, [NO] * 3, UNKNOWN) for name, before in BEFORE.items()),
        ("latency", 100, [100, NO, 100, NO], HEALTHY),  # half of the looks must have read a figure
        ("latency", 100, [100, NO, NO, NO], UNKNOWN),
        ("latency", 100, [900, NO, NO, NO], UNHEALTHY),  # what little was read counts if it is bad
        ("latency", 100, [100, 100, 9000, 100, 100], HEALTHY),  # the median forgives an outlier, but not many
        ("latency", 100, [9000, 100, 9000, 100, 9000], UNHEALTHY),
    ],
)
def test_errors_count_by_difference_the_rest_by_ratio(
    name: str, before: float | None, now: list[float | None], expected: Health
) -> None:
    earlier = [] if before is None else looks(name, before, before, before)
    settings = watch(name, patience=20)  # so that only the medians decide
    assert judge(settings, earlier, looks(name, *now), len(now)).health is expected


def test_a_figure_that_was_never_asked_for_is_never_well() -> None:
    assert judge(watch("latency"), [], [Look()] * 3, 3).health is UNKNOWN


def test_an_outlier_before_it_excuses_nothing() -> None:
    before = looks("latency", 100, 5000, 100)
    stage = judge(watch("latency", patience=20), before, looks("latency", 300, 300, 300), 3)
    assert (stage.health, find(stage, "latency").before) == (UNHEALTHY, 100)


def test_huge_figures_stay_finite() -> None:
    stage = judge(watch("latency", patience=20), looks("latency", 1e308, 1e308), looks("latency", 1e308, 1e308), 2)
    signal = find(stage, "latency")
    assert (signal.before, signal.now, signal.health) == (1e308, 1e308, HEALTHY)


def test_limits_are_those_of_the_configuration() -> None:
    strict = watch("latency", latency={"degraded": 1.1, "unhealthy": 1.2}, patience=20)
    assert judge(strict, looks("latency", 100), looks("latency", 115, 115), 2).health is DEGRADED


def test_the_worst_signal_decides() -> None:
    settings = watch("error_rate", "latency", health=1, patience=20)
    before = [look([1], error_rate=0.0, latency=100)]

    def judge_one(health: float | None, errors: float | None, latency: float | None) -> Health:
        return judge(settings, before, [look([health], error_rate=errors, latency=latency)] * 4, 4).health

    assert judge_one(1, 0.0, 100) is HEALTHY
    assert judge_one(1, 0.02, 100) is DEGRADED
    assert judge_one(1, 0.02, None) is UNKNOWN  # what is not known weighs more than what is a little worse
    assert judge_one(None, 0.0, 100) is UNKNOWN
    assert judge_one(1, None, 900) is UNHEALTHY
    assert judge_one(0, 0.0, 100) is UNHEALTHY


# --- addresses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([1] * 20, HEALTHY),
        ([1] * 9 + [0] + [1] * 10, HEALTHY),
        ([1] * 7 + [0] + [1], DEGRADED),
        ([1] * 19 + [0], DEGRADED),  # it may have died just now
        ([1, 0, 1, 0, 1, 1], DEGRADED),
        ([1, 0, 1, 0], UNHEALTHY),
        ([None] * 5, UNKNOWN),
        ([1, None, 1, None], HEALTHY),
        ([1, None, None, None], UNKNOWN),
    ],
)
def test_an_address_must_answer_nearly_always(answers: list[float | None], expected: Health) -> None:
    settings = watch(health=1, patience=20)
    assert judge(settings, [], [look([answer]) for answer in answers], len(answers)).health is expected


def test_every_address_must_answer() -> None:
    stage = judge(watch(health=2, patience=20), [look([1, 1])], [look([1, 0])] * 4, 4)
    assert stage.health is UNHEALTHY
    assert [signal.health for signal in stage.signals] == [HEALTHY, UNHEALTHY]


def test_an_address_that_was_dead_before_is_dead_all_the_same() -> None:
    assert judge(watch(health=1), [look([0])] * 3, [look([0])] * 3, 9).health is UNHEALTHY


def test_a_refused_address_is_not_known() -> None:
    refused = read_failure(HealthTarget(url=ADDRESS), OutboundRefused("it is not of the internet"))
    stage = judge(watch(health=1), [], [Look(health=(refused,))] * 9, 9)
    assert (stage.health, stage.signals[0].problem) == (UNKNOWN, "it is not of the internet")


# --- when it ends ---------------------------------------------------------------------------------------------


def test_bad_looks_in_a_row_end_it_at_once() -> None:
    settings = watch("latency", patience=3)
    before = looks("latency", 100)
    assert not judge(settings, before, looks("latency", 100, 100, 900, 900), 20).is_final
    three = judge(settings, before, looks("latency", 100, 100, 100, 100, 900, 900, 900), 20)
    assert (three.health, three.is_final, three.looks) == (UNHEALTHY, True, 7)
    assert find(three, "latency").now == 900  # of the bad looks alone
    assert len(find(three, "latency").history) == 7


@pytest.mark.parametrize("between", [100.0, None])
def test_a_good_or_unread_look_between_starts_the_row_anew(between: float | None) -> None:
    stage = judge(watch("latency", patience=3), looks("latency", 100), looks("latency", 900, 900, between, 900), 20)
    assert not stage.is_final


def test_different_bad_signs_make_one_row() -> None:
    settings = watch("error_rate", "latency", health=1, patience=3)
    before = [look([1], error_rate=0.0, latency=100)]
    bad = [
        look([0], error_rate=0.0, latency=100),
        look([1], error_rate=0.5, latency=100),
        look([1], error_rate=0.0, latency=900),
    ]
    stage = judge(settings, before, bad, 20)
    assert (stage.health, stage.is_final) == (UNHEALTHY, True)


def test_a_service_that_is_a_little_worse_is_watched_to_the_end() -> None:
    settings, before = watch("latency", patience=2), looks("latency", 100)
    assert not judge(settings, before, looks("latency", *[200] * 9), 10).is_final
    stage = judge(settings, before, looks("latency", *[200] * 10), 10)
    assert (stage.health, stage.is_final) == (DEGRADED, True)


def test_nothing_read_is_watched_to_the_end() -> None:
    settings = watch("latency", patience=2)
    assert not judge(settings, [], looks("latency", *[None] * 9), 10).is_final
    assert judge(settings, [], looks("latency", *[None] * 10), 10).is_final


def test_before_the_first_look_nothing_is_known() -> None:
    stage = judge(watch("latency", health=1), [], [], 8)
    assert (stage.health, stage.is_final, stage.looks) == (UNKNOWN, False, 0)


def test_a_signal_shows_its_course_and_what_went_wrong() -> None:
    stage = judge(watch("latency", patience=20), looks("latency", 90, 110), looks("latency", 100, None, 120), 3)
    signal = find(stage, "latency")
    assert (signal.before, signal.now, signal.history) == (100, 110, (100, None, 120))
    assert signal.problem == "it does not answer"


# --- before it ------------------------------------------------------------------------------------------------


def test_what_could_not_be_read_before_is_named_with_its_reason() -> None:
    before = [
        Look(figures={"error_rate": read(None, "no such path"), "latency": read(None)}),
        Look(figures={"error_rate": read(None, "status 500"), "latency": read(100)}),
    ]
    assert find_unreadable(watch("error_rate", "latency"), before) == ["error_rate: status 500"]
    assert find_unreadable(watch("latency"), []) == ["latency: it was not looked at"]
    assert find_unreadable(watch("latency"), before) == []


# --- how often ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "interval", "patience", "expected"), [(120, 15, 3, 8), (121, 15, 3, 9), (1, 15, 1, 1), (15, 15, 5, 5)]
)
def test_a_step_is_looked_at_long_enough_to_lose_patience(
    window: int, interval: int, patience: int, expected: int
) -> None:
    settings = watch(health=1, window=window, interval=interval, patience=patience, bake=86_400)
    assert settings.count_looks(is_last=False) == expected
    assert settings.count_looks(is_last=True) == 86_400 // interval


def test_a_roll_back_may_get_better_before_it_is_judged() -> None:
    settings, before = watch("error_rate", patience=3), looks("error_rate", 0.0, 0.0, 0.0)
    bad, good = [0.5] * 5, [0.0] * 3
    assert not judge_return(settings, before, looks("error_rate", *bad), 4).is_final
    ended = judge_return(settings, before, looks("error_rate", *bad[:4], *good), 4)
    assert (ended.health, ended.is_final, ended.looks) == (HEALTHY, True, 7)
    failed = judge_return(settings, before, looks("error_rate", *bad, *bad), 4)
    assert (failed.health, failed.is_final) == (UNHEALTHY, True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rate(a[1m])", 4),
        ("rate(a[5m:30s])", 20),
        ("rate(a[ 1m30s ])", 6),
        ("a[500ms]", 3),
        ("a", 3),
        ("rate(a[1m] offset 1m)", 8),
        ("job:errors:rate5m", 20),
        ("job:errors:count / 5", 3),
    ],
)
def test_a_roll_back_settles_as_long_as_its_queries_look_back(query: str, expected: int) -> None:
    settings = watch("error_rate", patience=3, interval=15)
    assert settings.error_rate is not None
    metric = settings.error_rate.model_copy(update={"query": query})
    assert settings.model_copy(update={"error_rate": metric}).more_looks == expected
    assert settings.model_copy(update={"error_rate": metric, "settle": 301}).more_looks == 21


def test_a_roll_back_of_which_no_address_answers_is_bad_at_once() -> None:
    settings = watch("error_rate", health=1, patience=3)
    dead, well = look([0], error_rate=0.0), look([1], error_rate=0.0)
    assert judge_return(settings, [well] * 3, [dead] * 3, 8).is_final
    assert not judge_return(settings, [well] * 3, [dead, dead, well], 8).is_final


def test_what_came_before_the_bad_looks_is_counted() -> None:
    settings = watch("error_rate", patience=3)
    ended = judge(settings, [], looks("error_rate", 0, 0, 0.5, 0.5, 0.5), 8)
    assert (ended.health, ended.is_final, ended.bad_after) == (UNHEALTHY, True, 2)
    assert judge_return(settings, [], looks("error_rate", 0, 0, 0.5, 0.5, 0.5), 2).bad_after == 0


def test_what_took_long_to_be_seen_may_take_as_long_to_vanish() -> None:
    settings, before = watch("error_rate", patience=3), looks("error_rate", 0.0, 0.0, 0.0)
    late = looks("error_rate", *[0.5] * 9)
    assert judge_return(settings, before, late[:7], 4).is_final
    assert not judge_return(settings, before, late[:8], 4, bad_after=5).is_final
    assert judge_return(settings, before, [*late, *looks("error_rate", 0, 0, 0)], 4, bad_after=5).health is HEALTHY


def test_a_roll_back_is_looked_at_while_it_gets_better_but_not_for_ever() -> None:
    settings, before = watch("error_rate", patience=3), looks("error_rate", 0.0, 0.0, 0.0)
    falling = looks("error_rate", *[0.5 - 0.01 * number for number in range(40)])
    assert not judge_return(settings, before, falling[:12], 4).is_final
    assert judge_return(settings, before, [*falling[:12], falling[0]], 4).is_final
    longest = 4 + settings.more_looks + settings.count_looks(is_last=True)
    ended = judge_return(settings, before, falling[:longest], 4)
    assert (ended.is_final, ended.health) == (True, UNHEALTHY)


def test_less_traffic_is_no_improvement() -> None:
    settings, before = watch("throughput", patience=3), looks("throughput", 50, 50, 50)
    rising, falling = looks("throughput", *range(1, 9)), looks("throughput", *range(9, 1, -1))
    assert not judge_return(settings, before, rising, 4).is_final
    assert judge_return(settings, before, falling, 4).is_final


def test_what_was_sick_before_is_named() -> None:
    errors = watch("error_rate")
    assert find_sick(errors, HealthBefore(looks("error_rate", 0.3, 0.3, 0.3))) == {"error_rate": "error_rate is 0.3"}
    assert find_sick(errors, HealthBefore(looks("error_rate", 0.01, 0.01))) == {}
    settings = watch(health=1)
    assert find_sick(settings, HealthBefore([look([None]), look([None])])) == {}
    assert [*find_sick(settings, HealthBefore([look([0]), look([None])]))] == [f"{ADDRESS}/0"]


def test_latency_is_sick_by_what_it_was_when_it_was_well() -> None:
    settings, before = watch("latency"), looks("latency", 251.0, 251.0)
    told = "latency is 251, and was 100 when it was well"
    assert find_sick(settings, HealthBefore(before, {"latency": 100.0})) == {"latency": told}
    assert find_sick(settings, HealthBefore(before, {"latency": 101.0})) == {}
    assert find_sick(settings, HealthBefore(before)) == {}


def test_beside_a_sick_version_the_new_one_only_has_to_make_nothing_worse() -> None:
    settings, sick = watch("error_rate", health=1, patience=2), ["error_rate", f"{ADDRESS}/0"]
    before = [look([0], error_rate=0.6)] * 3
    same = judge(settings, before, [look([0], error_rate=0.6)] * 2, 2, sick)
    assert (same.health, same.is_final, find(same, "error_rate").was_sick) == (HEALTHY, True, True)
    assert judge(settings, before, [look([0], error_rate=0.7)] * 2, 2, sick).health is UNHEALTHY
    assert judge(settings, before, [look([None], error_rate=0.6)] * 2, 2, sick).health is UNKNOWN


def test_what_replaces_a_sick_version_has_to_be_well() -> None:
    settings = watch("error_rate", "latency", health=1, patience=2)
    baseline = HealthBefore([look([0], error_rate=0.6, latency=900.0)] * 3, {"latency": 100.0})
    before = forget_sick(settings, baseline)
    bad, good = look([1], error_rate=0.5, latency=120.0), look([1], error_rate=0.0, latency=120.0)
    assert judge_return(settings, before, [bad, bad, bad, good, good], 4).health is HEALTHY
    slow = look([1], error_rate=0.0, latency=300.0)
    for wrong in (bad, slow):
        assert judge_return(settings, before, [good, wrong, wrong], 2).health is UNHEALTHY


@pytest.mark.parametrize(("name", "value"), [("error_rate", 37.0), ("error_rate", -0.1), ("latency", -1.0)])
def test_a_figure_that_cannot_be_is_none(name: str, value: float) -> None:
    metric = watch(name).metrics[name]
    assert check_figure(metric, read(value)).value is None
    assert check_figure(metric, read(0.5)).value == 0.5


def test_a_small_rise_of_latency_is_noise() -> None:
    settings = watch("latency", patience=20)
    assert settings.latency is not None
    quiet = settings.model_copy(update={"latency": settings.latency.model_copy(update={"least": 50.0})})
    before, now = looks("latency", 9.0, 9.0, 9.0), looks("latency", 35.0, 35.0, 35.0)
    assert judge(settings, before, now, 3).health is UNHEALTHY
    assert judge(quiet, before, now, 3).health is HEALTHY
