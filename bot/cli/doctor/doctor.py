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
from bot.cli.database import open_database
from bot.cli.doctor.diagnosis import Diagnosis, PartState, fail, ok, warn
from bot.cli.doctor.github import check_github
from bot.cli.doctor.linters import check_linters
from bot.cli.doctor.models import check_models
from bot.cli.halt import describe_halt
from bot.clock import SystemClock
from bot.github.host import GitHubHost
from bot.github.limits import InMemoryLimits
from bot.health import MIN_FREE
from bot.settings import Settings, load
from bot.version import VERSION
from domain.errors import ForgeError
from domain.text.escaping import strip_invisible
from memory.db.engine import sync_engine
from memory.process import halts
from safety.containment import ADVICE as NO_SANDBOX
from safety.containment import CODE
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.probing import Wanted, probe, select_levels
from workspace.sandbox.sandbox import SandboxLevel

_MANIFEST = Path(__file__).parents[3] / "app.yml"  # in a checkout and in the wheel alike
_MARKS = {PartState.well: "[green]✓[/]", PartState.note: "[yellow]![/]", PartState.broken: "[red]✗[/]"}
_OUTCOMES = {True: "refused", False: "[yellow]possible[/]", None: "not tried"}


async def examine(console: Console, *, ask: bool = False, verbose: bool = False) -> bool:
    """Examine everything, print each part as it is known, and answer whether Forge can work here.

    :param ask: spend a few tokens to see whether the models answer.
    :param verbose: show what each attack on the sandbox came to.
    """
    healthy = True
    async for finding in _diagnose(ask=ask):
        healthy = _show(console, finding) and healthy
    try:
        settings = load()
        user, wanted = settings.sandbox_user, settings.sandbox
    except ForgeError:
        user, wanted = "nobody", "auto"
    return await _show_sandbox(console, user, wanted, verbose=verbose) and healthy


async def _diagnose(*, ask: bool) -> AsyncGenerator[Diagnosis]:
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
    yield await _check_disk(settings)
    if (named := await check_linters(settings)) is not None:
        yield named
    async with _host(settings) as host:
        async for finding in check_github(settings, host, load_permissions()):
            yield finding
    async for finding in check_models(settings, ask=ask):
        yield finding


async def _show_sandbox(console: Console, user: str, wanted: Wanted, *, verbose: bool) -> bool:
    """Show which level is in use, and if wanted what the attacks on each came to."""
    try:
        levels = await probe(user)
    except ForgeError as error:
        return _show(console, fail("sandbox", error.message, error.advice))
    if verbose:
        console.print(_attack_table(levels))
    for level in levels:
        if not level.works and (verbose or level.level >= CODE):
            console.print(
                f"    level {level.level} ({level.name}) does not work: {escape(level.reason)}", soft_wrap=True
            )
    try:
        best = max((level for level in select_levels(levels, wanted) if level.works), key=lambda level: level.level)
    except ForgeError as error:
        return _show(console, fail("sandbox", error.message, error.advice or "See docs/security.md."))
    refused = sum(attack.refused is True for attack in best.attacks)
    state = f"level {best.level} ({best.name}) is used and refuses {refused} of {len(ATTACKS)} attacks"
    state += "" if verbose else " (--verbose names them)"
    if best.level < CODE:
        return _show(console, fail("sandbox", f"{state}: pull requests from forks are not checked", NO_SANDBOX))
    return _show(console, ok("sandbox", state))


def _attack_table(levels: Sequence[SandboxLevel]) -> Table:
    table = Table("attack", *(f"{level.level} {level.name}" for level in levels), box=None, pad_edge=False)
    outcomes = [{attack.name: attack.refused for attack in level.attacks} for level in levels]
    for name in ATTACKS:
        table.add_row(name, *(_OUTCOMES[outcome.get(name)] for outcome in outcomes))
    return table


async def _check_tools() -> Diagnosis:
    missing = [name for name in ("git",) if shutil.which(name) is None]
    if missing:
        return fail("tools", f"{', '.join(missing)} is not installed", "Install it from your distribution.")
    process = await asyncio.create_subprocess_exec("git", "--version", stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return ok("tools", printed.decode().strip())


async def check_database(settings: Settings) -> Diagnosis:
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


async def _check_disk(settings: Settings) -> Diagnosis:
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


def load_permissions() -> dict[str, str]:
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


def _show(console: Console, finding: Diagnosis) -> bool:
    """Print it, and answer whether Forge can work all the same."""
    console.print(
        f"{_MARKS[finding.condition]} {finding.part}: {escape(strip_invisible(finding.state))}",
        soft_wrap=True,
        highlight=False,
    )
    if finding.advice:
        console.print(f"    {escape(finding.advice)}", soft_wrap=True, highlight=False)
    return finding.condition is not PartState.broken
