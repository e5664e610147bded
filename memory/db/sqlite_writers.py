"""Queues the writers of one SQLite file, so that none starves and webhooks go first.

SQLite makes a second writer try again after pauses, in no order, so with many writers one can wait for seconds. Within
a process, this queue takes the place of the pauses; between processes, they remain.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "BEGIN", "CREATE", "DROP", "ALTER")


class WriterQueue:
    """The queue of one database file. The writer that holds the turn may write."""

    _of_file: ClassVar[dict[str, "WriterQueue"]] = {}
    _lock_of_files = threading.Lock()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._urgent: deque[threading.Event] = deque()
        self._ordinary: deque[threading.Event] = deque()

    @classmethod
    def of(cls, path: str) -> "WriterQueue":
        """The queue of this file in this process."""
        with cls._lock_of_files:
            return cls._of_file.setdefault(str(Path(path).resolve()), cls())

    @property
    def queue_length(self) -> int:
        """How many writers wait."""
        return len(self._urgent) + len(self._ordinary)

    def acquire(self, seconds: float, *, urgent: bool) -> bool:
        """Wait for the turn, in order of arrival but behind urgent writers; returns whether it came in time."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            line = self._urgent if urgent else self._ordinary
            line.append(mine)
        if mine.wait(seconds):
            return True
        with self._lock:
            if mine.is_set():
                return True
            line.remove(mine)
            return False

    def release(self) -> None:
        """Pass the turn to the next writer."""
        with self._lock:
            line = self._urgent or self._ordinary
            if line:
                line.popleft().set()
            else:
                self._taken = False


class QueuedConnection(sqlite3.Connection):
    """A connection that waits for its turn before a transaction that writes, and passes it on at the end."""

    queue: WriterQueue
    urgent: bool
    patience: float
    _mine = False

    def cursor(self, factory: Any = None) -> sqlite3.Cursor:  # pyrefly: ignore[bad-override]
        return super().cursor(factory or _Cursor)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return self.cursor().execute(sql, parameters)

    def commit(self) -> None:
        try:
            super().commit()
        finally:
            self.end_statement()

    def rollback(self) -> None:
        try:
            super().rollback()
        finally:
            self.end_statement()

    def close(self) -> None:
        """Close it, without its open transaction.

        SQLite closes a connection only with its last statement, and a statement that returns rows lives as long as
        somebody holds its cursor: the frames of a cancelled task do, and the lock would be kept with it.
        """
        try:
            if self._mine and self.in_transaction:
                super().rollback()
            super().close()
        finally:
            self._release()

    def __del__(self) -> None:
        self._release()  # if it was dropped without being closed

    def begin_statement(self, statement: str) -> None:
        """Take the turn if the statement may open a transaction that writes."""
        if self._mine or self.in_transaction or not statement.lstrip()[:8].upper().startswith(_WRITES):
            return
        if not self.queue.acquire(self.patience, urgent=self.urgent):
            locked = sqlite3.OperationalError("database is locked")
            locked.sqlite_errorcode, locked.sqlite_errorname = sqlite3.SQLITE_BUSY, "SQLITE_BUSY"
            raise locked
        self._mine = True

    def end_statement(self) -> None:
        """Pass the turn on unless the transaction is still open."""
        if self._mine and not self.in_transaction:
            self._release()

    def _release(self) -> None:
        if self._mine:
            self._mine = False
            self.queue.release()


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with _take_turn(self.connection, sql):
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Self:
        with _take_turn(self.connection, sql):
            return super().executemany(sql, parameters)


@contextmanager
def _take_turn(connection: sqlite3.Connection, statement: str) -> Generator[None]:
    assert isinstance(connection, QueuedConnection)
    connection.begin_statement(statement)
    try:
        yield
    finally:
        connection.end_statement()
