"""Each story runs on SQLite, those that say most about the database on PostgreSQL, too; `make test-both`: every one."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.models import Models
from agents.scripted import ScriptedModel
from tests.databases import Backend, drop, fresh
from tests.stories.driver import NO_MODEL, Story, story

ON_SQLITE = {"test_acting", "test_again", "test_level", "test_model", "test_standard_gates"}
"""Stories whose statements unit tests try on both databases."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what says the same on the other database."""
    if os.environ.get("FORGE_TEST_BOTH"):
        return
    twice = [item for item in items if "postgresql" in item.name and item.path.stem in ON_SQLITE]
    config.hook.pytest_deselected(items=twice)
    items[:] = [item for item in items if item not in twice]


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
    """A story in which ``model`` reads what is above low risk."""
    async with _story(request.param, tmp_path, Models.only(model.language_model)) as started:
        yield started


@asynccontextmanager
async def _story(backend: Backend, folder: Path, models: Models) -> AsyncGenerator[Story]:
    url = fresh(backend, folder)
    async with story(url, folder, models=models) as started:
        yield started
    drop(url)
