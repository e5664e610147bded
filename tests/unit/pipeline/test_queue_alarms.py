"""DBOS looks into a queue that was rung for, or where an end has yet to be noted, and leaves the others alone."""

import inspect
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from dbos import _dbos
from dbos._queue import queue_worker_thread  # not exported

from pipeline.worker.queues import QueueAlarm

POLLING = 0.01
PATIENCE = 30.0


class Looks:
    """A thread that waits for an alarm as DBOS's workers do, and lets each look be waited for."""

    def __init__(self) -> None:
        self.ends = False
        self.alarm = QueueAlarm(lambda: self.ends)
        self._looked = threading.Semaphore(0)
        self.thread = threading.Thread(target=self._wait, daemon=True)

    def _wait(self) -> None:
        while not self.alarm.wait(POLLING):
            self._looked.release()

    def come(self) -> bool:
        return self._looked.acquire(timeout=PATIENCE)

    def rest(self) -> None:
        """Wait until nobody has looked for a while."""
        while self._looked.acquire(timeout=2.0):
            pass


@contextmanager
def looking() -> Generator[Looks]:
    looks = Looks()
    looks.thread.start()
    yield looks
    looks.alarm.set()
    looks.thread.join(PATIENCE)
    assert not looks.thread.is_alive()


def test_nobody_looks_into_a_quiet_queue_until_it_is_rung_for() -> None:
    with looking() as looks:
        looks.rest()
        looks.alarm.ring()
        assert looks.come()
        looks.rest()


def test_a_queue_is_polled_until_the_end_of_its_work_is_noted_and_a_moment_longer() -> None:
    with looking() as looks:
        looks.rest()
        looks.ends = True
        looks.alarm.ring()
        assert all(looks.come() for _ in range(200))
        looks.ends = False
        looks.rest()


@pytest.mark.parametrize("is_rung_for", [True, False])
def test_what_happens_during_a_long_look_is_looked_for_after_it(is_rung_for: bool) -> None:
    """A ring, or the end of the queue's last work, while DBOS waits for a slow database."""
    works = not is_rung_for
    alarm = QueueAlarm(lambda: works)
    alarm.ring()
    assert not alarm.wait(POLLING)  # the look begins
    if is_rung_for:
        alarm.ring()
    works = False
    time.sleep(1.2)
    begun = time.monotonic()
    assert not alarm.wait(POLLING)
    assert time.monotonic() - begun < 5


def test_dbos_starts_its_queues_and_its_timers_by_the_names_that_are_replaced() -> None:
    """An update that renames them, or passes something else, must not leave Forge polling unnoticed."""
    started = inspect.getsource(_dbos.DBOS)
    for name in ("queue_thread", "background_jobs_thread"):
        assert f"target={name}," in started
        assert [*inspect.signature(getattr(_dbos, name)).parameters] == ["stop_event", "dbos"]
    assert [*inspect.signature(queue_worker_thread).parameters] == ["stop_event", "dbos", "queue"]
