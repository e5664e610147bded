"""Decides whether a run may make its next model call, from its calls, progress, time and recent errors.

The rules are those of Forge's safety plan: four circuit breakers, each of which warns before it opens. Used-up
calls, patience or time need a person; after errors one trial call checks whether they are over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Self

from pydantic import model_validator

from domain.config.limits import ErrorRateBreaker, IterationBreaker, TimeBreaker
from domain.runs.run import Phase
from domain.value import Value
from domain.verdicts import BreakerState, Check, Reason

_NO_TIME = timedelta()
_MINUTE = timedelta(minutes=1)
_UNTIL_THEN = "Nothing to do now; the run stops at the limit."
_ANOTHER_SLICE = (
    "`/forge continue 10it` grants more, `/forge accept` keeps the work so far, `/forge cancel` ends the run"
)


def check_iterations(calls: int, phase: Phase, limits: IterationBreaker, granted: int) -> Check:
    """Whether a phase may make one more call; a limit of N opens when call N + 1 would be made.

    :param calls: model calls of this phase of this run, including those before the work was sent back.
    :param granted: calls beyond the limit that people allowed this phase.
    """
    limit: int = getattr(limits, phase.value, limits.other) + max(0, granted)
    return _check_usage(
        Reason(
            code=f"iteration.{phase.value}",
            text=f"The {phase.value} phase has made {calls} of the {limit} model calls it may make.",
            value=calls,
            threshold=limit,
        ),
        is_open=calls >= limit,
        warns=(calls + 1) / limit >= limits.warn,  # includes the next call
        suggestion=f"{_ANOTHER_SLICE}; or raise `breakers.iteration.{phase.value}` in `.github/forge.yml`.",
    )


def check_stagnation(progress: Sequence[bool], limits: IterationBreaker) -> Check:
    """Whether the latest calls made progress; warns when one more without progress would open it.

    :param progress: per call for this task, in order, whether it brought progress (:func:`mark_progress`), since the
        task started or a person last continued it.
    """
    idle = next((idle for idle, moved in enumerate(reversed(progress)) if moved), len(progress))
    text = (
        f"The last {idle} model calls brought no progress" if idle != 1 else "The last model call brought no progress"
    )
    return _check_usage(
        Reason(
            code="stagnation",
            text=f"{text}; it stops at {limits.stagnation} in a row." if idle else "The last model call made progress.",
            value=idle,
            threshold=limits.stagnation,
        ),
        is_open=idle >= limits.stagnation,
        warns=idle >= limits.stagnation - 1,
        suggestion=f"`/forge history` shows its attempts. {_ANOTHER_SLICE}.",
    )


def mark_progress(seen: Sequence[str]) -> Sequence[bool]:
    """Marks the calls that made progress: those with a new action or a new result.

    New tasks, files, passing tests or findings all show there first. Going back and forth is no progress.

    :param seen: a digest per call, in order, of the action and its result.
    """
    return [each not in seen[:earlier] for earlier, each in enumerate(seen)]


@dataclass(frozen=True)
class RunTransition:
    """A run started to work, started to wait (for a person, a queue or a rate limit), or entered another phase.

    :param at: in UTC.
    :param phase: the phase from then on; None: none, or not known.
    """

    at: datetime
    running: bool
    phase: Phase | None = None


def measure_work(moves: Sequence[RunTransition], now: datetime, phase: Phase | None = None) -> timedelta:
    """The working time of a run up to now, without waiting.

    :param moves: in the order of the run's history.
    :param phase: counts only time in this phase, over all visits; None: all of it.
    """
    ends = pairwise([*moves, RunTransition(now, running=False)])
    spans = (then.at - move.at for move, then in ends if move.running and phase in {None, move.phase})
    return sum((max(span, _NO_TIME) for span in spans), _NO_TIME)  # a clock that was set back must not subtract time


def check_time(
    worked_phase: timedelta,
    worked_total: timedelta,
    phase: Phase,
    limits: TimeBreaker,
    granted: timedelta = _NO_TIME,
) -> Check:
    """Whether there is time for another call in this phase and in the run; reports the tighter limit.

    :param granted: time that people granted beyond the limits; it raises both.
    """
    more = max(granted, _NO_TIME) / _MINUTE
    minutes: float = getattr(limits, phase.value, limits.total)
    of_phase = _check_span(worked_phase, minutes + more, limits.warn, phase.value, phase.value)
    of_run = _check_span(worked_total, limits.total + more, limits.warn, "run", "total")
    return max(of_phase, of_run, key=lambda check: (check.should_break, check.warns))


def _check_span(spent: timedelta, limit: float, warn: float, scope: str, key: str) -> Check:
    minutes = max(spent, _NO_TIME) / _MINUTE
    name = f"The {scope} phase" if scope == key else "The run"
    return _check_usage(
        Reason(
            code=f"time.{key}",
            text=f"{name} has worked {int(minutes)} of its {limit:g} minutes; waiting does not count.",
            value=minutes,
            threshold=limit,
        ),
        is_open=minutes >= limit,
        warns=minutes / limit >= warn,
        suggestion=f"{_ANOTHER_SLICE}; or raise `breakers.time.{key}` in `.github/forge.yml`.",
    )


@dataclass(frozen=True)
class CallResult:
    """How a call of a provider ended.

    :param at: when it ended, in UTC.
    """

    at: datetime
    failed: bool


class Circuit(Value):
    """The error-rate breaker of one repository and provider, as it is stored.

    :param since: when it entered its state, in UTC; None: it was always closed.
    :param until: open: when a trial may be made; half-open: when the trial counts as lost.
    :param trial: half-open: which call the trial is.
    """

    state: BreakerState = BreakerState.closed
    since: datetime | None = None
    until: datetime | None = None
    trial: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        has_bounds = self.since is not None and self.until is not None
        if self.state is not BreakerState.closed and not has_bounds:
            raise ValueError(f"a circuit that is {self.state.value} has a beginning and an end")
        if (self.trial is not None) != (self.state is BreakerState.half_open):
            raise ValueError("a circuit has a trial exactly while it is half-open")
        return self


def check_error_rate(
    calls: Sequence[CallResult], circuit: Circuit, limits: ErrorRateBreaker, now: datetime, caller: str
) -> tuple[Check, Circuit]:
    """Decides whether recent errors allow a call, and the new state of the circuit.

    A half-open circuit lets exactly one caller through. This needs the transaction that read the circuit
    to store it before the call.

    :param calls: of this repository to this provider, in any order.
    :param caller: names the call that would be made; the same name means the same trial.
    """
    circuit = _correct_clock(circuit, limits, now)
    if circuit.state is BreakerState.closed:
        return _check_closed(_select_calls(calls, circuit, limits, now), circuit, limits, now)
    if circuit.until is None or now >= circuit.until:
        return _check_trial(), Circuit(
            state=BreakerState.half_open, since=now, until=now + _pause(limits), trial=caller
        )
    if circuit.trial == caller:
        return _check_trial(), circuit
    return _check_open(circuit, limits, now), circuit


def settle_call(circuit: Circuit, trial: str, succeeded: bool, limits: ErrorRateBreaker, now: datetime) -> Circuit:
    """The circuit after a call ended: its trial closes or re-opens it, any other call leaves it as it is.

    :param trial: the caller's name of the trial. A trial that another one replaced has no effect.
    """
    if circuit.trial != trial or circuit.since is None:
        return circuit
    if succeeded:  # failures before the trial must not count again, even if the clock was set back
        return Circuit(since=max(now, circuit.since))
    return _open_circuit(limits, now)


def _pause(limits: ErrorRateBreaker) -> timedelta:
    return limits.reset_minutes * _MINUTE


def _open_circuit(limits: ErrorRateBreaker, now: datetime) -> Circuit:
    return Circuit(state=BreakerState.open, since=now, until=now + _pause(limits))


def _correct_clock(circuit: Circuit, limits: ErrorRateBreaker, now: datetime) -> Circuit:
    """Restarts the state of the circuit if the clock was set back so far that it would last too long.

    Clocks of several processes differ a little; up to the length of the pause, waiting longer is the safe side.
    """
    pause = _pause(limits)
    if circuit.since is None or circuit.since - now <= pause:
        return circuit
    return circuit.model_copy(update={"since": now, "until": circuit.until and now + pause})


def _select_calls(
    calls: Sequence[CallResult], circuit: Circuit, limits: ErrorRateBreaker, now: datetime
) -> Sequence[CallResult]:
    begins = now - limits.window_minutes * _MINUTE
    if circuit.since is not None:
        begins = max(begins, circuit.since)
    within = sorted((call for call in calls if begins < call.at <= now), key=lambda call: call.at)
    return within[-limits.max_events :]


def _check_closed(
    counted: Sequence[CallResult], circuit: Circuit, limits: ErrorRateBreaker, now: datetime
) -> tuple[Check, Circuit]:
    failed = sum(call.failed for call in counted)
    share = failed / len(counted) if counted else 0.0
    tells = len(counted) >= limits.min_events
    check = _check_usage(
        Reason(
            code="error_rate",
            text=f"{failed} of the last {len(counted)} model calls failed ({share:.1%}); it stops at {limits.trip:.1%}"
            f" of at least {limits.min_events} calls within {limits.window_minutes} min.",
            value=share,
            threshold=limits.trip,
        ),
        is_open=tells and share >= limits.trip,
        warns=tells and share >= limits.warn,
        suggestion=f"Wait: in {limits.reset_minutes} min one trial call checks whether it works "
        "again. The provider's status page may say more.",
    )
    return check, _open_circuit(limits, now) if check.should_break else circuit


def _check_trial() -> Check:
    reason = Reason(code="error_rate.trial", text="After many errors, this is the trial call.")
    return Check(name="error_rate", state=BreakerState.half_open, reason=reason)


def _check_open(circuit: Circuit, limits: ErrorRateBreaker, now: datetime) -> Check:
    since = circuit.since or now
    what = "another call is trying again" if circuit.trial else "many model calls had failed"
    return _build_check(
        Reason(
            code="error_rate.open",
            text=f"Forge calls no model: at {since:%H:%M} UTC {what}.",
            value=max(now - since, _NO_TIME) / _MINUTE,
            threshold=limits.reset_minutes,
        ),
        BreakerState.open,
        suggestion=f"Wait until {circuit.until or now:%H:%M} UTC: then the next call may try again.",
    )


def _check_usage(reason: Reason, *, is_open: bool, warns: bool, suggestion: str) -> Check:
    if is_open:
        return _build_check(reason, BreakerState.open, suggestion=suggestion)
    return _build_check(reason, BreakerState.closed, warns=warns, suggestion=_UNTIL_THEN if warns else "")


def _build_check(reason: Reason, state: BreakerState, *, warns: bool = False, suggestion: str = "") -> Check:
    return Check(name=reason.code.split(".")[0], state=state, warns=warns, reason=reason, suggestion=suggestion)
