"""Judges from readings whether what was deployed is well. Nothing is ever well because nothing could be read."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import median_high, median_low

from pydantic import BaseModel, ConfigDict

from domain.config.deploy import AnyMetric, ErrorRate, Latency, Throughput, WatchSettings
from domain.deployments.readings import Reading

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


class Look(BaseModel):
    """What was read at one moment.

    :param health: of each health address, in order: 1 if it answers well, else 0.
    :param figures: by name of the metric.
    """

    model_config = ConfigDict(frozen=True)

    health: tuple[Reading, ...] = ()
    figures: Mapping[str, Reading] = {}


class Signal(BaseModel):
    """What one address or metric says.

    :param before: the figure before the deployment; None if there is none.
    :param now: the median since the step; None if nothing was read.
    :param history: the figures in order, None where nothing was read.
    :param problem: why something could not be read, for people.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    health: Health
    before: float | None = None
    now: float | None = None
    history: tuple[float | None, ...] = ()
    problem: str = ""


class StageHealth(BaseModel):
    """How the service is after a step.

    :param is_final: no further look would change what follows.
    :param looks: how many looks it took.
    """

    model_config = ConfigDict(frozen=True)

    health: Health
    signals: tuple[Signal, ...]
    looks: int
    is_final: bool


def judge(verify: WatchSettings, before: Sequence[Look], looks: Sequence[Look], wanted: int) -> StageHealth:
    """Judge a step.

    Bad looks in a row, as many as ``verify.patience``, end it at once. Otherwise the medians decide once all looks
    were taken.

    :param before: the looks before the deployment; none if there was nothing to look at.
    :param looks: those since the step, oldest first.
    :param wanted: how many are taken.
    """
    recent = looks[-verify.patience :]
    fails = len(recent) >= verify.patience and all(_is_bad(verify, before, look) for look in recent)
    judged = recent if fails else looks
    signals = [_judge_address(verify, before, judged, looks, place) for place in range(len(verify.health))]
    signals += [_judge_metric(name, metric, before, judged, looks) for name, metric in verify.metrics.items()]
    health = max((signal.health for signal in signals), key=_WORSE.index, default=Health.unknown)
    if fails:
        health = Health.unhealthy
    is_final = fails or len(looks) >= wanted
    return StageHealth(health=health, signals=tuple(signals), looks=len(looks), is_final=is_final)


def judge_return(verify: WatchSettings, before: Sequence[Look], looks: Sequence[Look], wanted: int) -> StageHealth:
    """Judge a roll-back: by its last looks, as earlier ones still remember what it took back.

    It is well once so many looks in a row are, as ``verify.patience`` says, and as many were taken as after a step.
    Until then it may get better for :attr:`WatchSettings.more_looks` more.

    :param wanted: how many looks are taken after a step.
    """
    recent = looks[-verify.patience :]
    judged = judge(verify, before, recent, len(recent))
    is_well = judged.health is Health.healthy and len(recent) >= verify.patience
    is_final = (is_well and len(looks) >= wanted) or len(looks) >= wanted + verify.more_looks
    return judged.model_copy(update={"looks": len(looks), "is_final": is_final})


def find_sick(verify: WatchSettings, before: Sequence[Look]) -> Sequence[str]:
    """What was not well before a deployment already, so that it is no measure of what comes."""
    found: list[str] = []
    for place, check in enumerate(verify.health):
        readings = [look.health[place].value for look in before if place < len(look.health)]
        answers = [value for value in readings if value is not None]
        if answers and not any(answers):
            found.append(f"{check.url} does not answer well")
    errors = _median(before, "error_rate")
    if verify.error_rate is not None and errors is not None and errors > verify.error_rate.unhealthy:
        found.append(f"error_rate is {errors:.4g}")
    return found


def find_unreadable(verify: WatchSettings, before: Sequence[Look]) -> Sequence[str]:
    """The metrics of which nothing could be read before a deployment, with the reason: nothing compares with them."""
    found: list[str] = []
    for name in verify.metrics:
        readings = [look.figures[name] for look in before if name in look.figures]
        if not any(reading.value is not None for reading in readings):
            problem = readings[-1].problem if readings else "it was not looked at"
            found.append(f"{name}: {problem}")
    return found


def _is_bad(verify: WatchSettings, before: Sequence[Look], look: Look) -> bool:
    """Whether one look alone shows an unhealthy service."""
    if any(reading.value == 0 for reading in look.health):
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
