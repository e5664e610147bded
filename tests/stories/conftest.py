"""Stories of a whole Forge; which of them are told on both databases says tests/conftest.py."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import NO_MODEL, TOLD, Story, open_shared_story, open_story
from tests.world.shared_forge import is_sharable
from tests.world.toy_service import ToyService, run_service


@pytest.fixture(autouse=True)
def _tell_more(request: pytest.FixtureRequest) -> Generator[None]:
    """What the marker ``tells`` names."""
    TOLD.update(name for marker in request.node.iter_markers("tells") for name in marker.args)
    yield
    TOLD.clear()


@pytest.fixture
def model() -> ScriptedModel:
    """The model of a story that has one."""
    return ScriptedModel()


@pytest.fixture(params=["sqlite", "postgresql"])
async def story(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Story]:
    """A story without a model."""
    async with _story(request, tmp_path, None) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
async def story_with_model(
    request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedModel
) -> AsyncGenerator[Story]:
    """A story in which ``model`` reads every change of source."""
    async with _story(request, tmp_path, model) as started:
        yield started


@pytest.fixture
async def service() -> AsyncGenerator[ToyService]:
    """A service that is deployed."""
    async with run_service() as running:
        yield running


@asynccontextmanager
async def _story(request: pytest.FixtureRequest, folder: Path, model: ScriptedModel | None) -> AsyncGenerator[Story]:
    backend: Backend = request.param
    if is_sharable(request, backend):
        async with open_shared_story(folder, model=model) as started:
            yield started
        return
    url = create_database(backend, folder)
    models = NO_MODEL if model is None else Models.only(model.language_model)
    async with open_story(url, folder, models=models) as started:
        yield started
    drop_database(url)
