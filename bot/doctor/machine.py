"""Checks what this machine has: the database, the disk, the port, and the sandbox."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import httpx2
from sqlalchemy import false, update
from sqlalchemy.exc import DBAPIError

import migrations
from bot.current_database import open_database
from bot.doctor import Diagnosis, fail, ok, warn
from bot.health import ALIVE, MIN_FREE
from bot.listener import check_address, explain_in_use
from bot.settings import Settings
from domain.errors import ForgeError
from memory.db.engine import Engine, begin, sync_engine
from memory.db.tables.repositories import RepositoryRow
from memory.process import halts
from messages.deliveries import describe_halt
from safety.containment import ADVICE as NO_SANDBOX
from safety.containment import CODE
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.probing import Wanted, probe, select_levels
from workspace.sandbox.sandbox import SandboxLevel, find_groups

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where to ask who listens at all addresses


async def check_database(settings: Settings) -> Diagnosis:
    """Whether the database answers, and has this version's schema or can be migrated to it."""
    try:
        engine = sync_engine(settings.database_url, busy_seconds=3)
    except ForgeError as error:
        return fail("database", error.message, error.advice)
    file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
    if file is not None and not file.exists():
        return _check_new_file(settings, file)
    try:
        current = await asyncio.to_thread(migrations.is_current, engine)
        if current:
            await asyncio.to_thread(_try_to_write, engine)
        halted = await _check_halt(settings) if current else None
    except ForgeError as error:
        return fail("database", error.message, error.advice)
    except DBAPIError as error:
        return fail("database", str(error.orig), "Restore it, or name another one in FORGE_DATABASE_URL.")
    finally:
        engine.dispose()
    if halted is not None:
        return halted
    state = "schema is up to date" if current else "schema will be migrated at the start"
    return ok("database", f"{engine.dialect.name}, {state}")


def _try_to_write(engine: Engine) -> None:
    """Change no row, which a database that can only be read refuses as well.

    :raises DatabaseUnavailable: it cannot be written.
    """
    with begin(engine) as connection:
        connection.execute(update(RepositoryRow).where(false()).values(paused_why=None))


async def _check_halt(settings: Settings) -> Diagnosis | None:
    async with open_database(settings) as database:
        held = await halts.get_current(database)
    return (
        None
        if held is None
        else warn("database", describe_halt(held.since, held.why), "`forge resume` lets it continue.")
    )


def _check_new_file(settings: Settings, file: Path) -> Diagnosis:
    """Whether an SQLite file can be created at the start. Does not create it."""
    folder = file.absolute().parent
    try:
        with nullcontext() if folder.exists() else _make_data_dir(settings), tempfile.TemporaryFile(dir=folder):
            return ok("database", f"{file} will be created at the start")
    except ForgeError as error:
        return fail("database", f"{file} cannot be created: {error.message}", error.advice)
    except OSError as error:
        advice = "Create its folder, or name another file in FORGE_DATABASE_URL."
        return fail("database", f"{file} cannot be created: {error.strerror}", advice)


async def check_port(settings: Settings) -> Diagnosis | None:
    """Whether Forge can listen, or listens already; None if it takes any port that is free."""
    if not settings.port:
        return None
    address = f"{settings.host}:{settings.port}"
    try:
        if await check_address(settings):
            return ok("port", f"{address} is free")
        if await _is_served(settings):
            return ok("port", f"Forge answers at {address}")
        error = explain_in_use(settings)
    except ForgeError as refused:
        error = refused
    return fail("port", error.message, error.advice)


async def _is_served(settings: Settings) -> bool:
    """Whether what listens there answers as Forge does."""
    host = _ANYWHERE.get(settings.host, settings.host)
    named = f"[{host}]" if ":" in host else host
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:
            answer = await client.get(f"http://{named}:{settings.port}/healthz")
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return False
    return answer.status_code == 200 and answer.text == ALIVE


async def check_disk(settings: Settings) -> Diagnosis:
    """Whether the disk of the data folder has enough space."""
    try:
        with _make_data_dir(settings):
            free = shutil.disk_usage(settings.data_dir).free
    except ForgeError as error:
        return fail("disk", error.message, error.advice)
    state = f"{free / 1e9:.1f} GB free at {settings.data_dir}"
    if free < MIN_FREE:
        return fail("disk", state, "Free some space, or set FORGE_DATA_DIR to another disk.")
    return ok("disk", state)


@contextmanager
def _make_data_dir(settings: Settings) -> Generator[None]:
    """Create the data folder as at the start; at the end, remove what was created.

    :raises ConfigurationError: if it cannot be created or written.
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


async def check_sandbox(user: str, wanted: Wanted) -> Diagnosis:
    """Which level of the sandbox is used, and whether Forge can work with it."""
    try:
        return judge_levels(await probe(user), wanted)
    except ForgeError as error:
        return fail("sandbox", error.message, error.advice)


def judge_levels(levels: Sequence[SandboxLevel], wanted: Wanted, more: str = "") -> Diagnosis:
    """Which of the levels that were tried is used, and whether Forge can work with it.

    :param more: is said behind the number of attacks it refuses.
    """
    try:
        best = max((level for level in select_levels(levels, wanted) if level.works), key=lambda level: level.level)
    except ForgeError as error:
        return fail("sandbox", error.message, error.advice or "See docs/security.md.")
    refused = sum(attack.refused is True for attack in best.attacks)
    state = f"level {best.level} ({best.name}) is used and refuses {refused} of {len(ATTACKS)} attacks{more}"
    if os.geteuid() == 0 and not find_groups():
        state += "; no group of their own keeps runs apart, as the groups 61184 to 65519 do not exist in this container"
    if best.level < CODE:
        return fail("sandbox", f"{state}, so pull requests from forks are not checked", NO_SANDBOX)
    return ok("sandbox", state)
