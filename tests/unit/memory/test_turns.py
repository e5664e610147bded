"""How the writers of one SQLite file take turns."""

import gc
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from memory.db.engine import begin, sync_engine
from memory.db.sqlite_writers import QueuedConnection, WriterQueue


def _engine(path: Path, *, urgent: bool = False, seconds: float = 5) -> Engine:
    return sync_engine(f"sqlite:///{path}", urgent=urgent, busy_seconds=seconds)


def _connect(path: Path) -> QueuedConnection:
    """A connection of no engine."""
    connection = sqlite3.connect(path, factory=QueuedConnection, isolation_level="IMMEDIATE")
    connection.queue, connection.urgent, connection.patience = WriterQueue.of(str(path)), False, 1
    return connection


def _table(path: Path) -> None:
    with begin(_engine(path)) as connection:
        connection.execute(text("CREATE TABLE lines (writer TEXT)"))


def test_the_urgent_go_first_and_the_others_in_the_order_of_coming() -> None:
    turns, order = WriterQueue(), list[str]()
    assert turns.acquire(1, urgent=False)
    waiting: list[threading.Thread] = []
    for name in ("first", "second", "urgent", "third"):
        begun = len(waiting)

        def write(name: str = name) -> None:
            assert turns.acquire(5, urgent=name == "urgent")
            order.append(name)
            turns.release()

        waiting.append(threading.Thread(target=write))
        waiting[-1].start()
        while turns.queue_length == begun:
            pass
    turns.release()
    for thread in waiting:
        thread.join()
    assert order == ["urgent", "first", "second", "third"]


def test_who_waits_too_long_leaves_the_line() -> None:
    turns = WriterQueue()
    assert turns.acquire(1, urgent=False)
    assert not turns.acquire(0.01, urgent=True)
    turns.release()
    assert turns.acquire(0, urgent=False)


def test_a_turn_ends_with_commit_rollback_error_close_and_oblivion(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    _table(path)
    insert = text("INSERT INTO lines VALUES ('one')")
    engine, other = _engine(path), _engine(path, seconds=0.2)

    def others_may() -> None:
        with begin(other) as connection:
            connection.execute(insert)

    with begin(engine) as connection:
        connection.execute(insert)
    others_may()
    with engine.connect() as connection:
        connection.execute(insert)
        connection.rollback()
    others_may()
    with pytest.raises(OperationalError, match="no such table"), begin(engine) as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))
    others_may()
    forgotten = _connect(path)
    forgotten.execute("INSERT INTO lines VALUES ('lost')")
    assert not forgotten.queue.acquire(0.01, urgent=True)
    del forgotten
    gc.collect()  # its statement cache refers to it
    others_may()


def test_a_connection_that_is_closed_in_a_transaction_leaves_no_lock(tmp_path: Path) -> None:
    """Its cursor lives on, as in the frames of a task that was cancelled."""
    path = tmp_path / "turns.db"
    _table(path)
    connection = _connect(path)
    cursor = connection.execute("INSERT INTO lines VALUES ('one'), ('two') RETURNING writer")
    connection.close()
    with begin(_engine(path, seconds=0.2)) as other:
        other.execute(text("INSERT INTO lines VALUES ('three')"))
        assert other.execute(text("SELECT writer FROM lines")).scalars().all() == ["three"]
    del cursor


def test_readers_do_not_wait(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    _table(path)
    with begin(_engine(path)) as writer, _engine(path, seconds=0.1).connect() as reader:
        writer.execute(text("INSERT INTO lines VALUES ('one')"))
        assert reader.execute(text("SELECT count(*) FROM lines")).scalar() == 0


def test_many_writers_all_get_their_turn(tmp_path: Path) -> None:
    """With SQLite's own pauses one of so many writers is unlucky for longer than this."""
    path = tmp_path / "turns.db"
    _table(path)
    engine = _engine(path, seconds=5)

    def write(name: str) -> None:
        for _ in range(20):
            with begin(engine) as connection:
                connection.execute(text("INSERT INTO lines VALUES (:name)"), {"name": name})

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with begin(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM lines")).scalar() == 400
