"""Has DBOS look into a queue when there is something to take, and seldom otherwise.

DBOS polls each queue at its interval, whether or not anything happens, and looks each second for new queues, workflows
with delays and time-outs. Forge knows when it queues something, has no new queues while it runs, and uses neither. So
the one function of DBOS that starts a thread for each queue is replaced by :func:`keep_queues`, which gives DBOS's own
worker of a queue another kind of event to wait for; what that worker does with a queue stays DBOS's.
"""

# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import structlog
from dbos import DBOS, _dbos
from dbos._queue import Queue, queue_worker_thread  # not exported

log = structlog.get_logger(__name__)

SELDOM = 30.0
"""Seconds between two looks into a queue for which nobody rang."""
_ATTENTIVE = 1.0
"""Seconds in which DBOS polls a queue at its interval after a ring, or after it noted the end of one of its workflows,
which it does a moment after the ring; another process may have held the queue."""
_ENDING = 10.0  # seconds that a thread may take to end, as in DBOS


class QueueAlarm(threading.Event):
    """What DBOS's worker of a queue waits for before each look: its end, its polling interval, or a ring.

    :param is_ending: whether DBOS has yet to begin a workflow of the queue that it took, or to note that one ended.
    """

    def __init__(self, is_ending: Callable[[], bool]) -> None:
        super().__init__()
        self._is_ending = is_ending
        self._rung = threading.Event()
        self._looking_since = time.monotonic()
        self._attentive_until = self._looking_since + _ATTENTIVE

    def ring(self) -> None:
        """Look at once, or at the end of the polling interval if the last look was not long ago."""
        self._attentive_until = time.monotonic() + _ATTENTIVE
        self._rung.set()

    def set(self) -> None:
        super().set()
        self._rung.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the next look; whether it is the end instead.

        :param timeout: seconds of the polling interval.
        """
        self._rung.clear()  # before the next lines, so that a ring in between is heard
        now = time.monotonic()
        # A look takes long where the database is slow; what happened meanwhile still gets all the attention.
        self._attentive_until += now - self._looking_since
        if self._is_ending():
            self._attentive_until = now + _ATTENTIVE
        if now < self._attentive_until:
            super().wait(timeout)
        else:
            self._rung.wait(SELDOM)
        self._looking_since = time.monotonic()
        return self.is_set()


class QueueAlarms:
    """The alarms of the queues of this process.

    :param names: of the queues, which are registered before DBOS is launched.
    :param running: how many workflows of each queue run in this process.
    """

    def __init__(self, names: Sequence[str], running: Counter[str]) -> None:
        self._names = names
        self._running = running
        self._alarms: dict[str, QueueAlarm] = {}

    def install(self) -> None:
        """Have DBOS's next launch start its queues by these alarms."""
        _dbos.queue_thread = self._keep_queues
        _dbos.background_jobs_thread = _do_nothing

    def ring(self, queue: str) -> None:
        if queue in self._alarms:
            self._alarms[queue].ring()

    def ring_all(self) -> None:
        for alarm in self._alarms.values():
            alarm.ring()

    def _keep_queues(self, stop: threading.Event, dbos: DBOS) -> None:
        """Run a worker for each queue until the end; DBOS calls this in a thread of its own."""
        queues = self._load_queues(stop, dbos)
        workers: list[threading.Thread] = []
        for queue in queues:
            alarm = QueueAlarm(
                lambda name=queue.name: dbos._active_workflows_set.count_for_queue(name) > self._running[name]
            )
            self._alarms[queue.name] = alarm
            thread = threading.Thread(
                target=queue_worker_thread, args=(alarm, dbos, queue), name=f"queue-{queue.name}", daemon=True
            )
            thread.start()
            workers.append(thread)
        stop.wait()
        for alarm in self._alarms.values():
            alarm.set()
        for thread in workers:
            thread.join(_ENDING)

    def _load_queues(self, stop: threading.Event, dbos: DBOS) -> Sequence[Queue]:
        while not stop.is_set():
            try:
                return [each for each in dbos._sys_db.list_queues() if each.name in self._names]
            except Exception as error:  # the database is away
                log.warning("queues.not_loaded", error=str(error))
                stop.wait(1.0)
        return []


def _do_nothing(_stop: threading.Event, _dbos: DBOS) -> None:
    """In place of DBOS's thread for workflows with delays and time-outs."""
