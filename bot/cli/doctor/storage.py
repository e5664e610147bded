"""Examines the database and the disk that Forge would use."""

import asyncio
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from sqlalchemy.exc import DBAPIError

import migrations
from bot.cli.doctor.diagnosis import Diagnosis, fail, ok, warn
from bot.cli.halt import describe_halt
from bot.cli.run import open_database
from bot.health import MIN_FREE
from bot.settings import Settings
from domain.errors import ForgeError
from memory.db.engine import sync_engine
from memory.process import halts


async def check_database(settings: Settings) -> Diagnosis:
    """Whether the database answers, and has this version's schema or can get it."""
    try:
        engine = sync_engine(settings.database_url, busy_seconds=3)
    except ForgeError as error:
        return fail("database", error.message, error.advice)
    file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
    if file is not None and not file.exists():
        return _check_new_file(settings, file)
    try:
        current = await asyncio.to_thread(migrations.is_current, engine)
    except ForgeError as error:
        return fail("database", error.message, error.advice)
    except DBAPIError as error:
        return fail("database", str(error.orig), "Name another one in FORGE_DATABASE_URL, or restore this one.")
    finally:
        engine.dispose()
    if current and (halted := await _check_halt(settings)):
        return halted
    state = "schema of this version" if current else "will be brought to this version's schema at the start"
    return ok("database", f"{engine.dialect.name}, {state}")


async def _check_halt(settings: Settings) -> Diagnosis | None:
    async with open_database(settings) as database:
        held = await halts.get_current(database)
    return None if held is None else warn("database", describe_halt(held), "`forge resume` lets it go on.")


def _check_new_file(settings: Settings, file: Path) -> Diagnosis:
    """Whether an SQLite file can be made at the start. It is not made here."""
    folder = file.absolute().parent
    try:
        with nullcontext() if folder.exists() else _make_data_dir(settings), tempfile.TemporaryFile(dir=folder):
            return ok("database", f"{file} will be created at the start")
    except ForgeError as error:
        return fail("database", f"{file} cannot be created: {error.message}", error.advice)
    except OSError as error:
        advice = "Make its folder, or name another file in FORGE_DATABASE_URL."
        return fail("database", f"{file} cannot be created: {error.strerror}", advice)


async def check_disk(settings: Settings) -> Diagnosis:
    """Whether there is room in the data folder."""
    try:
        with _make_data_dir(settings):
            free = shutil.disk_usage(settings.data_dir).free
    except ForgeError as error:
        return fail("disk", error.message, error.advice)
    state = f"{free / 1e9:.1f} GB free at {settings.data_dir}"
    if free < MIN_FREE:
        return fail("disk", state, "Make room, or set FORGE_DATA_DIR elsewhere.")
    return ok("disk", state)


@contextmanager
def _make_data_dir(settings: Settings) -> Generator[None]:
    """The folder as it will be at the start; what was made for that is removed again.

    :raises ConfigurationError: if it cannot be made or written.
    """
    folder = settings.data_dir.absolute()
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        settings.make_data_dir()
        yield
    finally:
        with suppress(OSError):
            for each in made:
                each.rmdir()
