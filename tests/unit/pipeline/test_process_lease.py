"""A process keeps its lease through a pause, however long, until another process took over."""

import asyncio

import pytest

from memory.db.engine import Database
from memory.process import executors
from memory.process.executors import TAKEOVER_PERIOD, Holder
from pipeline.worker.lease import ProcessLease
from tests.clock import MovableClock

OTHER = Holder("b", "other", "host", 2)


async def test_it_is_taken_up_again_after_a_pause(database: Database) -> None:
    clock = MovableClock()
    lease = ProcessLease(database, clock, "a")
    await lease.take()
    for minutes in (1, 60 * 24):  # a busy minute; a laptop that slept
        clock.move(minutes=minutes)
        await lease.renew()
        assert not lease.is_steady
        await lease.require()
        assert not lease.is_steady  # those who stood still together do not take each other's work
        clock.move(seconds=29)
        await lease.renew()
        clock.move(seconds=2)
        assert lease.is_steady
    assert not lease.displaced.is_set()
    assert await executors.list_others(database, "b", clock.now()) == [lease.holder]


async def test_it_ends_once_another_took_over(database: Database) -> None:
    clock = MovableClock()
    lease = ProcessLease(database, clock, "a")
    await lease.take()
    clock.move(minutes=1)
    await executors.adopt(database, "a", OTHER, clock.now())
    with pytest.raises(asyncio.CancelledError):  # before anybody renewed it
        await lease.require()
    assert lease.displaced.is_set()
    await lease.renew()
    assert lease.is_lost
    assert await executors.list_lapsed(database, "b", clock.now()) == ["a"]


async def test_it_is_taken_up_again_after_it_was_forgotten(database: Database) -> None:
    """The machine slept for days, and a sweep of another process removed the row; nobody took anything."""
    clock = MovableClock()
    lease = ProcessLease(database, clock, "a", lambda _: False)
    await lease.take()
    await _forget(database, clock)
    await lease.require()
    assert not lease.is_lost
    assert not lease.is_steady
    assert await executors.find(database, "a") == lease.holder
    assert await executors.list_others(database, "b", clock.now()) == [lease.holder]


async def test_it_ends_if_work_was_taken_before_it_was_forgotten(database: Database) -> None:
    clock = MovableClock()
    lease = ProcessLease(database, clock, "a", lambda _: True)
    await lease.take()
    clock.move(minutes=1)
    await executors.adopt(database, "a", OTHER, clock.now())
    await _forget(database, clock)
    with pytest.raises(asyncio.CancelledError):
        await lease.require()
    assert await executors.find(database, "a") is None


async def test_it_ends_if_another_process_has_the_forgotten_id(database: Database) -> None:
    clock = MovableClock()
    lease = ProcessLease(database, clock, "a", lambda _: False)
    await lease.take()
    await _forget(database, clock)
    again = ProcessLease(database, clock, "a", lambda _: False)
    await again.take()
    await lease.renew()
    assert lease.is_lost
    assert await executors.find(database, "a") == again.holder


async def _forget(database: Database, clock: MovableClock) -> None:
    clock.move(days=2)
    await executors.forget(database, "a", clock.now() - TAKEOVER_PERIOD / 2)
    assert await executors.find(database, "a") is None
