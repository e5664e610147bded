"""Builds the money of a phase, behind the breakers that the repository configured."""

from datetime import datetime
from typing import TypeVar

from agents.llm.ask import ModelResult
from domain.config.configuration import Configuration
from domain.money import Refusal
from domain.runs.run import Phase, Run
from memory.db.engine import Connection
from memory.repositories import permits
from memory.reservations.call_facts import RunCallFacts
from memory.reservations.reservations import PhaseBudget, ReservationCheck
from pipeline.context import Services
from safety.budgets import explain_beside_run, limits_of

P = TypeVar("P", bound=ModelResult)


def build_budget(
    services: Services, run: Run, phase: Phase, configuration: Configuration, check: ReservationCheck
) -> PhaseBudget:
    """The money of a phase.

    :param check: runs before each reservation, in its transaction.
    """
    limits, ceilings = limits_of(configuration.budgets), services.ceilings
    return PhaseBudget(services.database, run, phase, limits, services.clock, ceilings, check, configuration.breakers)


def build_side_budget(
    services: Services, run: Run, configuration: Configuration, phase: Phase = Phase.reflection
) -> PhaseBudget:
    """The money for what happens beside a run: no guard of the run's counts its calls.

    :param phase: what pays; by default what is learned and recalled.
    """

    def require_permit(_connection: Connection, known: RunCallFacts, _now: datetime) -> Refusal | None:
        permits.require(known.sums.permit, run)
        return None

    return build_budget(services, run, phase, configuration, require_permit)


def explain_limit(answer: P, phase: Phase) -> P:
    """The answer of a call beside a run, with advice that helps there if a limit refused it."""
    if answer.refusal is None:
        return answer
    return answer.model_copy(update={"problem": explain_beside_run(answer.refusal, phase)})
