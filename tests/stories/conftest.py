"""Stories of a whole Forge; which of them are told on both databases says tests/conftest.py."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from domain.money import FREE
from tests.databases import create_database, drop_database
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
def model(request: pytest.FixtureRequest) -> ScriptedModel:
    """Reads every change of source in the stories that use it; in the others no model does. Its parameter: a price."""
    return ScriptedModel(getattr(request, "param", FREE))


@pytest.fixture(params=["sqlite", "postgresql"])
async def story(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Story]:
    """A Forge that nobody asked for anything yet; with the settings of the marker ``own_forge``."""
    model: ScriptedModel | None = request.getfixturevalue("model") if "model" in request.fixturenames else None
    if is_sharable(request, request.param):
        async with open_shared_story(tmp_path, model=model) as started:
            yield started
        return
    own = request.node.get_closest_marker("own_forge")
    url = create_database(request.param, tmp_path)
    models = NO_MODEL if model is None else Models.only(model.language_model)
    async with open_story(url, tmp_path, models=models, **({} if own is None else own.kwargs)) as started:
        yield started
    drop_database(url)


@pytest.fixture
async def service() -> AsyncGenerator[ToyService]:
    """A service that is deployed."""
    async with run_service() as running:
        yield running
