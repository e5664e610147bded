"""Decides whether the next call of a model may be made: the one place where every breaker is asked (SPEC S11)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.configuration import Breakers
from domain.money import Ceilings, Limits, Refusal, Totals
from domain.runs import Phase
from domain.verdicts import Check
from safety import breakers, money
from safety.breakers import Call, Circuit, Move


@dataclass(frozen=True)
class Facts:
    """What the database knows before a call.

    :param calls: of models, in this phase of this run; ``granted`` beyond the limit by people.
    :param moves: when the run worked and when it waited.
    :param recent: this repository's calls of this provider.
    :param caller: names the call, for the one trial of a circuit.
    """

    phase: Phase
    totals: Totals
    calls: int
    granted: int
    moves: Sequence[Move]
    recent: Sequence[Call]
    circuit: Circuit
    caller: str


@dataclass(frozen=True)
class Allowance:
    """What was decided: a refusal or none, every breaker's verdict, and the circuit as it is stored now."""

    refusal: Refusal | None
    checks: Sequence[Check]
    warnings: tuple[str, ...]
    circuit: Circuit


def allowance(
    wanted: int, facts: Facts, limits: Limits, ceilings: Ceilings, configured: Breakers, now: datetime
) -> Allowance:
    """Ask the breakers in their order: calls, time, money, errors. The first that is open decides.

    The circuit is asked last, so that its one trial is not given to a call that something else refuses.

    :param wanted: the call's worst case in micro-USD.
    :param limits: with what people granted, within the ceilings.
    """
    spent = breakers.worked(facts.moves, now)
    extra = timedelta(minutes=facts.granted)  # a slice of calls is one of time, too: a minute each
    used = [
        breakers.iteration(facts.calls, facts.phase, configured.iteration, facts.granted),
        breakers.time(spent, spent, facts.phase, configured.time, extra),
    ]
    stopped = next((Refusal(check=check, gate="guard") for check in used if check.should_break), None)
    stopped = stopped or money.refusal(wanted, facts.totals, limits, facts.phase, ceilings)
    circuit = facts.circuit
    if stopped is None:
        errors, circuit = breakers.error_rate(facts.recent, facts.circuit, configured.error_rate, now, facts.caller)
        used.append(errors)
        stopped = Refusal(check=errors) if errors.should_break else None
    costs = money.warnings(wanted, facts.totals, limits, facts.phase)
    return Allowance(stopped, used, (*(check.name for check in used if check.warns), *costs), circuit)
