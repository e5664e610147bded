"""Registers the queues with DBOS, and opens clients that only queue work."""

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer

from memory.db.engine import Engine
from pipeline.durable.workflows import (
    APP_VERSION,
    DELIVERIES,
    DEPLOYMENTS,
    FEEDBACKS,
    HEARINGS,
    INSTRUCTIONS,
    LEARNING,
    RUNS,
    TESTS,
)
from pipeline.worker.settings import EngineSettings

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
