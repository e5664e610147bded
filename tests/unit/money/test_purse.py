"""The purse: what is reserved, refused, settled and lost, and that nobody overruns a limit."""

from datetime import UTC, datetime

import pytest

from domain.events import Event, EventType
from domain.money import (
    MICRO,
    BudgetExtension,
    CallOutcome,
    Ceilings,
    Limits,
    LimitScope,
    Receipt,
    Refusal,
    Reservation,
    Usage,
)
from domain.runs.run import Phase
from memory import ledger, reservations
from memory.call_facts import RunCallFacts
from memory.db.engine import Connection, Database
from memory.db.tables.runs import BudgetRow
from memory.repositories import budgets
from memory.reservations import PhaseBudget
from tests.accounts import find_discrepancies, list_calls
from tests.clock import MovableClock
from tests.unit.money.purses import DEAR, build_purse, build_run

USED = Usage(input_tokens=1000, output_tokens=100, cache_read_tokens=200)


async def reserve(purse: PhaseBudget, amount: int, step: str = "a step") -> Reservation:
    reservation = await purse.reserve(step, "m", amount)
    assert isinstance(reservation, Reservation)
    return reservation


def build_receipt(amount: int | None) -> Receipt:
    return Receipt(outcome=CallOutcome.answered, amount=amount, usage=USED, seconds=0.5)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(phase={Phase.review: 100}), "budget of the review phase"),
        (Limits(phase={Phase.review: 10_000}, run=100), "budget of this run"),
    ],
)
async def test_half_of_the_money_is_told_once(database: Database, limits: Limits, name: str) -> None:
    """When the next call is reserved, of what is spent or reserved by then; exactly half is not more."""
    mine = build_purse(database, build_run(), limits)
    await mine.settle(await reserve(mine, 30, "first"), build_receipt(30))
    await reserve(mine, 20, "second")

    async def list_events() -> list[Event]:
        return [
            each for each in await ledger.load_events(database, build_run().id) if each.type is EventType.budget_half
        ]

    await reserve(mine, 1, "third")
    assert await list_events() == []
    await reserve(mine, 1, "fourth")
    await reserve(mine, 1, "fifth")
    [half] = await list_events()
    assert (half.phase, half.source, half.payload["name"]) == (Phase.review, "purse", name)
    assert (half.payload["used"], half.payload["limit"]) == (51, 100)


async def test_a_call_is_reserved_at_its_worst_and_settled_at_what_it_cost(database: Database):
    mine = build_purse(database, build_run())
    reservation = await reserve(mine, 50_000)
    assert (await reservations.sum_run(database, build_run().id)).reserved == 50_000

    assert await mine.settle(reservation, build_receipt(1234)) == 1234

    total = await reservations.sum_run(database, build_run().id, Phase.review)
    assert (total.amount, total.reserved, total.calls, total.usage) == (1234, 0, 1, USED)
    assert not await find_discrepancies(database)


async def test_what_a_reservation_looks_up_is_planned_once(database: Database):
    """On PostgreSQL, and only until it ends: others use the connection for what needs plans for its values."""
    modes: list[str] = []

    def look(connection: Connection, _known: RunCallFacts | None = None, _now: datetime | None = None) -> None:
        if database.dialect == "postgresql":
            modes.append(str(connection.exec_driver_sql("SHOW plan_cache_mode").scalar_one()))

    mine = PhaseBudget(database, build_run(), Phase.review, DEAR, MovableClock(), before=look)
    await reserve(mine, 10)
    await database.run_in_transaction(look)
    assert modes == (["force_generic_plan", "auto"] if database.dialect == "postgresql" else [])


async def test_missing_usage_costs_the_reservation(database: Database):
    mine = build_purse(database, build_run())
    await mine.settle(await reserve(mine, 50_000), Receipt(outcome=CallOutcome.answered, amount=None))

    assert (await reservations.sum_run(database, build_run().id)).amount == 50_000


async def test_settling_twice_counts_once(database: Database):
    mine = build_purse(database, build_run())
    reservation = await reserve(mine, 50_000)
    await mine.settle(reservation, build_receipt(10))
    await mine.settle(reservation, build_receipt(20))

    assert (await reservations.sum_run(database, build_run().id)).amount == 10
    assert not await find_discrepancies(database)


async def test_a_call_lost_in_flight_is_charged_in_full_and_its_repetition_anew(database: Database):
    await reserve(build_purse(database, build_run()), 50_000)
    again = build_purse(database, build_run())  # after the crash
    await again.settle(await reserve(again, 50_000), build_receipt(1000))

    assert [(row.state, row.amount) for row in await list_calls(database, build_run().id)] == [
        ("lost", 50_000),
        ("settled", 1000),
    ]
    assert not await find_discrepancies(database)


async def test_other_steps_stay_reserved(database: Database):
    mine = build_purse(database, build_run())
    await reserve(mine, 10, "one")
    await reserve(mine, 20, "two")

    assert (await reservations.sum_run(database, build_run().id)).reserved == 30


async def test_a_run_that_ended_leaves_nothing_reserved(database: Database):
    await reserve(build_purse(database, build_run()), 10)

    assert await reservations.close(database, build_run().id, datetime.now(UTC)) == 1
    assert not await find_discrepancies(database)


@pytest.mark.parametrize(
    ("limits", "scope", "most"),
    [
        (Limits(phase={Phase.review: 100}), LimitScope.phase, 80),
        (Limits(run=100), LimitScope.run, 80),
        (Limits(day=100), LimitScope.day, 100),
        (Limits(installation=100), LimitScope.installation, 100),
    ],
)
async def test_each_limit_holds_to_the_cent_and_says_so(
    database: Database, limits: Limits, scope: LimitScope, most: int
):
    """At four fifths of what a person can raise that person is asked; the others are used up to their end."""
    mine = build_purse(database, build_run(), limits)
    await reserve(mine, 60, "one")
    rest = most - 60

    refused = await mine.reserve("two", "m", rest + 1)
    assert isinstance(refused, Refusal)
    reason = refused.check.reason
    assert (reason.code, reason.value, reason.threshold) == (f"cost.{scope}", (most + 1) / MICRO, most / MICRO)
    assert refused.gate == ("cost_overrun" if most == 80 else None)
    assert await reserve(mine, rest, "three")


async def test_other_phases_runs_repositories_and_installations_do_not_count(database: Database):
    other_phase = PhaseBudget(database, build_run(), Phase.testing, DEAR, MovableClock())
    await reserve(other_phase, 90)
    await reserve(build_purse(database, build_run(2)), 90)
    assert await reserve(build_purse(database, build_run(), Limits(phase={Phase.review: 125})), 100, "phase")
    assert await reserve(build_purse(database, build_run(3), Limits(run=125)), 100, "run")
    assert await reserve(build_purse(database, build_run(1, repository=8), Limits(day=100)), 100, "day")
    assert await reserve(
        build_purse(database, build_run(1, 9, installation=4), Limits(installation=100)), 100, "installation"
    )


async def test_the_day_is_utc_and_per_repository(database: Database):
    clock = MovableClock()
    await reserve(build_purse(database, build_run(), Limits(day=100), clock), 100)
    assert isinstance(await build_purse(database, build_run(2), Limits(day=100), clock).reserve("x", "m", 1), Refusal)

    clock.move(days=1)
    assert await reserve(build_purse(database, build_run(2), Limits(day=100), clock), 100)
    yesterday = await reservations.sum_repository(database, 7, clock.now().replace(year=clock.now().year))
    assert yesterday.amount == 100
    assert (await reservations.sum_installation(database, 3)).amount == 200


async def test_a_call_that_costs_nothing_is_never_refused(database: Database):
    mine = build_purse(database, build_run(), Limits(run=0, day=0))
    assert await reserve(mine, 0)
    assert isinstance(await mine.reserve("x", "m", 1), Refusal)


async def test_four_fifths_of_a_limit_are_a_warning(database: Database):
    mine = build_purse(database, build_run(), Limits(phase={Phase.review: 100}))
    assert (await reserve(mine, 79, "one")).warnings == ()
    assert (await reserve(mine, 1, "two")).warnings == ("cost.phase",)


async def test_a_granted_slice_raises_phase_and_run_but_no_ceiling(database: Database):
    now = datetime.now(UTC)
    limits = Limits(phase={Phase.review: 100}, run=100)
    assert isinstance(await build_purse(database, build_run(), limits).reserve("x", "m", 81), Refusal)

    await budgets.extend_budget(database, build_run(), Phase.review, BudgetExtension(amount=50), now, "a delivery")
    await budgets.extend_budget(
        database, build_run(), Phase.review, BudgetExtension(amount=50), now, "a delivery"
    )  # the same one, repeated
    assert await reserve(build_purse(database, build_run(), limits), 120)
    refused = await build_purse(database, build_run(), limits).reserve("y", "m", 1)
    assert isinstance(refused, Refusal)
    assert (refused.check.reason.code, refused.gate) == ("cost.phase", "cost_overrun")

    await budgets.extend_budget(database, build_run(), Phase.review, BudgetExtension(amount=500), now, "another")
    below = PhaseBudget(database, build_run(), Phase.review, limits, MovableClock(), Ceilings(run=160))
    refused = await below.reserve("y", "m", 41)
    assert isinstance(refused, Refusal)
    assert (refused.check.reason.code, refused.gate) == ("cost.run", None)
    assert await reserve(below, 40, "z")
    assert not await find_discrepancies(database, limits, at_rest=False)


async def test_each_line_of_a_comment_grants_and_equal_ones_once(database: Database):
    now = datetime.now(UTC)
    for slice_ in (
        BudgetExtension(amount=50),
        BudgetExtension(amount=50),
        BudgetExtension(amount=70),
        BudgetExtension(calls=3),
        BudgetExtension(calls=4),
        BudgetExtension(calls=3),
    ):
        await budgets.extend_budget(database, build_run(), Phase.review, slice_, now, "a delivery")
    async with database.transaction() as session:
        scopes = [f"run:{build_run().id}/review", f"calls:{build_run().id}/review"]
        rows = [await session.get_one(BudgetRow, scope) for scope in scopes]
        assert [row.granted for row in rows] == [120, 7]


async def test_nothing_is_reserved_after_a_stop(database: Database):
    class Halted(Exception):
        pass

    def stop(_connection: Connection, _known: RunCallFacts, _now: datetime) -> Refusal | None:
        raise Halted

    with pytest.raises(Halted):
        await PhaseBudget(database, build_run(), Phase.review, DEAR, MovableClock(), before=stop).reserve("x", "m", 1)
    assert (await reservations.sum_run(database, build_run().id)).calls == 0


async def test_cost_by_phase_and_model(database: Database):
    mine = build_purse(database, build_run())
    for model, amount in (("dear", 500), ("cheap", 5), ("dear", 100)):
        reservation = await mine.reserve(model + str(amount), model, 1000)
        assert isinstance(reservation, Reservation)
        await mine.settle(reservation, build_receipt(amount))

    found = await reservations.list_shares(database, run_id=build_run().id)
    assert [(share.phase, share.model, share.spent.amount, share.spent.calls) for share in found] == [
        ("review", "dear", 600, 2),
        ("review", "cheap", 5, 1),
    ]


async def test_settling_below_the_reservation_gives_money_back(database: Database):
    limits = Limits(run=100)
    mine = build_purse(database, build_run(), limits)
    await mine.settle(await reserve(mine, 80, "one"), build_receipt(30))

    assert await reserve(mine, 50, "two")
    assert isinstance(await mine.reserve("three", "m", 1), Refusal)
