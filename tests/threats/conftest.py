"""Attacks and faults, and the invariants after each; `make security` plays every one on SQLite and on PostgreSQL."""

import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from bot.app import Patience
from domain.money import FREE
from tests.databases import Backend, create_database, drop_database
from tests.invariants import find_violations
from tests.stories.driver import DELIVERY, LAG, LOOKS, NO_MODEL, Story, open_shared_story, open_story
from tests.unit.workspace.remotes import Author
from tests.world.shared_forge import is_sharable

SETTLING = max(0.9, 1.5 * LAG)  # seconds until GitHub shows what was written
SWIFT = Patience(body=3.0, door=DELIVERY, heartbeat=1.0, stubborn=2, telling=0, lag=LOOKS, settling=SETTLING)
HURRIED = Patience(
    body=3.0, door=1.0, worker=0.5, heartbeat=1.0, stubborn=2, telling=0, lag=LOOKS, settling=SETTLING
)  # soon calls it an outage


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def model(request: pytest.FixtureRequest) -> ScriptedModel:
    """The model of a Forge that has one. Its parameter: a price."""
    return ScriptedModel(getattr(request, "param", FREE))


@pytest.fixture
async def story(request: pytest.FixtureRequest, backend: Backend, tmp_path: Path) -> AsyncGenerator[Story]:
    """A whole Forge; in a test that uses ``model``, that reads every change of source."""
    async with _story(request, backend, tmp_path, SWIFT) as started:
        yield started


@pytest.fixture
async def impatient_story(request: pytest.FixtureRequest, backend: Backend, tmp_path: Path) -> AsyncGenerator[Story]:
    """A whole Forge whose database is away when it does not answer at once."""
    async with _story(request, backend, tmp_path, HURRIED) as started:
        yield started


@asynccontextmanager
async def _story(
    request: pytest.FixtureRequest, backend: Backend, folder: Path, patience: Patience
) -> AsyncGenerator[Story]:
    model: ScriptedModel | None = request.getfixturevalue("model") if "model" in request.fixturenames else None
    if is_sharable(request, backend):
        async with open_shared_story(folder, patience, model) as started:
            yield started
            await _require_invariants(started)
        return
    url = create_database(backend, folder)
    models = NO_MODEL if model is None else Models.only(model.language_model)
    async with open_story(url, folder, patience, models) as started:
        yield started
        await _require_invariants(started)
    drop_database(url)


async def _require_invariants(story: Story) -> None:
    await story.settle()
    assert not await find_violations(story.github, story.forge.services.database)


@pytest.fixture
def place() -> Generator[Path]:
    """A folder that every account on this machine reaches and may write to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.fixture
def author(place: Path) -> Author:
    (place / "remotes").mkdir()
    return Author(place / "remotes" / "repo.git")
