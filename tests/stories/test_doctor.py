"""What `forge doctor` tells of an installation, and what it leaves behind: nothing."""

import io
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
from rich.console import Console

from bot import doctor
from simulator import Simulator
from tests.databases import Backend, drop, fresh


@pytest.fixture
async def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Simulator]:
    """A GitHub whose App has what the manifest asks for, and settings that are complete."""
    async with _github(tmp_path, monkeypatch, doctor.needed()) as started:
        yield started


def _github(folder: Path, monkeypatch: pytest.MonkeyPatch, permissions: Mapping[str, str]) -> Simulator:
    simulator = Simulator(folder / "github", permissions=permissions)
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    monkeypatch.setenv("FORGE_APP_ID", str(simulator.app.id))
    monkeypatch.setenv("FORGE_PRIVATE_KEY", simulator.app.private_key_pem)
    monkeypatch.setenv("FORGE_WEBHOOK_SECRET", "a-webhook-secret")
    return simulator


async def test_a_fresh_installation(github: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy, told = await _examined(github, monkeypatch)
    assert "✓ database: forge.db will be created at the start" in told
    assert "✓ disk: " in told
    assert "✓ GitHub: " in told
    assert healthy == ("✗" not in told)
    assert list(Path().iterdir()) == []


async def test_a_database_in_a_folder_that_is_not_there(github: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_DATABASE_URL", "sqlite:///nowhere/forge.db")
    healthy, told = await _examined(github, monkeypatch)
    assert "✗ database: nowhere/forge.db cannot be created: No such file or directory" in told
    assert not healthy
    monkeypatch.setenv("FORGE_DATA_DIR", "nowhere")
    assert "✓ database: nowhere/forge.db will be created" in (await _examined(github, monkeypatch))[1]
    assert list(Path().iterdir()) == []


async def test_a_folder_that_cannot_be_made(github: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_DATA_DIR", "/proc/nope")
    healthy, told = await _examined(github, monkeypatch)
    assert "✗ disk: FORGE_DATA_DIR /proc/nope cannot be made: " in told
    assert "room" not in told
    assert not healthy


async def test_a_key_that_is_not_there_belongs_to_the_settings(
    github: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORGE_PRIVATE_KEY")
    monkeypatch.setenv("FORGE_PRIVATE_KEY_PATH", "key.pem")
    healthy, told = await _examined(github, monkeypatch)
    assert "✗ settings: FORGE_PRIVATE_KEY_PATH key.pem cannot be read" in told
    assert "GitHub" not in told
    assert not healthy


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_a_database_that_is_there(
    backend: Backend, github: Simulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = fresh(backend, tmp_path)
    monkeypatch.setenv("FORGE_DATABASE_URL", url)
    assert f"✓ database: {backend}, schema of this version" in (await _examined(github, monkeypatch))[1]
    drop(url)


async def test_an_empty_database(github: Simulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = fresh("postgresql", tmp_path, migrated=False)
    monkeypatch.setenv("FORGE_DATABASE_URL", url)
    told = (await _examined(github, monkeypatch))[1]
    assert "✓ database: postgresql, will be brought to this version's schema at the start" in told
    drop(url)


@pytest.mark.parametrize("name", sorted(doctor.needed()))
async def test_what_the_manifest_asks_for_is_needed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    level = doctor.needed()[name]
    permissions = doctor.needed() | {name: "read" if level == "write" else "none"}
    async with _github(tmp_path, monkeypatch, permissions) as github:
        healthy, told = await _examined(github, monkeypatch)
    assert f"lacks {name}: {level}" in told
    assert not healthy


def test_resolving_a_thread_needs_to_write_contents() -> None:
    assert doctor.needed()["contents"] == "write"


async def _examined(github: Simulator, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    monkeypatch.setenv("FORGE_GITHUB_API_URL", github.api_url)
    monkeypatch.setenv("FORGE_GITHUB_WEB_URL", github.url)
    printed = io.StringIO()
    return await doctor.examine(Console(file=printed, width=200)), printed.getvalue()
