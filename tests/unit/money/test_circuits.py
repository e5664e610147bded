"""The error-rate breaker through the purse: it trips by stored outcomes, and one trial of all closes it or not."""

import asyncio
from collections import Counter

import pytest

from domain.config.limits import Breakers, ErrorRateBreaker
from domain.events import EventType
from domain.money import CallOutcome, Limits, Receipt, Refusal, Reservation
from domain.runs.run import Phase
from memory import ledger
from memory.db.engine import Database
from memory.reservations import PhaseBudget
from tests.clock import MovableClock
from tests.unit.money.purses import build_run

MODEL = "anthropic:claude-haiku-4-5"
OTHER = "openai:mine"
BREAKERS = Breakers(error_rate=ErrorRateBreaker(min_events=20))


def purse(database: Database, clock: MovableClock, number: int = 1, repository: int = 7) -> PhaseBudget:
    return PhaseBudget(
        database, build_run(number, repository), Phase.review, Limits(), clock, breakers=BREAKERS.model_copy()
    )


async def call(mine: PhaseBudget, step: str, *, fails: bool, model: str = MODEL) -> Refusal | None:
    """One call of a model that succeeds or fails; why it was not made, if it was not."""
    got = await mine.reserve(step, model, 1)
    if isinstance(got, Refusal):
        return got
    outcome = CallOutcome.failed if fails else CallOutcome.answered
    await mine.settle(got, Receipt(outcome=outcome, amount=0 if fails else 1))
    return None


async def trip_breaker(database: Database, clock: MovableClock) -> None:
    """Five of twenty calls fail, made by four runs."""
    for index in range(20):
        mine = purse(database, clock, number=index % 4)
        assert await call(mine, f"call {index}", fails=index % 4 == 3) is None


@pytest.fixture
async def tripped(database: Database) -> MovableClock:
    """The clock of a breaker that tripped and refused one call."""
    clock = MovableClock()
    await trip_breaker(database, clock)
    assert await call(purse(database, clock, number=9), "trips", fails=False) is not None
    return clock


async def test_a_quarter_of_twenty_calls_trips_it_for_the_provider_in_this_repository(database: Database):
    clock = MovableClock()
    await trip_breaker(database, clock)

    refused = await call(purse(database, clock, number=9), "one more", fails=False)
    assert refused is not None
    assert (refused.check.name, refused.gate) == ("error_rate", None)
    assert "5 of the last 20 model calls failed" in refused.check.reason.text
    assert await call(purse(database, clock, number=9), "elsewhere", fails=False, model=OTHER) is None
    assert await call(purse(database, clock, repository=8), "elsewhere", fails=False) is None
    told = Counter(each.type for each in await ledger.load_events(database, build_run(9).id))
    assert told[EventType.breaker_tripped] == 1


async def test_a_model_that_is_refused_does_not_stop_the_others_of_its_provider(database: Database):
    clock = MovableClock()
    for index in range(25):
        mine = purse(database, clock, number=index % 4)
        got = await mine.reserve(f"call {index}", MODEL, 1)
        assert isinstance(got, Reservation)
        await mine.settle(got, Receipt(outcome=CallOutcome.refused, amount=0))
    assert await call(purse(database, clock, number=9), "one more", fails=False) is None


async def test_a_provider_is_told_apart_from_one_of_nearly_the_same_name(database: Database):
    """An underscore is no wildcard, and capitals count, on either database."""
    clock = MovableClock()
    for name in ("my_models:a", "my-models:a", "My_models:a"):
        for index in range(10):
            assert (
                await call(purse(database, clock, number=index % 4), f"{name} {index}", fails=True, model=name) is None
            )
    assert await call(purse(database, clock, number=9), "one more", fails=False, model="my_models:a") is None


async def test_an_interrupted_try_counts_as_a_failure_of_its_provider(database: Database):
    clock = MovableClock()
    for index in range(19):
        assert await call(purse(database, clock, number=index % 4), f"call {index}", fails=index < 4) is None
    mine = purse(database, clock, number=9)
    assert isinstance(await mine.reserve("interrupted", MODEL, 1), Reservation)
    refused = await mine.reserve("interrupted", MODEL, 1)
    assert isinstance(refused, Refusal)
    assert "5 of the last 20 model calls failed" in refused.check.reason.text


async def test_nineteen_calls_and_four_of_twenty_do_not_trip_it(database: Database):
    clock = MovableClock()
    for index in range(19):
        assert await call(purse(database, clock, number=index % 4), f"call {index}", fails=True) is None
    clock.move(minutes=6)  # they are out of the window
    for index in range(30):
        assert await call(purse(database, clock, number=10 + index % 6), f"call {index}", fails=index % 5 == 4) is None


async def test_one_trial_of_all_runs_closes_it(database: Database, tripped: MovableClock):
    """After five minutes one call of one run is let through, whoever asks at the same time."""
    tripped.move(minutes=4, seconds=58)
    assert await call(purse(database, tripped, number=9), "too early", fails=False) is not None

    tripped.move(seconds=4)
    asked = await asyncio.gather(*(purse(database, tripped, n).reserve("trial", MODEL, 1) for n in range(20, 26)))
    [trial] = [(n, each) for n, each in enumerate(asked, 20) if isinstance(each, Reservation)]
    number, reservation = trial
    assert {each.check.name for each in asked if isinstance(each, Refusal)} == {"error_rate"}

    await purse(database, tripped, number).settle(reservation, Receipt(outcome=CallOutcome.answered, amount=1))
    assert await call(purse(database, tripped, number=30), "again", fails=False) is None
    told = Counter(each.type for each in await ledger.load_events(database, build_run(number).id))
    assert (told[EventType.breaker_trial], told[EventType.breaker_closed]) == (1, 1)


async def test_a_trial_that_fails_opens_it_for_another_five_minutes(database: Database, tripped: MovableClock):
    tripped.move(minutes=5, seconds=1)
    assert await call(purse(database, tripped, number=10), "trial", fails=True) is None
    assert await call(purse(database, tripped, number=11), "right after", fails=False) is not None
    tripped.move(minutes=4)
    assert await call(purse(database, tripped, number=11), "still", fails=False) is not None
    tripped.move(minutes=1, seconds=1)
    assert await call(purse(database, tripped, number=11), "the second trial", fails=False) is None
    assert await call(purse(database, tripped, number=12), "closed", fails=False) is None


async def test_a_trial_that_is_never_heard_of_again_does_not_hold_everybody_for_ever(
    database: Database, tripped: MovableClock
):
    """The process that made the trial died; after another pause somebody else tries."""
    tripped.move(minutes=5, seconds=1)
    assert isinstance(await purse(database, tripped, number=10).reserve("trial", MODEL, 1), Reservation)
    assert await call(purse(database, tripped, number=11), "waits", fails=False) is not None
    tripped.move(minutes=5, seconds=1)
    assert await call(purse(database, tripped, number=11), "the second trial", fails=False) is None


async def test_what_another_refuses_does_not_use_the_trial_up(database: Database, tripped: MovableClock):
    """A call that does not fit the budget is not the trial."""
    tripped.move(minutes=5, seconds=1)
    refused = await purse(database, tripped, number=10).reserve("too dear", MODEL, 10**9)
    assert isinstance(refused, Refusal)
    assert refused.check.name == "cost"
    assert await call(purse(database, tripped, number=11), "trial", fails=False) is None


async def test_a_clock_that_is_set_back_holds_it_no_longer_than_a_pause(database: Database, tripped: MovableClock):
    tripped.move(hours=-1)
    assert await call(purse(database, tripped, number=9), "after", fails=False) is not None
    tripped.move(minutes=5, seconds=1)
    assert await call(purse(database, tripped, number=9), "trial", fails=False) is None
