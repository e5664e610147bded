"""Examines whether Forge can work here, part by part, and says what to do about what cannot."""

import asyncio
import platform
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from ruamel.yaml import YAML
from sqlalchemy.exc import DBAPIError

import migrations
from bot.cli.database import opened
from bot.cli.doctor.diagnosis import Condition, Finding, broken, note, well
from bot.cli.doctor.github import github
from bot.cli.doctor.linters import linters
from bot.cli.doctor.models import models
from bot.cli.halt import shown
from bot.clock import SystemClock
from bot.github.host import GitHubHost
from bot.github.limits import InMemoryLimits
from bot.health import LEAST_FREE
from bot.settings import Settings, load
from bot.version import VERSION
from domain.errors import ForgeError
from domain.text.escaping import visible
from memory.db.engine import sync_engine
from memory.process import halts
from safety.containment import ADVICE as NO_SANDBOX
from safety.containment import CODE
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.probing import Wanted, chosen, probe
from workspace.sandbox.sandbox import SandboxLevel

_MANIFEST = Path(__file__).parents[3] / "app.yml"  # in a checkout and in the wheel alike
_MARKS = {Condition.well: "[green]✓[/]", Condition.note: "[yellow]![/]", Condition.broken: "[red]✗[/]"}
_OUTCOMES = {True: "refused", False: "[yellow]possible[/]", None: "not tried"}


async def examine(console: Console, *, ask: bool = False, verbose: bool = False) -> bool:
    """Examine everything, print each part as it is known, and answer whether Forge can work here.

    :param ask: spend a few tokens to see whether the models answer.
    :param verbose: show what each attack on the sandbox came to.
    """
    healthy = True
    async for finding in _findings(ask=ask):
        healthy = _show(console, finding) and healthy
    try:
        settings = load()
        user, wanted = settings.sandbox_user, settings.sandbox
    except ForgeError:
        user, wanted = "nobody", "auto"
    return await _sandbox(console, user, wanted, verbose=verbose) and healthy


async def _findings(*, ask: bool) -> AsyncGenerator[Finding]:
    yield well("version", f"forge {VERSION}, Python {platform.python_version()}")
    try:
        settings = load()
        _ = settings.github
    except ForgeError as error:
        yield broken("settings", error.message, error.advice)
        yield await _tools()
        return
    yield well("settings", "complete")
    yield await _tools()
    yield await database(settings)
    yield await _disk(settings)
    if (named := await linters(settings)) is not None:
        yield named
    async with _host(settings) as host:
        async for finding in github(settings, host, needed()):
            yield finding
    async for finding in models(settings, ask=ask):
        yield finding


async def _sandbox(console: Console, user: str, wanted: Wanted, *, verbose: bool) -> bool:
    """Show which level is in use, and if wanted what the attacks on each came to."""
    try:
        levels = await probe(user)
    except ForgeError as error:
        return _show(console, broken("sandbox", error.message, error.advice))
    if verbose:
        console.print(_attacks(levels))
    for level in levels:
        if not level.works and (verbose or level.level >= CODE):
            console.print(
                f"    level {level.level} ({level.name}) does not work: {escape(level.reason)}", soft_wrap=True
            )
    try:
        best = max((level for level in chosen(levels, wanted) if level.works), key=lambda level: level.level)
    except ForgeError as error:
        return _show(console, broken("sandbox", error.message, error.advice or "See docs/security.md."))
    refused = sum(attack.refused is True for attack in best.attacks)
    state = f"level {best.level} ({best.name}) is used and refuses {refused} of {len(ATTACKS)} attacks"
    state += "" if verbose else " (--verbose names them)"
    if best.level < CODE:
        return _show(console, broken("sandbox", f"{state}: pull requests from forks are not checked", NO_SANDBOX))
    return _show(console, well("sandbox", state))


def _attacks(levels: Sequence[SandboxLevel]) -> Table:
    table = Table("attack", *(f"{level.level} {level.name}" for level in levels), box=None, pad_edge=False)
    outcomes = [{attack.name: attack.refused for attack in level.attacks} for level in levels]
    for name in ATTACKS:
        table.add_row(name, *(_OUTCOMES[outcome.get(name)] for outcome in outcomes))
    return table


async def _tools() -> Finding:
    missing = [name for name in ("git",) if shutil.which(name) is None]
    if missing:
        return broken("tools", f"{', '.join(missing)} is not installed", "Install it from your distribution.")
    process = await asyncio.create_subprocess_exec("git", "--version", stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return well("tools", printed.decode().strip())


async def database(settings: Settings) -> Finding:
    try:
        engine = sync_engine(settings.database_url, busy_seconds=3)
    except ForgeError as error:
        return broken("database", error.message, error.advice)
    file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
    if file is not None and not file.exists():
        return _new_file(settings, file)
    try:
        current = await asyncio.to_thread(migrations.is_current, engine)
    except ForgeError as error:
        return broken("database", error.message, error.advice)
    except DBAPIError as error:
        return broken("database", str(error.orig), "Name another one in FORGE_DATABASE_URL, or restore this one.")
    finally:
        engine.dispose()
    if current and (halted := await _halted(settings)):
        return halted
    state = "schema of this version" if current else "will be brought to this version's schema at the start"
    return well("database", f"{engine.dialect.name}, {state}")


async def _halted(settings: Settings) -> Finding | None:
    async with opened(settings) as database:
        held = await halts.current(database)
    return None if held is None else note("database", shown(held), "`forge resume` lets it go on.")


def _new_file(settings: Settings, file: Path) -> Finding:
    """Whether an SQLite file can be made at the start. It is not made here."""
    folder = file.absolute().parent
    try:
        with nullcontext() if folder.exists() else _data_dir(settings), tempfile.TemporaryFile(dir=folder):
            return well("database", f"{file} will be created at the start")
    except ForgeError as error:
        return broken("database", f"{file} cannot be created: {error.message}", error.advice)
    except OSError as error:
        advice = "Make its folder, or name another file in FORGE_DATABASE_URL."
        return broken("database", f"{file} cannot be created: {error.strerror}", advice)


async def _disk(settings: Settings) -> Finding:
    try:
        with _data_dir(settings):
            free = shutil.disk_usage(settings.data_dir).free
    except ForgeError as error:
        return broken("disk", error.message, error.advice)
    state = f"{free / 1e9:.1f} GB free at {settings.data_dir}"
    if free < LEAST_FREE:
        return broken("disk", state, "Make room, or set FORGE_DATA_DIR elsewhere.")
    return well("disk", state)


@contextmanager
def _data_dir(settings: Settings) -> Generator[None]:
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


def needed() -> dict[str, str]:
    """The permissions (name → level) that the App's manifest asks for."""
    manifest = YAML(typ="safe").load(_MANIFEST.read_text(encoding="utf-8"))  # pyright: ignore[reportUnknownMemberType]
    return manifest["default_permissions"]


@asynccontextmanager
async def _host(settings: Settings) -> AsyncGenerator[GitHubHost]:
    host = GitHubHost(settings.github, SystemClock(), InMemoryLimits())
    try:
        yield host
    finally:
        await host.aclose()


def _show(console: Console, finding: Finding) -> bool:
    """Print it, and answer whether Forge can work all the same."""
    console.print(
        f"{_MARKS[finding.condition]} {finding.part}: {escape(visible(finding.state))}", soft_wrap=True, highlight=False
    )
    if finding.advice:
        console.print(f"    {escape(finding.advice)}", soft_wrap=True, highlight=False)
    return finding.condition is not Condition.broken
