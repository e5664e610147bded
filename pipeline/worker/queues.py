"""Registers the queues with DBOS, deliveries before runs, and opens clients that only queue work."""

import asyncio

import structlog
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer

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
    RUNS,
    TESTS,
)
from pipeline.worker import recovery
from pipeline.worker.lease import EngineSettings

log = structlog.get_logger(__name__)

FEW = 3
"""So many deliveries under way hold nobody up."""
LONGEST = 2.0
"""Seconds a run gives way: deliveries that wait for GitHub must not hold up runs for longer."""
_LOOK = 0.2  # seconds


async def give_way(longest: float = LONGEST) -> None:
    """Wait until few deliveries are under way, in whatever process.

    Each takes little time, and a run much. So the sign that a review is in progress would come the later, the more
    processes on a machine began runs meanwhile.

    :param longest: seconds.
    """
    try:
        async with asyncio.timeout(longest):
            while await asyncio.to_thread(recovery.count_in_flight, DELIVERY, FEW + 1) > FEW:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        return
    except Exception as error:  # the run itself finds out what is wrong
        if not (isinstance(error, DatabaseUnavailable) or is_outage(error)):
            raise
        log.info("run.gave_no_way", error=str(error))


# Works at the same time in this process
_DELIVERIES_AT_ONCE = 16  # a burst is shared among processes, and the first of it is not told with the last
_HEARINGS_AT_ONCE = 4  # each waits for a model
_LEARNING_AT_ONCE = 2  # nobody waits for it
_DEPLOYMENTS_AT_ONCE = 16  # most of the time they wait, and none of them may keep a roll-back from beginning
_FEEDBACKS_AT_ONCE = 4  # each takes a few requests to GitHub
_TESTS_AT_ONCE = 2  # each takes processors and a gigabyte
# Each poll is three statements and mostly finds nothing, so long work is polled less often, by these factors.
_LONG, _LONGER = 2.5, 5


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
    register(DEPLOYMENTS, _DEPLOYMENTS_AT_ONCE, polls=_LONG)
    register(TESTS, _TESTS_AT_ONCE, polls=_LONG)
    register(HEARINGS, _HEARINGS_AT_ONCE, polls=_LONG)
    register(FEEDBACKS, _FEEDBACKS_AT_ONCE, polls=_LONG)
    register(LEARNING, _LEARNING_AT_ONCE, polls=_LONGER)
