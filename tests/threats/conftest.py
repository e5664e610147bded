"""Every attack and every fault is played on SQLite and on PostgreSQL, and the invariants are checked after it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agents.models import Models
from agents.scripted import ScriptedModel
from bot.app import Patience
from tests.databases import Backend, drop, fresh
from tests.invariants import violations
from tests.stories.driver import Story, story

HURRIED = Patience(body=0.5, door=1.0, worker=0.5, heartbeat=0.3, stubborn=2)


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def model() -> ScriptedModel:
    """The model of a Forge that has one."""
    return ScriptedModel()


@pytest.fixture
async def read(backend: Backend, tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Story]:
    """A whole Forge in which ``model`` reads what is above low risk."""
    url = fresh(backend, tmp_path)
    async with story(url, tmp_path, HURRIED, Models.only(model.language_model)) as started:
        yield started
        await started.rest()
        assert not await violations(started.github, started.forge.services.database)
    drop(url)


@pytest.fixture
async def told(backend: Backend, tmp_path: Path) -> AsyncGenerator[Story]:
    """A whole Forge that waits for nothing long."""
    url = fresh(backend, tmp_path)
    async with story(url, tmp_path, HURRIED) as started:
        yield started
        await started.rest()
        assert not await violations(started.github, started.forge.services.database)
    drop(url)
