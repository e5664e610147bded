"""Runs that call models, and the purses that pay for the calls."""

from domain.money import Limits
from domain.runs.run import Phase, RepositoryRef, Run, RunState, Trigger
from memory.db.engine import Database
from memory.reservations import PhaseBudget
from tests.clock import MovableClock

DEAR = Limits()


def build_run(number: int = 1, repository: int = 7, installation: int = 3) -> Run:
    """A run that works, with an id of its repository and number."""
    where = RepositoryRef(installation_id=installation, id=repository, owner="octo", name="shop")
    return Run(
        id=f"run-{repository}-{number}",
        repository=where,
        number=number,
        head_sha="b" * 40,
        base_sha="a" * 40,
        trigger=Trigger.pull_request,
        attempt=1,
        fence=1,
        state=RunState.running,
    )


def build_purse(database: Database, of: Run, limits: Limits = DEAR, clock: MovableClock | None = None) -> PhaseBudget:
    """The purse of a run\'s review."""
    return PhaseBudget(database, of, Phase.review, limits, clock or MovableClock())
