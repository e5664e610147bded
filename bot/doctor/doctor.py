"""Checks part by part whether Forge can work here, and says how to fix what is broken."""

import asyncio
import platform
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.clock import SystemClock
from bot.doctor import Diagnosis, fail, ok
from bot.doctor.configured import check_deployments, check_detectors, check_linters, check_notices
from bot.doctor.machine import check_database, check_disk, check_port
from bot.doctor.services import check_github, check_models
from bot.settings import Settings, load
from bot.version import VERSION
from domain.errors import ForgeError
from github.client import Client
from github.host import GitHubHost
from github.registration import load_permissions


async def diagnose(*, ask: bool = False) -> AsyncGenerator[Diagnosis]:
    """Check everything but the sandbox.

    :param ask: spend a few tokens to see whether the models answer.
    """
    yield ok("version", f"forge {VERSION}, Python {platform.python_version()}")
    try:
        settings = load(Settings)
        _ = settings.github
    except ForgeError as error:
        yield fail("settings", error.message, error.advice)
        yield await _check_tools()
        return
    yield ok("settings", "complete")
    yield await _check_tools()
    yield await check_database(settings)
    yield await check_disk(settings)
    for check in (check_port, check_detectors, check_notices, check_linters):
        if (found := await check(settings)) is not None:
            yield found
    async with _host(settings) as host:
        async for finding in check_github(settings, host, load_permissions()):
            yield finding
        async for finding in check_deployments(settings, host):
            yield finding
    async for finding in check_models(settings, ask=ask):
        yield finding


async def _check_tools() -> Diagnosis:
    missing = [name for name in ("git",) if shutil.which(name) is None]
    if missing:
        return fail("tools", f"{', '.join(missing)} is not installed", "Install it from your distribution.")
    process = await asyncio.create_subprocess_exec("git", "--version", stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return ok("tools", printed.decode().strip())


@asynccontextmanager
async def _host(settings: Settings) -> AsyncGenerator[GitHubHost]:
    host = GitHubHost(Client(settings.github, SystemClock(), database=None))
    try:
        yield host
    finally:
        await host.aclose()
