"""The leases of processes: who holds one, and whose work is taken over."""

from datetime import UTC, datetime, timedelta

from memory.db.engine import Database
from memory.process import executors
from memory.process.executors import LEASE, TAKEOVER_PERIOD, Holder
from tests.clock import MovableClock

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATE = NOW + LEASE + timedelta(seconds=1)
A = Holder("a", "first", "host", 1)


async def test_one_process_holds_an_id_until_its_lease_runs_out(database: Database) -> None:
    again = Holder("a", "second", "host", 2)
    assert await executors.take(database, A, NOW) is None
    assert await executors.take(database, again, NOW) == A
    assert await executors.take(database, again, LATE) is None


async def test_those_that_live_are_listed(database: Database) -> None:
    await executors.take(database, A, NOW)
    assert await executors.list_others(database, "b", NOW) == [A]
    assert await executors.list_others(database, "a", NOW) == []
    assert await executors.list_others(database, "b", LATE) == []


async def test_what_a_process_takes_up_after_it_was_given_up_is_found_too(database: Database) -> None:
    """It was frozen, others took over, it woke for a moment and died: its id is still looked after."""
    await executors.take(database, A, NOW)
    assert await executors.list_lapsed(database, "b", LATE) == ["a"]
    await executors.forget(database, "a", LATE)
    assert await executors.list_lapsed(database, "b", LATE) == ["a"]


async def test_in_the_end_it_is_dropped_unless_it_came_back(database: Database) -> None:
    await executors.take(database, A, NOW)
    later = LATE + TAKEOVER_PERIOD
    await executors.take(database, Holder("c", "third", "host", 3), later - LEASE)
    for each in ("a", "c"):
        await executors.forget(database, each, later)
    assert await executors.list_lapsed(database, "b", later + LEASE) == ["c"]


async def test_a_lease_that_ran_out_is_renewed_unless_it_was_adopted(database: Database) -> None:
    b = Holder("b", "other", "host", 2)
    await executors.take(database, A, NOW)
    assert not await executors.adopt(database, "a", b, NOW)  # it counts still
    assert await executors.renew(database, A, LATE)
    much_later = LATE + LEASE
    assert await executors.adopt(database, "a", b, much_later)
    assert not await executors.renew(database, A, much_later)
    assert await executors.find(database, "a") == Holder("a", "other", "host", 2)
    assert await executors.take(database, Holder("a", "again", "host", 3), much_later) is None


async def test_a_lease_that_was_forgotten_is_not_renewed(database: Database) -> None:
    await executors.take(database, A, NOW)
    await executors.forget(database, "a", LATE + TAKEOVER_PERIOD)
    assert not await executors.renew(database, A, LATE + TAKEOVER_PERIOD)


async def test_a_door_is_open_until_it_closes_or_says_so_no_more(database: Database) -> None:
    clock = MovableClock()
    door = Holder(f"{executors.DOOR}1", "door", "host", 3)
    await executors.take(database, A, clock.now())
    assert not await executors.is_any_door_open(database, clock)
    await executors.keep_door_open(database, door, clock.now())
    assert await executors.is_any_door_open(database, clock)
    clock.move(seconds=LEASE.total_seconds() + 1)
    assert not await executors.is_any_door_open(database, clock)
    await executors.keep_door_open(database, door, clock.now())
    assert await executors.is_any_door_open(database, clock)
    await executors.release(database, door, clock.now())
    assert not await executors.is_any_door_open(database, clock)
