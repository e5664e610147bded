"""DBOS looks into a queue that was rung for, or whose work goes on here, and leaves the others alone."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from pipeline.worker.queue_alarms import QueueAlarm

POLLING = 0.01
PATIENCE = 30.0


class Looks:
    """A thread that waits for an alarm as DBOS's workers do, and lets each look be waited for."""

    def __init__(self) -> None:
        self.works = False
        self.alarm = QueueAlarm(lambda: self.works)
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


def test_a_queue_is_polled_while_its_work_goes_on_and_a_moment_longer() -> None:
    with looking() as looks:
        looks.rest()
        looks.works = True
        looks.alarm.ring()
        assert all(looks.come() for _ in range(200))
        looks.works = False
        looks.rest()
