"""Computes Forge's metrics week by week; unknown values stay unknown."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from statistics import median

from domain.money import MICRO
from domain.runs.run import Phase, RunState

WEEK = timedelta(weeks=1)
_BLOCKS = "▁▂▃▄▅▆▇█"
_NOTHING = "·"  # in a trend, a week without data


class Measure(StrEnum):
    """How the observations of a week are aggregated."""

    share = "share"  # of those counted
    mean = "mean"
    median = "median"
    total = "total"


@dataclass(frozen=True)
class Metric:
    """One figure.

    :param unit: the unit; empty for a share.
    """

    name: str
    title: str
    measure: Measure
    unit: str = ""


def _iterations(phase: Phase) -> Metric:
    return Metric(f"iterations_{phase.value}", f"iterations ({phase.value})", Measure.mean, "per run")


ITERATIONS: Mapping[Phase, Metric] = {phase: _iterations(phase) for phase in Phase}
TOOL_SUCCESS = Metric("tool_success", "checks and tools that worked", Measure.share)
BOUNCES = Metric("bounces", "sent back", Measure.mean, "per run")
BOUNCES_RESOLVED = Metric("bounces_resolved", "sent back and mended", Measure.share)
LEARNINGS = Metric("learnings", "memories taught", Measure.mean, "per run")
APPLICATION = Metric("application", "tasks that memories helped", Measure.share)
PRECISION = Metric("recall_precision", "memories told that helped", Measure.share)
DISMISSAL = Metric("dismissal", "findings dismissed", Measure.share)
TO_DISMISSAL = Metric("dismissal_seconds", "time to dismissal", Measure.median, "s")
OVERRIDE = Metric("override", "merged against the verdict", Measure.share)
RESPONSE = Metric("response_seconds", "time to response", Measure.median, "s")
COST = Metric("cost_usd", "cost", Measure.mean, "USD per run")
SUCCESS = Metric("success", "success rate", Measure.share)
FIRST_PASS = Metric("first_pass", "approved at the first review", Measure.share)
RECOVERY_ATTEMPTS = Metric("recovery_attempts", "recovery attempts", Measure.mean, "per case")
RECOVERED = Metric("recovered", "mended without a person", Measure.share)
ESCALATED = Metric("escalated", "a person was asked to recover", Measure.share)
FALSE_ALARMS = Metric("avoidance_false_alarms", "false alarms", Measure.share)
JUDGED_RIGHT = Metric("avoidance_precision", "judged right", Measure.share)
LET_PASS = Metric("let_pass", "let pass", Measure.total)
DESTRUCTIVE_APPROVED = Metric("destructive_approved", "destructive approved", Measure.share)
ALTERNATIVES = Metric("alternatives_found", "done otherwise", Measure.share)

METRICS: Sequence[Metric] = (
    SUCCESS,
    FIRST_PASS,
    COST,
    *ITERATIONS.values(),
    TOOL_SUCCESS,
    BOUNCES,
    BOUNCES_RESOLVED,
    LEARNINGS,
    APPLICATION,
    PRECISION,
    DISMISSAL,
    TO_DISMISSAL,
    OVERRIDE,
    RESPONSE,
    RECOVERY_ATTEMPTS,
    RECOVERED,
    ESCALATED,
    FALSE_ALARMS,
    JUDGED_RIGHT,
    LET_PASS,
    DESTRUCTIVE_APPROVED,
    ALTERNATIVES,
)


@dataclass(frozen=True)
class RunFact:
    """A finished run that did some work.

    :param at: when it began.
    :param calls: model calls by phase; phases without calls are omitted.
    :param cost: micro-USD.
    :param bounces: how often its change was sent back; None: it is no run of an issue.
    """

    at: datetime
    state: RunState
    calls: Mapping[Phase, int] = field(default_factory=dict[Phase, int])
    cost: int = 0
    bounces: int | None = None


@dataclass(frozen=True)
class TroubleFact:
    """One piece of work in which an agent gave up in disguise.

    :param at: when it was caught first.
    :param attempts: that were made to recover.
    :param is_mended: without a person.
    :param is_escalated: people were asked.
    """

    at: datetime
    attempts: int
    is_mended: bool
    is_escalated: bool


@dataclass(frozen=True)
class Facts:
    """What counts for several metrics at once, in any order; each moment decides the week.

    :param first: first verdicts on pull requests; whether they approved.
    """

    runs: Sequence[RunFact] = ()
    first: Sequence[tuple[datetime, bool]] = ()
    troubles: Sequence[TroubleFact] = ()


@dataclass(frozen=True)
class Observation:
    """One observation, or the sum of several. A mean divides by ``of``, so that values without a run can be spread."""

    metric: Metric
    at: datetime
    value: float
    of: int = 1


@dataclass(frozen=True)
class Series:
    """A metric week by week, the oldest first; None where nothing is known.

    :param counts: the number of observations of each value.
    """

    metric: Metric
    values: Sequence[float | None]
    counts: Sequence[int]

    @property
    def now(self) -> float | None:
        """The value of the week that ends now."""
        return self.values[-1]


Sums = Mapping[str, tuple[float, int]]
"""Name of a metric → the sum of its values, of how many."""
_BY_NAME = {metric.name: metric for metric in METRICS}


def find_end_of_day(moment: datetime) -> datetime:
    """The end of the UTC day of a time; so end the weeks of the metrics."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def fold(observations: Iterable[Observation]) -> Sums:
    """Sum up observations, for all but medians, which no sum can tell."""
    found: dict[str, tuple[float, int]] = {}
    for each in observations:
        value, of = found.get(each.metric.name, (0.0, 0))
        found[each.metric.name] = value + each.value, of + each.of
    return found


def unfold(sums: Sums, at: datetime) -> Iterator[Observation]:
    """One observation for each sum; of metrics that are no more, none."""
    for name, (value, of) in sums.items():
        if (metric := _BY_NAME.get(name)) is not None:
            yield Observation(metric, at, value, of)


def build_series(
    observations: Iterable[Observation], now: datetime, weeks: int, since: datetime | None = None
) -> Sequence[Series]:
    """Every metric over the last weeks of seven days; the last one ends now.

    :param since: earlier data is incomplete, so earlier weeks are unknown.
    """
    seen: defaultdict[tuple[Metric, int], list[Observation]] = defaultdict(list)
    for each in observations:
        ago = (now - each.at) // WEEK
        if 0 <= ago < weeks and (since is None or now - WEEK * (ago + 1) >= since):
            seen[each.metric, weeks - 1 - ago].append(each)
    return [_build_one(metric, [seen[metric, week] for week in range(weeks)]) for metric in METRICS]


def observe(facts: Facts) -> Iterator[Observation]:
    """The single observations."""
    for run in facts.runs:
        yield from _observe_run(run)
    yield from (Observation(FIRST_PASS, at, approved) for at, approved in facts.first)
    for trouble in facts.troubles:
        yield Observation(RECOVERY_ATTEMPTS, trouble.at, trouble.attempts)
        yield Observation(RECOVERED, trouble.at, trouble.is_mended)
        yield Observation(ESCALATED, trouble.at, trouble.is_escalated)


def render_trend(values: Sequence[float | None]) -> str:
    """A sparkline; flat if all values are the same."""
    known = [value for value in values if value is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    return "".join(_NOTHING if value is None else _BLOCKS[_height(value, least, most)] for value in values)


def _height(value: float, least: float, most: float) -> int:
    if most == least:
        return len(_BLOCKS) // 2 - 1
    return round((value - least) / (most - least) * (len(_BLOCKS) - 1))


def _observe_run(run: RunFact) -> Iterator[Observation]:
    for phase, count in run.calls.items():
        yield Observation(ITERATIONS[phase], run.at, count)
    yield Observation(COST, run.at, run.cost / MICRO)
    yield Observation(LEARNINGS, run.at, 0)
    if run.state is not RunState.cancelled:
        yield Observation(SUCCESS, run.at, run.state is RunState.completed)
    if run.bounces is not None:
        yield Observation(BOUNCES, run.at, run.bounces)
        if run.bounces:
            yield Observation(BOUNCES_RESOLVED, run.at, run.bounces * (run.state is RunState.completed), of=run.bounces)


def _build_one(metric: Metric, weeks: Sequence[Sequence[Observation]]) -> Series:
    return Series(metric, [_value(metric, seen) for seen in weeks], [sum(each.of for each in seen) for seen in weeks])


def _value(metric: Metric, seen: Sequence[Observation]) -> float | None:
    of = sum(each.of for each in seen)
    if not of:
        return None
    if metric.measure is Measure.median:
        return median(each.value for each in seen)
    if metric.measure is Measure.total:
        return sum(each.value for each in seen)
    return sum(each.value for each in seen) / of
