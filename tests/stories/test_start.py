"""What keeps a Forge from starting is told in one line that names the setting."""

import os
import socket
import sqlite3
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from domain.errors import ForgeError
from memory.process import executors
from memory.process.executors import Holder
from pipeline.worker.lease import ProcessLease
from tests.databases import create_database
from tests.stories.driver import NO_MODEL, PATIENT, open_story


async def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert await _refusal(tmp_path, port=port) == (
            f"FORGE_PORT {port} is in use on 127.0.0.1. Stop the program that uses it, or set another port."
        )


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("no host!", "cannot be resolved"),  # no resolver asks the network for it
        ("two..dots", "cannot be resolved: it is not a host name"),
        ("192.0.2.1", "is not an address of this machine"),
    ],
)
async def test_a_host_that_is_none(host: str, why: str, tmp_path: Path) -> None:
    assert (await _refusal(tmp_path, host=host)).startswith(f"FORGE_HOST {host} {why}")


async def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/missing/forge.db"
    assert (await _refusal(tmp_path, database_url=url)).startswith(f"FORGE_DATABASE_URL {url} cannot be used: ")


async def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    told = await _refusal(tmp_path, database_url="postgresql://forge:hidden@127.0.0.1:1/forge")
    assert told.startswith("FORGE_DATABASE_URL postgresql://forge:***@127.0.0.1:1/forge cannot be used: ")
    assert "hidden" not in told


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n" * 1000)
    told = await _refusal(tmp_path, database_url=f"sqlite:///{tmp_path}/notes.txt")
    assert "cannot be used: file is not a database." in told


async def test_a_database_of_a_later_version(tmp_path: Path) -> None:
    url = create_database("sqlite", tmp_path)
    _set_schema(tmp_path / "forge.db", "9999", oldest="9999")
    assert "the schema '9999' of another version" in await _refusal(tmp_path, database_url=url)


async def test_a_database_of_a_later_version_that_works_with_this_one(tmp_path: Path) -> None:
    """As while processes are updated one after the other, or go back to the version before."""
    url = create_database("sqlite", tmp_path)
    _set_schema(tmp_path / "forge.db", "9999", oldest="0001")
    async with open_story(url, tmp_path) as story:
        repository, alice = story.repository({"app.py": "print()\n"})
        _, head = await story.propose(repository, alice, {"app.py": "print(1)\n"})
        assert story.check(repository, head).conclusion == "neutral"


def _set_schema(file: Path, revision: str, oldest: str) -> None:
    """As if a later version had migrated the database.

    :param oldest: the oldest schema whose version still works with it.
    """
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        connection.execute("UPDATE alembic_version SET oldest = ?", (oldest,))
    connection.close()


async def _refusal(folder: Path, **settings: object) -> str:
    """Why a Forge with these settings does not start."""
    url = str(settings.pop("database_url", None) or create_database("sqlite", folder))
    with pytest.raises(ForgeError) as caught:
        async with open_story(url, folder, PATIENT, NO_MODEL, **settings):
            pass
    told = str(caught.value)
    assert "\n" not in told
    return told


async def test_a_second_process_on_sqlite_is_told_of_the_first(tmp_path: Path) -> None:
    async with open_story(create_database("sqlite", tmp_path), tmp_path) as story:
        services = story.forge.services
        first = Holder("first:3000", "an instance", socket.gethostname(), os.getppid())
        await executors.take(services.database, first, services.clock.now())
        with capture_logs() as logs:
            second = ProcessLease(services.database, services.clock, "second:3001")
            await second.take()
            await second.release()
        assert [(each["event"], each["pids"]) for each in logs] == [("sqlite.shared", [os.getppid()])]
