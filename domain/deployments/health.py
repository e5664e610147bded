"""Judges from readings whether what was deployed is well. Nothing is ever well because nothing could be read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from statistics import median_high, median_low

from domain.config.deploy import AnyMetric, ErrorRate, Latency, Throughput, WatchSettings
from domain.deployments.readings import Reading
from domain.value import Value

_MOST_FAILED = 0.1  # of the looks at a health address, beyond which it is not well
_LEAST_READ = 0.5  # of the looks, below which a figure counts as unknown
_HALF = 0.5


class Health(StrEnum):
    """How a service is."""

    healthy = "healthy"
    degraded = "degraded"
    unknown = "unknown"  # too little could be read
    unhealthy = "unhealthy"


_WORSE = (Health.healthy, Health.degraded, Health.unknown, Health.unhealthy)


class Look(Value):
    """What was read at one moment.

    :param health: of each health address, in order: 1 if it answers well, else 0.
    :param figures: by name of the metric.
    """

    health: tuple[Reading, ...] = ()
    figures: Mapping[str, Reading] = {}


class Signal(Value):
    """What one address or metric says.

    :param before: the figure before the deployment; None if there is none.
    :param now: the median since the step; None if nothing was read.
    :param history: the figures in order, None where nothing was read.
    :param problem: why something could not be read, for people.
    :param was_sick: it was not well before, so that it is only judged by whether it got worse.
    """

    name: str
    health: Health
    before: float | None = None
    now: float | None = None
    history: tuple[float | None, ...] = ()
    problem: str = ""
    was_sick: bool = False


class StageHealth(Value):
    """How the service is after a step.

    :param is_final: no further look would change what follows.
    :param looks: how many looks it took.
    :param bad_after: how many of them came before the bad ones that ended it.
    """

    health: Health
    signals: tuple[Signal, ...]
    looks: int
    is_final: bool
    bad_after: int = 0


def check_figure(metric: AnyMetric, reading: Reading) -> Reading:
    """The reading; none where the figure cannot be what it is called, because the source or its query is wrong."""
    if reading.value is None:
        return reading
    if isinstance(metric, ErrorRate) and not 0 <= reading.value <= 1:
        return Reading(problem=f"{reading.value:.4g} is no share of the requests, which is from 0 to 1.")
    return reading if reading.value >= 0 else Reading(problem=f"{reading.value:.4g} is below 0.")


@dataclass(frozen=True)
class HealthBefore:
    """What is compared with.

    :param looks: before the deployment; none if there was nothing to look at.
    :param well: the figures at the end of the last deployment that was well, by name of the metric.
    """

    looks: Sequence[Look] = ()
    well: Mapping[str, float] = field(default_factory=dict[str, float])


def judge(
    verify: WatchSettings, before: Sequence[Look], looks: Sequence[Look], wanted: int, sick: Collection[str] = ()
) -> StageHealth:
    """Judge a step.

    Bad looks in a row, as many as ``verify.patience``, end it at once. Otherwise the medians decide once all looks
    were taken.

    :param before: the looks before the deployment; none if there was nothing to look at.
    :param looks: those since the step, oldest first.
    :param wanted: how many are taken.
    :param sick: addresses and metrics that were not well before: while the old version has a part of the traffic,
        they can only show whether it got worse.
    """
    recent = looks[-verify.patience :]
    fails = len(recent) >= verify.patience and all(_is_bad(verify, before, look, sick) for look in recent)
    judged = recent if fails else looks
    signals = [_judge_address(verify, before, judged, looks, place) for place in range(len(verify.health))]
    signals += [_judge_metric(name, metric, before, judged, looks) for name, metric in verify.metrics.items()]
    signals = [_excuse(signal) if signal.name in sick else signal for signal in signals]
    health = max((signal.health for signal in signals), key=_WORSE.index, default=Health.unknown)
    if fails:
        health = Health.unhealthy
    is_final = fails or len(looks) >= wanted
    bad_after = len(looks) - len(recent) if fails else 0
    return StageHealth(health=health, signals=tuple(signals), looks=len(looks), is_final=is_final, bad_after=bad_after)


def judge_return(
    verify: WatchSettings, before: Sequence[Look], looks: Sequence[Look], wanted: int, bad_after: int = 0
) -> StageHealth:
    """Judge what has to be well again: by its last looks, as earlier ones still remember what was there before it.

    It is well once so many looks in a row are, as ``verify.patience`` says, and as many were taken as after a step. A
    health address remembers nothing, so one that never answers ends it as soon. Otherwise it may get better: for
    :attr:`WatchSettings.more_looks`, for as long as the trouble took to be seen, and then while it does get better.

    :param before: of which :func:`forget_sick` left what was well.
    :param wanted: how many looks are taken after a step.
    :param bad_after: how many looks it took to see what was wrong.
    """
    recent = looks[-verify.patience :]
    judged = judge(verify, before, recent, len(recent))
    has_enough = len(recent) >= verify.patience
    is_well = has_enough and judged.health is Health.healthy and len(looks) >= wanted
    is_dead = has_enough and all(any(reading.value == 0 for reading in look.health) for look in recent)
    most = wanted + verify.more_looks + bad_after
    is_late = len(looks) >= most + (verify.count_looks(is_last=True) if _gets_better(verify, judged, looks) else 0)
    return judged.model_copy(update={"looks": len(looks), "is_final": is_well or is_dead or is_late})


def find_sick(verify: WatchSettings, measure: HealthBefore) -> Mapping[str, str]:
    """What was not well before a deployment already, with how it was: it is no measure of what comes."""
    found: dict[str, str] = {}
    for place, check in enumerate(verify.health):
        readings = [look.health[place].value for look in measure.looks if place < len(look.health)]
        answers = [value for value in readings if value is not None]
        if answers and not any(answers):
            found[check.url] = f"{check.url} does not answer well"
    errors = _median(measure.looks, "error_rate")
    if verify.error_rate is not None and errors is not None and errors > verify.error_rate.unhealthy:
        found["error_rate"] = f"error_rate is {errors:.4g}"
    latency, usual = _median(measure.looks, "latency"), measure.well.get("latency")
    is_slow = verify.latency is not None and usual and _compare(verify.latency, usual, latency) is Health.unhealthy
    if latency is not None and is_slow:
        found["latency"] = f"latency is {latency:.4g}, and was {usual:.4g} when it was well"
    return found


def forget_sick(verify: WatchSettings, measure: HealthBefore) -> Sequence[Look]:
    """What a service is compared with that has to be well: the looks before, without what was not well in them.

    In its place are the figures of when it was well, if they are known.
    """
    sick = find_sick(verify, measure)
    if not sick:
        return measure.looks
    return [_forget(verify, look, sick, measure.well) for look in measure.looks]


def find_unreadable(verify: WatchSettings, before: Sequence[Look]) -> Sequence[str]:
    """The metrics of which nothing could be read before a deployment, with the reason: nothing compares with them."""
    found: list[str] = []
    for name in verify.metrics:
        readings = [look.figures[name] for look in before if name in look.figures]
        if not any(reading.value is not None for reading in readings):
            problem = readings[-1].problem if readings else "it was not looked at"
            found.append(f"{name}: {problem}")
    return found


def _forget(verify: WatchSettings, look: Look, sick: Collection[str], well: Mapping[str, float]) -> Look:
    health = (
        Reading() if check.url in sick else reading for check, reading in zip(verify.health, look.health, strict=False)
    )
    figures = {name: Reading(value=well.get(name)) if name in sick else each for name, each in look.figures.items()}
    return Look(health=tuple(health), figures=figures)


def _excuse(signal: Signal) -> Signal:
    """What was not well before counts as well if it got no worse, which an address that never answered cannot."""
    is_worse = signal.health is Health.unhealthy and signal.before != 0
    is_excused = signal.health is not Health.unknown and not is_worse
    return signal.model_copy(update={"was_sick": True, "health": Health.healthy if is_excused else signal.health})


def _gets_better(verify: WatchSettings, judged: StageHealth, looks: Sequence[Look]) -> bool:
    """Whether every metric that is not well got better with each of the last looks."""
    bad = [signal for signal in judged.signals if signal.health is not Health.healthy]
    metrics = [signal.name for signal in bad if signal.name in verify.metrics]
    return len(metrics) == len(bad) > 0 and all(_improves(name, looks[-verify.patience - 1 :]) for name in metrics)


def _improves(name: str, looks: Sequence[Look]) -> bool:
    values = [look.figures[name].value for look in looks if name in look.figures]
    known = [value if name != "throughput" else -value for value in values if value is not None]
    return len(known) == len(looks) > 1 and all(later < earlier for earlier, later in pairwise(known))


def _is_bad(verify: WatchSettings, before: Sequence[Look], look: Look, sick: Collection[str]) -> bool:
    """Whether one look alone shows an unhealthy service."""
    addresses = zip(verify.health, look.health, strict=False)
    if any(reading.value == 0 and check.url not in sick for check, reading in addresses):
        return True
    return any(
        _compare(metric, _median(before, name), look.figures[name].value) is Health.unhealthy
        for name, metric in verify.metrics.items()
        if name in look.figures
    )


def _judge_address(
    verify: WatchSettings, before: Sequence[Look], judged: Sequence[Look], looks: Sequence[Look], place: int
) -> Signal:
    readings = [look.health[place] for look in judged if place < len(look.health)]
    answered = [reading.value for reading in readings if reading.value is not None]
    share = sum(answered) / len(answered) if answered else None
    earlier = [value for look in before if (value := look.health[place].value) is not None]
    return Signal(
        name=verify.health[place].url,
        health=_grade_address(share, answered, len(readings)),
        before=sum(earlier) / len(earlier) if earlier else None,
        now=share,
        history=tuple(look.health[place].value for look in looks),
        problem=next((reading.problem for reading in reversed(readings) if reading.problem), ""),
    )


def _grade_address(share: float | None, answered: Sequence[float], asked: int) -> Health:
    """:param share: of the looks at which it was well."""
    if share is None or len(answered) < asked * _LEAST_READ:
        return Health.unknown
    return _grade(share <= _HALF, share < 1 - _MOST_FAILED or not answered[-1])


def _judge_metric(
    name: str,
    metric: AnyMetric,
    before: Sequence[Look],
    judged: Sequence[Look],
    looks: Sequence[Look],
) -> Signal:
    readings = [look.figures[name] for look in judged if name in look.figures]
    values = [reading.value for reading in readings if reading.value is not None]
    problems = [reading.problem for reading in readings if reading.value is None]
    earlier = _median(before, name)
    now = _compute_median(values)
    known = len(values) >= max(1, len(judged) * _LEAST_READ)
    health = _compare(metric, earlier, now)
    return Signal(
        name=name,
        health=health if known or health is Health.unhealthy else Health.unknown,
        before=earlier,
        now=now,
        history=tuple(look.figures[name].value for look in looks if name in look.figures),
        problem=problems[-1] if problems else "",
    )


def _compare(metric: AnyMetric, before: float | None, now: float | None) -> Health:
    """How a figure compares with the one before. Without one before, errors count from none, and the rest is well."""
    if now is None:
        return Health.unknown
    if isinstance(metric, ErrorRate):
        rise = now - (before or 0.0)
        return _grade(rise > metric.unhealthy, rise > metric.degraded)
    if before is None or before <= 0:
        return Health.healthy
    ratio = now / before
    if isinstance(metric, Latency) and now - before < metric.least:
        return Health.healthy
    if isinstance(metric, Throughput):
        return _grade(ratio < metric.unhealthy, ratio < metric.degraded)
    return _grade(ratio > metric.unhealthy, ratio > metric.degraded)


def _grade(is_unhealthy: bool, is_degraded: bool) -> Health:
    return Health.unhealthy if is_unhealthy else Health.degraded if is_degraded else Health.healthy


def _median(looks: Sequence[Look], name: str) -> float | None:
    values = [look.figures[name].value for look in looks if name in look.figures]
    return _compute_median([value for value in values if value is not None])


def _compute_median(values: Sequence[float]) -> float | None:
    """The median; the sum of two huge figures would be infinite, so their halves are added."""
    return median_low(values) / 2 + median_high(values) / 2 if values else None
