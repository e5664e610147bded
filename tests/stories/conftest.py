"""Stories of a whole Forge; which of them are told on both databases says tests/conftest.py."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import NO_MODEL, Story, open_story


@pytest.fixture
def model() -> ScriptedModel:
    """The model of a story that has one."""
    return ScriptedModel()


@pytest.fixture(params=["sqlite", "postgresql"])
async def told(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Story]:
    """A story without a model."""
    async with _story(request.param, tmp_path, NO_MODEL) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
async def read(request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Story]:
    """A story in which ``model`` reads every change of source."""
    async with _story(request.param, tmp_path, Models.only(model.language_model)) as started:
        yield started


@asynccontextmanager
async def _story(backend: Backend, folder: Path, models: Models) -> AsyncGenerator[Story]:
    url = create_database(backend, folder)
    async with open_story(url, folder, models=models) as started:
        yield started
    drop_database(url)
