"""Registers the queues with DBOS, and has it look into one when there is something to take, and seldom otherwise.

This is the one place that reaches into DBOS. It queues interrupted workflows again at its start only, polls each queue
at its interval, whether or not anything happens, and looks each second for new queues, workflows with delays and
time-outs. Forge knows when it queues something, has no new queues while it runs, and uses neither. So the one function
of DBOS that starts a thread for each queue is replaced by :class:`QueueAlarms`, which gives DBOS's own worker of a
queue another kind of event to wait for; what that worker does with a queue stays DBOS's.
"""

# pyrefly: ignore-errors[protected-access]

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, _dbos
from dbos._dbos import _get_dbos_instance
from dbos._queue import Queue, queue_worker_thread  # not exported

from domain.errors import DatabaseUnavailable
from memory.db.engine import Engine, is_outage
from pipeline.durable.queues import (
    APP_VERSION,
    DELIVERIES,
    DELIVERY,
    DEPLOYMENTS,
    FEEDBACKS,
    HEARINGS,
    INSTRUCTIONS,
    LEARNING,
    NOTICES,
    RUNS,
    TESTS,
    Workflow,
)

log = structlog.get_logger(__name__)

HEARTBEAT = 10.0  # seconds; a third of the lease
FEW = 3
"""So many deliveries under way hold nobody up."""
LONGEST = 2.0
"""Seconds a run gives way: deliveries that wait for GitHub must not hold up runs for longer."""
_LOOK = 0.2  # seconds


@dataclass(frozen=True)
class EngineSettings:
    """How a process takes part in the work.

    :param executor_id: stable, and unique for each process slot.
    :param polling: seconds between two polls of a queue while there is work; else a bell is rung.
    :param concurrent_runs: runs that this process works on at the same time.
    :param heartbeat: seconds between two sweeps; a fraction of the lease.
    """

    executor_id: str
    polling: float = 0.2
    concurrent_runs: int = 4
    heartbeat: float = HEARTBEAT


async def give_way(longest: float = LONGEST) -> None:
    """Wait until few deliveries are under way, in whatever process.

    Each takes little time, and a run much. So the sign that a review is in progress would come the later, the more
    processes on a machine began runs meanwhile.

    :param longest: seconds.
    """
    try:
        async with asyncio.timeout(longest):
            while await asyncio.to_thread(count_in_flight, DELIVERY, FEW + 1) > FEW:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        return
    except Exception as error:  # the run itself finds out what is wrong
        if not (isinstance(error, DatabaseUnavailable) or is_outage(error)):
            raise
        log.info("run.gave_no_way", error=str(error))


# Each poll is three statements and mostly finds nothing, so long work is polled less often, by these factors.
_LONG, _LONGER = 2.5, 5

_OTHER_QUEUES = (  # works at the same time in this process, and how much seldomer it is polled
    (DEPLOYMENTS, 16, _LONG),  # most of the time they wait, and none of them may keep a roll-back from beginning
    (TESTS, 2, _LONG),  # each takes processors and a gigabyte
    (HEARINGS, 4, _LONG),  # each waits for a model
    (FEEDBACKS, 4, _LONG),  # each takes a few requests to GitHub
    (NOTICES, 8, 1),  # each takes a request, and there are fewer than may be asked at once in all
    (LEARNING, 2, _LONGER),  # nobody waits for it
)
_DELIVERIES_AT_ONCE = 16  # a burst is shared among processes, and the first of it is not told with the last


def build_client(engine: Engine) -> DBOSClient:
    """A DBOS client that only queues work."""
    return DBOSClient(
        system_database_engine=engine,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APP_VERSION,
        lazy=True,
        retry_connection_errors=False,
    )


def prepare_tables(engine: Engine) -> None:
    """Migrate DBOS's own tables."""
    DBOS.migrate(engine.url.render_as_string(hide_password=False))


def prepare_queues(engine: Engine, settings: EngineSettings) -> None:
    """Migrate DBOS's own tables and register the queues, before DBOS first polls them."""
    prepare_tables(engine)
    client = build_client(engine)

    def register(name: str, at_once: int, *, polls: float = 1, in_turn: bool = True) -> None:
        client.register_queue(
            name,
            worker_concurrency=at_once,
            partition_concurrency=1 if in_turn else None,
            polling_interval_sec=settings.polling * polls,
            on_conflict="always_update",
        )

    register(DELIVERIES, _DELIVERIES_AT_ONCE, in_turn=False)
    register(RUNS, settings.concurrent_runs)
    register(INSTRUCTIONS, settings.concurrent_runs)
    for name, at_once, polls in _OTHER_QUEUES:
        register(name, at_once, polls=polls)


def requeue_work(executor_id: str) -> None:
    """Queue again what another executor left behind."""
    DBOS._recover_pending_workflows([executor_id])


def has_work(executor_id: str) -> bool:
    """Whether an executor began workflows that are not over."""
    return bool(_list_begun(executor_id))


def was_work_taken(executor_id: str) -> bool:
    """Whether something that runs in this process, which is this executor, is by the journal no longer its work."""
    return not frozenset(list_active()).issubset(_list_begun(executor_id))


def list_idle(executor_id: str) -> frozenset[str]:
    """Workflows the executor began which do not run in this process."""
    return frozenset(_list_begun(executor_id)).difference(list_active())


def _list_begun(executor_id: str) -> Sequence[str]:
    began = _get_dbos_instance()._sys_db.get_pending_workflows(executor_id, APP_VERSION)
    return [workflow.workflow_id for workflow in began]


def count_in_flight(workflow: Workflow, most: int) -> int:
    """How many executions of a workflow are queued or under way, in whatever process; counted up to ``most``."""
    found = _get_dbos_instance()._sys_db.list_workflows(
        name=workflow.name,
        queue_name=workflow.queue,
        status=["ENQUEUED", "PENDING"],
        limit=most,
        load_input=False,
        load_output=False,
    )
    return len(found)


def has_queued() -> bool:
    """Whether work waits in any queue."""
    found = _get_dbos_instance()._sys_db.list_workflows(
        status=["ENQUEUED"], limit=1, load_input=False, load_output=False
    )
    return bool(found)


def list_active() -> Sequence[str]:
    """Workflows that run in this process."""
    return _get_dbos_instance()._active_workflows_set.activeList()


def requeue(executor_id: str, workflow_id: str) -> None:
    """Queue one workflow of an executor again."""
    dbos = _get_dbos_instance()
    dbos._sys_db.reenqueue_for_recovery(workflow_id, [executor_id], RUNS)


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

    def _keep_queues(self, stop_event: threading.Event, dbos: DBOS) -> None:
        """Run a worker for each queue until the end; DBOS calls this in a thread of its own."""
        queues = self._load_queues(stop_event, dbos)
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
        stop_event.wait()
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


def _do_nothing(stop_event: threading.Event, dbos: DBOS) -> None:
    """In place of DBOS's thread for workflows with delays and time-outs."""
