"""Opens the database, SQLite or PostgreSQL, turns its failures into errors of ours, and tells who listens of events."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar, TypeVarTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Engine,
    Executable,
    Row,
    TypeDecorator,
    cast,
    create_engine,
    event,
    inspect,
    make_url,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.sql.selectable import TypedReturnsRows

from domain.errors import ConfigurationError, DatabaseUnavailable
from domain.events import Event
from memory.db.sqlite_writers import QueuedConnection, WriterQueue

Subscriber = Callable[[Event], None]


class Bus:
    """Who listens of events."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call ``subscriber`` after this process has committed an event."""
        self._subscribers.append(subscriber)

    def publish(self, event: Event) -> None:
        for subscriber in self._subscribers:
            subscriber(event)


BUSY_SECONDS = 30.0  # how long a worker waits for the database
PENDING_EVENTS = "told"  # key of a session's or connection's info: the events to publish after the commit
_POOL, _OVERFLOW = 5, 20  # connections that are kept, and further ones under load

T = TypeVar("T")
Columns = TypeVarTuple("Columns")

__all__ = [
    "PENDING_EVENTS",
    "PLANNED_ONCE",
    "Connection",
    "Database",
    "Engine",
    "begin",
    "build_postgresql_arguments",
    "insert_new",
    "is_outage",
    "sync_engine",
    "upsert",
]


class Utc(TypeDecorator[datetime]):
    """A time in UTC; SQLite drops the time zone, so it is added again on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def parse_url(url: str) -> URL:
    """The database address of the settings.

    :raises ConfigurationError: if it is neither SQLite nor PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise ConfigurationError(
            "FORGE_DATABASE_URL is not a database address Forge understands.",
            "Use sqlite:///path/to/forge.db or postgresql://user:password@host/database.",
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise ConfigurationError(
            "FORGE_DATABASE_URL names an SQLite database in memory, which would not survive a restart.",
            "Name a file, e.g. sqlite:///forge.db.",
        )
    return parsed


def sync_engine(
    url: str, *, busy_seconds: float = BUSY_SECONDS, urgent: bool = False, pool_size: int = _POOL
) -> Engine:
    """An engine for DBOS and for grouped commits in a thread.

    :param busy_seconds: how long to wait for another writer of SQLite, or for PostgreSQL to answer.
    :param urgent: go before the other writers of this process (SQLite), and do not ask before each transaction whether
        the server is still there (PostgreSQL): who uses it tries again anyway.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_engine(
            parsed.set(drivername="sqlite"),
            pool_size=pool_size,
            max_overflow=_OVERFLOW,
            connect_args=_sqlite_arguments(parsed, busy_seconds, urgent),
        )
        _prepare_sqlite(engine, busy_seconds)
        return engine
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=_OVERFLOW,
        pool_timeout=busy_seconds,
        pool_pre_ping=not urgent,
        connect_args=build_postgresql_arguments(busy_seconds),
    )


def _async_engine(url: str, busy_seconds: float) -> AsyncEngine:
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_async_engine(
            parsed.set(drivername="sqlite+aiosqlite"),
            pool_size=_POOL,
            max_overflow=_OVERFLOW,
            connect_args=_sqlite_arguments(parsed, busy_seconds, urgent=False),
        )
        _prepare_sqlite(engine.sync_engine, busy_seconds)
        return engine
    return create_async_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=_POOL,
        max_overflow=_OVERFLOW,
        pool_pre_ping=True,
        connect_args=build_postgresql_arguments(busy_seconds),
    )


def build_postgresql_arguments(seconds: float) -> dict[str, Any]:
    """Settings of a connection with which a server that vanished is noticed after about so many seconds."""
    return {
        "connect_timeout": max(2, int(seconds)),
        "tcp_user_timeout": int(seconds * 1000),
        "keepalives_idle": max(1, int(seconds / 2)),
        "keepalives_interval": max(1, int(seconds / 6)),
        "keepalives_count": 3,
    }


def _sqlite_arguments(url: URL, busy_seconds: float, urgent: bool) -> dict[str, Any]:
    turns = WriterQueue.of(url.database or "")

    def connect(*arguments: Any, factory: object = None, **options: Any) -> QueuedConnection:
        connection = QueuedConnection(*arguments, **options)
        connection.queue, connection.urgent, connection.patience = turns, urgent, busy_seconds
        return connection

    return {"factory": connect}


def _prepare_sqlite(engine: Engine, busy_seconds: float) -> None:
    """WAL, durable commits, and transactions that take the write lock at their first write.

    Set on connect, because a ``begin`` listener would keep DBOS from launching.
    """

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        cursor = connection.cursor()
        for pragma in (
            f"busy_timeout={int(busy_seconds * 1000)}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        if sqlite3.sqlite_version_info < (3, 42):  # DBOS asks for 'subsec', which came with 3.42
            connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(_modifier: str) -> float:
    return datetime.now(UTC).timestamp()


class TableRow(DeclarativeBase):
    """The base class of the rows of Forge's own tables."""

    # GitHub's ids passed 2^31 long ago.
    type_annotation_map: ClassVar[dict[type, Any]] = {datetime: Utc, int: BigInteger}


def number_in(value: ColumnElement[Any]) -> ColumnElement[int]:
    """A number within JSON, e.g. an id of GitHub; SQLAlchemy's own ``as_integer`` ends at 2^31 on PostgreSQL.

    :param value: an element of a JSON column.
    """
    return cast(value.as_string(), BigInteger)


class Database:
    """The database as the rest of Forge uses it: short transactions on the event loop."""

    def __init__(self, url: str, bus: Bus | None = None, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.bus = bus or Bus()
        self._engine = _async_engine(url, busy_seconds)
        self._sessions = async_sessionmaker(self._engine, expire_on_commit=False)
        self._sync = sync_engine(url, busy_seconds=busy_seconds)
        self._threads = ThreadPoolExecutor(_POOL + _OVERFLOW, "database")

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncSession]:
        """A session that commits at the end.

        A transaction that decides by what it reads must write first, because SQLite locks at the first write.

        :raises DatabaseUnavailable: if the database cannot be reached, is locked, full or read-only.
        """
        try:
            async with self._sessions.begin() as session:
                yield session
        except (DBAPIError, PoolTimeout) as error:
            raise _translate(error) from error
        self._publish(session.info.get(PENDING_EVENTS, ()))

    async def execute(self, statement: Executable) -> None:
        """Run one statement that returns nothing, as a transaction of its own."""
        await self.run_in_transaction(lambda connection: connection.execute(statement))

    async def rows(self, query: TypedReturnsRows[*Columns]) -> Sequence[Row[*Columns]]:
        """What one statement returns, as a transaction of its own."""
        return await self._ask(lambda session: session.execute(query).all())

    async def scalars(self, query: TypedReturnsRows[T]) -> Sequence[T]:
        """The first column of what one statement returns, as a transaction of its own."""
        return await self._ask(lambda session: session.scalars(query).all())

    async def scalar(self, query: TypedReturnsRows[T]) -> T | None:
        """The first value of what one statement returns, as a transaction of its own; None if there is none."""
        return await self._ask(lambda session: session.scalar(query))

    async def get(self, table: type[T], key: Any) -> T | None:
        """The row with this primary key; whoever changes it needs a transaction around both."""
        return await self._ask(lambda session: session.get(table, key))

    async def _ask(self, question: Callable[[Session], T]) -> T:
        """What one statement returns. In a thread it costs a third of what a session on the event loop does."""
        return await self.run_in_transaction(lambda connection: question(Session(connection)))

    async def run_in_transaction(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` as one transaction in a thread and return its result; several statements cost one thread switch.

        If it is cancelled before its commit, it is rolled back.

        :param work: only runs statements, and depends only on what they return.
        :raises DatabaseUnavailable: as :meth:`transaction`.
        """
        cancelled = threading.Event()

        def transact() -> tuple[T, list[Event]]:
            with begin(self._sync) as connection:
                told: list[Event] = []
                connection.info[PENDING_EVENTS] = told
                done = work(connection)
                if cancelled.is_set():
                    raise asyncio.CancelledError
            return done, told

        try:
            done, told = await asyncio.get_running_loop().run_in_executor(self._threads, transact)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        self._publish(told)
        return done

    def _publish(self, told: Iterable[Event]) -> None:
        for each in told:
            self.bus.publish(each)

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self._engine.dialect.name

    def find_log(self) -> tuple[int, int] | None:
        """What changes whenever a process writes to an SQLite database; None if there is nothing that cheap to ask."""
        if self.dialect != "sqlite":
            return None
        try:
            found = os.stat(f"{self._sync.url.database}-wal")  # noqa: PTH116  # each second
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._sync.dispose()
        await self._engine.dispose()


@contextmanager
def begin(engine: Engine) -> Generator[Connection]:
    """A transaction on a connection of a synchronous engine.

    :raises DatabaseUnavailable: as :meth:`Database.transaction`.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except (DBAPIError, PoolTimeout) as error:
        raise _translate(error) from error


PLANNED_ONCE = "set_config('plan_cache_mode', 'force_generic_plan', true)"
"""Selected by a transaction's first statement, it makes PostgreSQL use generic plans for the later ones.

Only for look-ups by key, whose plan does not depend on the values and takes longer than the look-up. DBOS's own
statements need plans for their values, because its indexes are partial. A separate statement would cost a round trip.
"""


_SQLITE_OUTAGES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
}
OUTAGES = frozenset({"OperationalError", "InterfaceError", "InternalError", "TimeoutError"})
"""The names of SQLAlchemy's errors that the database causes, not the statement."""


def is_outage(error: BaseException) -> bool:
    """Whether the database causes an error of SQLAlchemy, not the statement."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, PoolTimeout)
    if isinstance(error.orig, sqlite3.Error):  # it also calls a misspelt column operational
        return getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _SQLITE_OUTAGES
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError | InternalError)


def _translate(error: DBAPIError | PoolTimeout) -> Exception:
    """Failures of the database become Forge's errors; mistakes in our own statements stay as they are."""
    if not is_outage(error):
        return error
    cause = getattr(error, "orig", None) or error
    return DatabaseUnavailable(f"The database failed: {cause}", "Check its state, space and permissions.")


def insert_new(dialect: str, table: type[TableRow], values: dict[str, Any] | None = None) -> Any:
    """An insert that leaves an existing row alone; ``rowcount`` says whether a row was added.

    :param values: values of one row; None for an insert that is executed with a list of rows.
    """
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table)
    return (insert if values is None else insert.values(**values)).on_conflict_do_nothing()


def upsert(dialect: str, table: type[TableRow], values: dict[str, Any], instead: dict[str, Any]) -> Any:
    """An insert that updates an existing row; ``instead`` replaces values in that case."""
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table).values(**values)
    return insert.on_conflict_do_update(index_elements=list(inspect(table).primary_key), set_={**values, **instead})
