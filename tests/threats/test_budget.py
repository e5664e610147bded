"""T-B and T-D2 (docs/threats.md): no budget is overrun, and every cent is accounted for, whatever dies when."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.client import RetryPolicy
from agents.llm.models import LanguageModel
from agents.llm.scripted import Raises, Reports, ScriptedModel, Stalls
from domain.money import FixedPrice, Limits, Receipt, Reservation, Usage
from domain.runs.run import Phase
from memory import reservations
from memory.db.engine import Database
from memory.reservations import PhaseBudget
from tests.accounts import find_discrepancies, list_calls
from tests.clock import MovableClock
from tests.databases import Backend, create_database, drop_database
from tests.threats.racing import LIMITS, WANTED, run

DEAR = FixedPrice(Decimal(15), Decimal(75))
QUESTION = Question(key="model review 1 of 1", instructions="Answer.", content="data", max_output_tokens=1000)
FINE = {"text": "fine"}


class Note(BaseModel):
    text: str


class Killed(BaseException):
    """The process is gone: nothing after this line runs."""


@pytest.fixture
def url(backend: Backend, tmp_path: Path):
    address = create_database(backend, tmp_path)
    yield address
    drop_database(address)


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = Database(url)
    yield opened
    await opened.close()


def purse(database: Database, name: str = "run-1", limits: Limits = LIMITS) -> PhaseBudget:
    return PhaseBudget(database, run(name), Phase.review, limits, MovableClock())


async def ask_model(model: LanguageModel, purse: PhaseBudget) -> ModelAnswer:
    return await ask(QUESTION, Note, model, purse, RetryPolicy(attempts=1, seconds=0.1))


async def test_b1_twenty_runs_in_four_processes_race_for_the_last_dollar(url: str):
    """T-B1: a reservation counts what every other process reserved."""
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.threats.racing",
            url,
            str(number),
            "5",
            cwd=Path(__file__).parents[2],
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(4)
    ]
    let_through = [int((await worker.communicate())[0]) for worker in workers]

    database = Database(url)
    assert sum(let_through) == 6  # six times 15 cents fit into a dollar
    assert (await reservations.sum_repository(database, 7)).amount == 6 * WANTED
    assert not await find_discrepancies(database, LIMITS)
    await database.close()


async def test_b1_a_refused_run_learns_what_was_spent_and_what_to_do(database: Database):
    """T-B1"""
    model = ScriptedModel(DEAR)
    answer = await ask_model(model.language_model, purse(database, limits=Limits(day=1000)))

    assert model.calls == []
    assert answer.refusal is not None
    assert answer.refusal.check.reason.code == "cost.day"
    assert answer.refusal.gate is None
    assert answer.problem is not None
    assert "0.0010 USD" in answer.problem
    assert "`budgets.day`" in answer.problem
    assert not await find_discrepancies(database, LIMITS)


async def test_b2_missing_usage_is_charged_at_the_maximum(database: Database):
    """T-B2"""
    model = ScriptedModel(DEAR).when("data", Reports('{"text": "fine"}', usage=None))
    answer = await ask_model(model.language_model, purse(database))

    (row,) = await list_calls(database, "run-1")
    assert answer.value == FINE
    assert row.amount == row.reserved == answer.cost > 0
    assert not await find_discrepancies(database, LIMITS)


async def test_b2_usage_that_is_there_is_charged_as_it_is(database: Database):
    """T-B2, the other rate."""
    model = ScriptedModel(DEAR).when("data", FINE)
    answer = await ask_model(model.language_model, purse(database))

    (row,) = await list_calls(database, "run-1")
    assert row.amount == DEAR.cost(Usage(input_tokens=row.input_tokens, output_tokens=row.output_tokens))
    assert 0 < row.amount == answer.cost < row.reserved
    assert (row.state, row.outcome, row.model, row.phase) == ("settled", "answered", "scripted", "review")


async def test_d2_a_process_that_dies_in_the_call_loses_the_reservation_and_the_next_reserves_anew(
    database: Database,
):
    """T-D2"""
    model = ScriptedModel(DEAR).when("data", Raises(Killed()), FINE)
    with pytest.raises(Killed):
        await ask_model(model.language_model, purse(database))
    assert (await reservations.sum_run(database, "run-1")).reserved > 0

    answer = await ask_model(model.language_model, purse(database))

    first, second = await list_calls(database, "run-1")
    assert answer.value == FINE
    assert (first.state, first.amount) == ("lost", first.reserved)
    assert (second.state, second.amount) == ("settled", answer.cost)
    assert not await find_discrepancies(database, LIMITS)


async def test_d2_a_process_that_dies_between_the_answer_and_the_settlement(database: Database):
    """T-D2: whoever repeats the step pays again, and both calls are in the books."""

    class DyingPurse(PhaseBudget):
        async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
            raise Killed

    model = ScriptedModel(DEAR).when("data", FINE)
    dying = DyingPurse(database, run("run-1"), Phase.review, LIMITS, MovableClock())
    with pytest.raises(Killed):
        await ask_model(model.language_model, dying)

    await ask_model(model.language_model, purse(database))

    assert [row.state for row in await list_calls(database, "run-1")] == ["lost", "settled"]
    assert not await find_discrepancies(database, LIMITS)


async def test_d2_a_process_that_dies_after_the_settlement_has_paid(database: Database):
    """T-D2: the answer was not journaled, so it is asked for again; what was settled stays settled."""
    model = ScriptedModel(DEAR).when("data", FINE)
    first = await ask_model(model.language_model, purse(database))
    second = await ask_model(model.language_model, purse(database))

    assert (await reservations.sum_run(database, "run-1")).amount == first.cost + second.cost
    assert not await find_discrepancies(database, LIMITS)


async def test_d2_what_a_dead_run_reserved_counts_until_it_is_settled(database: Database):
    """T-D2: a crash loop cannot spend more than the budget."""
    model = ScriptedModel(DEAR).when("data", Raises(Killed()))
    with pytest.raises(Killed):
        await ask_model(model.language_model, purse(database))
    once = (await reservations.sum_run(database, "run-1")).amount
    limits = Limits(run=4 * once)  # at four fifths of which a person is asked
    for _ in range(2):
        with pytest.raises(Killed):
            await ask_model(model.language_model, purse(database, limits=limits))

    answer = await ask_model(model.language_model, purse(database, limits=limits))

    assert answer.refusal is not None
    assert len(model.calls) == 3
    assert not await find_discrepancies(database, limits)


async def test_d2_a_call_that_was_cancelled_is_settled_when_its_run_is_closed(database: Database):
    """T-D2: a newer push cancels the workflow while the call is on its way."""
    model = ScriptedModel(DEAR).when("data", Stalls())
    going = asyncio.create_task(ask(QUESTION, Note, model.language_model, purse(database)))
    while not model.calls:  # noqa: ASYNC110  # the script is at work
        await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going

    assert await reservations.close(database, "run-1", MovableClock().now()) == 1
    assert not await find_discrepancies(database, LIMITS)
