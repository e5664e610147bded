"""A process keeps its lease through a pause, until another process took over."""

import asyncio

import pytest

from memory.db.engine import Database
from memory.process import executors
from memory.process.executors import Holder
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
