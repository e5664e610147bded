"""What `forge doctor` tells of an installation, and what it leaves behind: nothing."""

import io
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from pydantic import JsonValue
from rich.console import Console

from bot.cli import doctor
from bot.doctor import PartState
from bot.doctor.services import compare_clocks
from bot.health import ALIVE
from github.registration import load_permissions
from memory.db.engine import Database
from memory.repositories import configurations
from memory.repositories.configurations import ConfigurationScope
from simulator import Simulator
from tests.databases import Backend, create_database, drop_database
from tests.provider import KEY, Provider, Reply, answer_error, answer_text, serve_provider


@pytest.fixture
async def github(tmp_path: Path) -> AsyncGenerator[Simulator]:
    """A GitHub whose App has what the manifest asks for, and settings that are complete."""
    async with _github(tmp_path, load_permissions()) as started:
        yield started


def _github(folder: Path, permissions: Mapping[str, str]) -> Simulator:
    simulator = Simulator(folder / "github", permissions=permissions)
    (folder / "here").mkdir()
    os.chdir(folder / "here")
    os.environ["FORGE_APP_ID"] = str(simulator.app.id)
    os.environ["FORGE_PRIVATE_KEY"] = simulator.app.private_key_pem
    os.environ["FORGE_WEBHOOK_SECRET"] = "a-webhook-secret"
    os.environ["FORGE_PORT"] = "0"
    how_it_is_tested = [name for name in os.environ if name.startswith("TEST_")]
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", *how_it_is_tested):
        os.environ.pop(name, None)
    return simulator


async def test_a_fresh_installation(github: Simulator) -> None:
    healthy, told = await _examine(github)
    assert "✓ database: forge.db will be created at the start" in told
    assert "✓ disk: " in told
    assert "✓ GitHub: " in told
    assert "✓ clock: agrees with GitHub's" in told
    assert "✗ webhook: the App has no address" in told
    assert "✓ deliveries: none yet" in told
    assert "! installations: none yet" in told
    assert told.count("model: ") == 1
    assert "! model: none yet. Reviews run linters and security checks only" in told
    assert "`forge setup --store ANTHROPIC_API_KEY`" in told
    assert re.search(r"✓ version: forge \d+\.\d+\.\d+, Python 3", told)
    assert healthy == ("✗" not in told)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("FORGE_PRIVATE_KEY", "bad", "FORGE_PRIVATE_KEY is not an RSA private key in PEM"),
        ("FORGE_GITHUB_API_URL", "http://ghe.example", "FORGE_GITHUB_API_URL must be https"),
        ("FORGE_GITHUB_WEB_URL", "https://[", "FORGE_GITHUB_WEB_URL is not an address"),
        ("FORGE_APP_ID", "0", "FORGE_APP_ID is wrong"),
        ("FORGE_WEBHOOK_SECRET", "short", "FORGE_WEBHOOK_SECRET is shorter than 16 characters"),
    ],
)
async def test_a_setting_that_is_wrong_is_never_called_well(
    name: str, value: str, told: str, github: Simulator
) -> None:
    healthy, said = await _examine(github, settings={name: value})
    [line] = [each for each in said.splitlines() if told in each]
    assert line.startswith("✗ ")
    assert not healthy
    advice = said.splitlines()[said.splitlines().index(line) + 1]
    assert advice.startswith("    ")


async def test_what_github_knows_of_the_app(github: Simulator) -> None:
    github.install(github.create_repository("octo-org/shop"))
    for status, told in (
        (401, "✗ deliveries: 0 of the last"),
        (500, "! deliveries: 0 of the last"),
        (202, "✓ deliveries: 1 of the last"),
    ):
        async with _door(status) as address:
            github.webhook_url = address
            github.ping()
            await github.settle()
            _, said = await _examine(github)
        assert f"✓ webhook: {address}" in said
        assert told in said
        assert ("and the secret in the App's settings to the same value" in said) == (status == 401)
        assert "✓ installations: 1 (octo-org)" in said


@asynccontextmanager
async def _door(status: int) -> AsyncGenerator[str]:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status)

    app = web.Application()
    app.router.add_post("/webhook", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/webhook"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            answer_text([{"type": "text", "text": "ok"}]),
            "✓ model: anthropic:claude-haiku-4-5, 1 USD per million input tokens",
        ),
        (answer_error(401), "✗ model: anthropic:claude-haiku-4-5 cannot be used: it refuses the key"),
        (
            answer_error(404),
            "✗ model: anthropic:claude-haiku-4-5 cannot be used: it does not know the model by this name",
        ),
    ],
)
async def test_a_model_is_asked_if_wanted(reply: Reply, told: str, github: Simulator) -> None:
    os.environ["ANTHROPIC_API_KEY"] = KEY
    for name in ("FORGE_FAST_MODEL", "FORGE_STRONG_MODEL"):
        os.environ[name] = "anthropic:claude-haiku-4-5"
    provider = Provider([reply])
    async with serve_provider(provider) as address:
        os.environ["ANTHROPIC_BASE_URL"] = address
        said = (await _examine(github, ask=True))[1]
    assert told in said
    assert said.count("model:") == 1  # one model for both tasks
    assert len(provider.asked) == 1
    assert KEY not in said


async def test_a_price_that_nobody_knows(github: Simulator) -> None:
    os.environ["ANTHROPIC_API_KEY"] = KEY
    os.environ["FORGE_FAST_MODEL"] = "anthropic:claude-none-such-9"
    told = (await _examine(github))[1]
    assert "✓ model: anthropic:claude-none-such-9, price unknown, so Forge counts that of Anthropic's dearest" in told


async def test_linters_that_are_not_installed(github: Simulator, tmp_path: Path) -> None:
    url = create_database("sqlite", tmp_path)
    database = Database(url)
    os.environ["FORGE_DATABASE_URL"] = url
    assert "linters:" not in (await _examine(github))[1]
    listed: list[JsonValue] = [{"name": "own", "run": "./bin/lint"}, {"name": "shell", "run": ["sh", "-c", "x"]}]
    await configurations.keep(
        database, ConfigurationScope("repository 1", 1, False), "a", {"review": {"linters": listed}}
    )
    assert "✓ linters: all configured programs are installed (1)" in (await _examine(github))[1]

    listed.append({"name": "notes", "run": "no-such-linter --sarif"})
    await configurations.keep(
        database, ConfigurationScope("organisation 1", 1, True), "b", {"review": {"linters": listed}}
    )
    await database.close()
    Path(".github").mkdir()
    Path(".github/forge.yml").write_text("review: {linters: [{name: a, run: /opt/none-such}]}\n")
    told = (await _examine(github))[1]
    assert "! linters: 2 of 3 configured programs are not in " in told
    assert ": /opt/none-such, no-such-linter\n" in told

    (tmp_path / "lint/bin").mkdir(parents=True)
    (tmp_path / "lint/bin/no-such-linter").touch(mode=0o755)
    os.environ["FORGE_SANDBOX_TOOLS"] = str(tmp_path / "lint")
    assert "! linters: 1 of 3 configured programs are not in " in (await _examine(github))[1]


async def test_a_provider_that_there_is_not(github: Simulator) -> None:
    os.environ["FORGE_STRONG_MODEL"] = "foo:bar"
    healthy, told = await _examine(github)
    assert "✗ model: foo:bar cannot be asked" in told
    assert "Correct its name and what its provider needs." in told
    assert not healthy


def test_a_clock_that_is_wrong() -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert compare_clocks(noon, noon + timedelta(seconds=59)).condition is PartState.well
    assert compare_clocks(noon, noon + timedelta(minutes=5)).state.startswith("300 s ahead of GitHub's")
    assert compare_clocks(noon, noon - timedelta(hours=1)).state.startswith("3600 s behind GitHub's")


async def test_a_database_in_a_folder_that_is_not_there(github: Simulator) -> None:
    os.environ["FORGE_DATABASE_URL"] = "sqlite:///nowhere/forge.db"
    healthy, told = await _examine(github)
    assert "✗ database: nowhere/forge.db cannot be created: No such file or directory" in told
    assert not healthy
    os.environ["FORGE_DATA_DIR"] = "nowhere"
    assert "✓ database: nowhere/forge.db will be created" in (await _examine(github))[1]
    assert list(Path().iterdir()) == []


async def test_a_folder_that_cannot_be_made(github: Simulator) -> None:
    os.environ["FORGE_DATA_DIR"] = "/proc/nope"
    healthy, told = await _examine(github)
    assert "✗ disk: FORGE_DATA_DIR /proc/nope cannot be created: " in told
    assert "Free some space" not in told
    assert not healthy


async def test_a_key_that_is_not_there_belongs_to_the_settings(github: Simulator) -> None:
    del os.environ["FORGE_PRIVATE_KEY"]
    os.environ["FORGE_PRIVATE_KEY_PATH"] = "key.pem"
    healthy, told = await _examine(github)
    assert "✗ settings: FORGE_PRIVATE_KEY_PATH key.pem cannot be read" in told
    assert "GitHub" not in told
    assert not healthy


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_a_database_that_is_there(backend: Backend, github: Simulator, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path)
    os.environ["FORGE_DATABASE_URL"] = url
    assert f"✓ database: {backend}, schema is up to date" in (await _examine(github))[1]
    drop_database(url)


async def test_an_empty_database(github: Simulator, tmp_path: Path) -> None:
    url = create_database("postgresql", tmp_path, migrated=False)
    os.environ["FORGE_DATABASE_URL"] = url
    told = (await _examine(github))[1]
    assert "✓ database: postgresql, schema will be migrated at the start" in told
    drop_database(url)


async def test_a_file_that_is_no_database_hides_nothing_else(github: Simulator, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n" * 1000)
    os.environ["FORGE_DATABASE_URL"] = f"sqlite:///{tmp_path}/notes.txt"
    healthy, told = await _examine(github)
    assert "✗ database: file is not a database" in told
    assert "✓ GitHub: " in told
    assert "sandbox: " in told
    assert not healthy


async def test_a_database_that_can_only_be_read(github: Simulator, tmp_path: Path) -> None:
    url = create_database("postgresql", tmp_path)
    os.environ["FORGE_DATABASE_URL"] = f"{url}&options=-cdefault_transaction_read_only%3Don"
    healthy, told = await _examine(github)
    assert "✗ database: The database failed: cannot execute UPDATE in a read-only transaction" in told
    assert not healthy
    drop_database(url)


async def test_a_port_that_is_taken(github: Simulator) -> None:
    """By Forge itself, as a rule: whoever has questions about an installation has it running."""
    app = web.Application()
    answers = [web.Response(status=404), web.Response(text=ALIVE)]

    async def answer(_request: web.Request) -> web.Response:
        return answers.pop()

    app.router.add_get("/healthz", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = str(runner.addresses[0][1])
    assert f"✓ port: Forge answers at 127.0.0.1:{port}" in (await _examine(github, settings={"FORGE_PORT": port}))[1]
    healthy, told = await _examine(github)
    assert f"✗ port: FORGE_PORT {port} is in use on 127.0.0.1.\n    Stop the program that uses it" in told
    assert not healthy
    await runner.cleanup()
    assert f"✓ port: 127.0.0.1:{port} is free" in (await _examine(github))[1]
    told = (await _examine(github, settings={"FORGE_HOST": "203.0.113.9"}))[1]
    assert "✗ port: FORGE_HOST 203.0.113.9 is not an address of this machine." in told


async def test_without_a_network_no_key_is_suspected(github: Simulator) -> None:
    github.faults.add(kind="reset_before", path="", times=None)
    healthy, told = await _examine(github)
    assert "✗ GitHub: Could not ask GitHub about the App: the connection to GitHub broke" in told
    assert told.count("Check FORGE_GITHUB_API_URL and the network of this machine.") == 2
    assert "FORGE_APP_ID" not in told
    assert not healthy


@pytest.mark.parametrize("name", sorted(load_permissions()))
async def test_what_the_manifest_asks_for_is_needed(name: str, tmp_path: Path) -> None:
    level = load_permissions()[name]
    permissions = load_permissions() | {name: "read" if level == "write" else "none"}
    async with _github(tmp_path, permissions) as github:
        healthy, told = await _examine(github)
    assert f"lacks {name}: {level}" in told
    assert not healthy


def test_resolving_a_thread_needs_to_write_contents() -> None:
    assert load_permissions()["contents"] == "write"


async def _examine(github: Simulator, *, ask: bool = False, settings: Mapping[str, str] = {}) -> tuple[bool, str]:
    addresses = {"FORGE_GITHUB_API_URL": github.api_url, "FORGE_GITHUB_WEB_URL": github.url}
    for name, value in {**addresses, **settings}.items():
        os.environ[name] = value
    printed = io.StringIO()
    return await doctor.examine(Console(file=printed, width=200), ask=ask), printed.getvalue()
