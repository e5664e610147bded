"""Examines whether Forge can work here, part by part, and says what to do about what cannot."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import migrations
from bot.clock import SystemClock
from bot.github.host import GitHubHost
from bot.github.limits import InMemoryLimits
from bot.github.settings import GitHubSettings
from bot.health import LEAST_FREE
from bot.settings import Settings, load
from domain.errors import ForgeError
from memory.database import sync_engine
from safety.containment import ADVICE as NO_SANDBOX
from safety.containment import CODE
from workspace.attacks import ATTACKS
from workspace.probing import Wanted, chosen, probe
from workspace.sandbox import SandboxLevel

_OUTCOMES = {True: "refused", False: "[yellow]possible[/]", None: "not tried"}


@dataclass(frozen=True)
class Finding:
    """What was found out about one part; ``advice`` is empty where all is well."""

    part: str
    state: str
    advice: str = ""


async def examine(console: Console) -> bool:
    """Examine everything, print each part as it is known, and answer whether Forge can work here."""
    healthy = True
    try:
        settings = load()
    except ForgeError as error:
        settings = None
        healthy = _show(console, Finding("settings", error.message, error.advice))
    else:
        _show(console, Finding("settings", "complete"))
    parts: list[Callable[[], Awaitable[Finding]]] = [_tools]
    if settings is not None:
        parts += [lambda: _database(settings), lambda: _disk(settings), lambda: _github(settings)]
    for part in parts:
        healthy = _show(console, await part()) and healthy
    user, wanted = (settings.sandbox_user, settings.sandbox) if settings else ("nobody", "auto")
    return await _sandbox(console, user, wanted) and healthy


async def _sandbox(console: Console, user: str, wanted: Wanted) -> bool:
    """Show what the attacks on each level came to, and which level is in use."""
    try:
        levels = await probe(user)
    except ForgeError as error:
        return _show(console, Finding("sandbox", error.message, error.advice))
    console.print(_attacks(levels))
    for level in levels:
        if not level.works:
            console.print(
                f"    level {level.level} ({level.name}) does not work: {escape(level.reason)}", soft_wrap=True
            )
    try:
        best = max((level for level in chosen(levels, wanted) if level.works), key=lambda level: level.level)
    except ForgeError as error:
        return _show(console, Finding("sandbox", error.message, error.advice or "See docs/security.md."))
    state = f"level {best.level} ({best.name}) is used"
    if best.level < CODE:
        return _show(console, Finding("sandbox", f"{state}: pull requests from forks are not checked", NO_SANDBOX))
    return _show(console, Finding("sandbox", state))


def _attacks(levels: Sequence[SandboxLevel]) -> Table:
    table = Table("attack", *(f"{level.level} {level.name}" for level in levels), box=None, pad_edge=False)
    outcomes = [{attack.name: attack.refused for attack in level.attacks} for level in levels]
    for name in ATTACKS:
        table.add_row(name, *(_OUTCOMES[outcome.get(name)] for outcome in outcomes))
    return table


async def _tools() -> Finding:
    missing = [name for name in ("git",) if shutil.which(name) is None]
    if missing:
        return Finding("tools", f"{', '.join(missing)} is not installed", "Install it from your distribution.")
    process = await asyncio.create_subprocess_exec("git", "--version", stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return Finding("tools", printed.decode().strip())


async def _database(settings: Settings) -> Finding:
    try:
        engine = sync_engine(settings.database_url, busy_seconds=3)
        current = await asyncio.to_thread(migrations.is_current, engine)
        engine.dispose()
    except ForgeError as error:
        return Finding("database", error.message, error.advice)
    if not current:
        return Finding("database", "does not have this version's schema", "Run `forge migrate`, or just `forge serve`.")
    return Finding("database", f"{engine.dialect.name}, schema of this version")


async def _disk(settings: Settings) -> Finding:
    folder = next(
        path for path in (settings.data_dir.absolute(), *settings.data_dir.absolute().parents) if path.exists()
    )
    free = shutil.disk_usage(folder).free
    state = f"{free / 1e9:.1f} GB free at {settings.data_dir}"
    return Finding("disk", state, "" if free >= LEAST_FREE else "Make room, or set FORGE_DATA_DIR elsewhere.")


async def _github(settings: Settings) -> Finding:
    try:
        async with _host(settings) as host:
            slug, missing = await host.examine_app(_needed())
    except ForgeError as error:
        return Finding("GitHub", error.message, error.advice or "Check FORGE_APP_ID, the key and the API address.")
    if missing:
        advice = "Grant what app.yml names, in the App's settings."
        return Finding("GitHub", f"App {slug} lacks {', '.join(missing)}", advice)
    return Finding("GitHub", f"App {slug} at {settings.github_api_url}, with the permissions it needs")


def _needed() -> dict[str, str]:
    """The permissions that reviews need today; app.yml asks for what later capabilities need, too."""
    return {"checks": "write", "contents": "read", "pull_requests": "write", "metadata": "read"}


@asynccontextmanager
async def _host(settings: Settings) -> AsyncGenerator[GitHubHost]:
    github = GitHubSettings(
        settings.github_api_url, settings.github_web_url, settings.app_id, settings.private_key_pem()
    )
    host = GitHubHost(github, SystemClock(), InMemoryLimits())
    try:
        yield host
    finally:
        await host.aclose()


def _show(console: Console, finding: Finding) -> bool:
    mark = "[red]✗[/]" if finding.advice else "[green]✓[/]"
    console.print(f"{mark} {finding.part}: {escape(finding.state)}", soft_wrap=True)
    if finding.advice:
        console.print(f"    {escape(finding.advice)}", soft_wrap=True)
    return not finding.advice
