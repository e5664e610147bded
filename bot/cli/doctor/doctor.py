"""Checks part by part whether Forge can work here, and says how to fix what is broken."""

import asyncio
import platform
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rich.console import Console

from bot.cli.doctor.deployments import check_deployments
from bot.cli.doctor.detectors import check_detectors
from bot.cli.doctor.diagnosis import Diagnosis, fail, ok, show
from bot.cli.doctor.github import check_github
from bot.cli.doctor.linters import check_linters
from bot.cli.doctor.models import check_models
from bot.cli.doctor.notices import check_notices
from bot.cli.doctor.sandbox import show_sandbox
from bot.cli.doctor.storage import check_database, check_disk
from bot.clock import SystemClock
from bot.github.host import GitHubHost
from bot.github.limits import InMemoryLimits
from bot.github.registration import load_permissions
from bot.settings import Settings, load
from bot.version import VERSION
from domain.errors import ForgeError


async def examine(console: Console, *, ask: bool = False, verbose: bool = False) -> bool:
    """Check everything, print each result as soon as it is known, and return whether Forge can work here.

    :param ask: spend a few tokens to see whether the models answer.
    :param verbose: show the result of each attack on the sandbox.
    """
    healthy = True
    async for finding in diagnose(ask=ask):
        healthy = show(console, finding) and healthy
    try:
        settings = load()
        user, wanted = settings.sandbox_user, settings.sandbox
    except ForgeError:
        user, wanted = "nobody", "auto"
    return await show_sandbox(console, user, wanted, verbose=verbose) and healthy


async def diagnose(*, ask: bool = False) -> AsyncGenerator[Diagnosis]:
    """Check everything but the sandbox.

    :param ask: spend a few tokens to see whether the models answer.
    """
    yield ok("version", f"forge {VERSION}, Python {platform.python_version()}")
    try:
        settings = load()
        _ = settings.github
    except ForgeError as error:
        yield fail("settings", error.message, error.advice)
        yield await _check_tools()
        return
    yield ok("settings", "complete")
    yield await _check_tools()
    yield await check_database(settings)
    yield await check_disk(settings)
    if (detectors := await check_detectors(settings)) is not None:
        yield detectors
    if (told := await check_notices(settings)) is not None:
        yield told
    if (named := await check_linters(settings)) is not None:
        yield named
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
    host = GitHubHost(settings.github, SystemClock(), InMemoryLimits())
    try:
        yield host
    finally:
        await host.aclose()
