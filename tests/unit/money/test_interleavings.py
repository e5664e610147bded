"""No order in which concurrent runs reserve, settle, die and are granted slices overruns a budget."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st

from domain.money import BudgetExtension, CallOutcome, Limits, Receipt, Refusal
from domain.runs.run import Phase
from memory import reservations
from memory.db.engine import Database
from memory.repositories import budgets
from tests.accounts import find_discrepancies, find_overruns
from tests.unit.money.purses import build_purse, build_run

RUNS, WORKERS = 20, 4
LIMITS = Limits(phase={Phase.review: 200}, run=220, day=1000, installation=1500)


@dataclass(frozen=True)
class Act:
    """One call of a model by one run.

    :param wanted: its worst case.
    :param share: of the worst case that it costs; None: the provider did not say.
    :param fate: how it ends; ``dies`` never settles it, and the run repeats the step.
    :param turns: how often it lets others go first, before and after it reserved.
    """

    run: int
    wanted: int
    share: float | None
    fate: str
    turns: tuple[int, int]


acts = st.builds(
    Act,
    run=st.integers(0, RUNS - 1),
    wanted=st.integers(0, 120),
    share=st.none() | st.floats(0, 1),
    fate=st.sampled_from(["answers", "fails", "is lost", "dies", "closes", "is granted"]),
    turns=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)


@settings(
    max_examples=settings().max_examples // 6,
    phases=[Stage.explicit, Stage.reuse, Stage.generate],  # an order that happened once cannot be shrunk
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plan=st.lists(acts, min_size=20, max_size=50))
async def test_no_interleaving_overruns_a_budget(url: str, plan: Sequence[Act]):
    """Twenty runs of two repositories on four connection pools, as in processes of their own."""
    databases = [Database(url) for _ in range(WORKERS)]
    salt = uuid.uuid4().int % 10**12  # each example has repositories and an installation of its own

    async def play(number: int, act: Act) -> None:
        database = databases[number % WORKERS]
        mine = build_run(act.run, repository=salt * 2 + act.run % 2, installation=salt)
        books = build_purse(database, mine, LIMITS)
        await _others_first(act.turns[0])
        if act.fate == "is granted":
            await budgets.extend_budget(
                database, mine, Phase.review, BudgetExtension(amount=30), datetime.now(UTC), f"{salt} {number}"
            )
        step = "the same step" if act.fate == "dies" else f"step {number}"
        got = await books.reserve(step, "m", act.wanted)
        await _others_first(act.turns[1])
        if isinstance(got, Refusal) or act.fate == "dies":
            return
        if act.fate == "closes":
            await reservations.close(database, mine.id, datetime.now(UTC))
        amount = None if act.share is None else int(act.wanted * act.share)
        outcome = {"fails": CallOutcome.failed, "is lost": CallOutcome.lost}.get(act.fate, CallOutcome.answered)
        await books.settle(got, Receipt(outcome=outcome, amount=0 if outcome is CallOutcome.failed else amount))

    playing = [asyncio.create_task(play(number, act)) for number, act in enumerate(plan)]
    while any(not task.done() for task in playing):  # at every moment, not only at the end
        assert not await find_overruns(databases[0], LIMITS)
        await asyncio.sleep(0.01)
    await asyncio.gather(*playing)
    assert not await find_discrepancies(databases[0], LIMITS, at_rest=False)
    for database in databases:
        await database.close()


async def _others_first(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)
