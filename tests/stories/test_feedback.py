"""Monitoring tells of production: one issue for each problem, with evidence, and what is learned from its correction."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.databases import create_database, drop_database
from tests.stories.driver import Story, open_story
from tests.world.deployments import DeploymentScene, open_deployments
from tests.world.feedback import Monitoring, open_monitoring
from tests.world.toy_service import ToyService, run_service

BROKEN = "def price(amount):\n    return amount / 0\n"


@pytest.fixture
async def service() -> AsyncGenerator[ToyService]:
    async with run_service() as running:
        yield running


@pytest.fixture
async def story(tmp_path: Path) -> AsyncGenerator[Story]:
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, outbound_allow="127.0.0.0/8") as told:
        yield told
    drop_database(url)


async def deploy(scene: DeploymentScene, text: str) -> str:
    """A change reaches staging, with all its traffic; the merged commit."""
    sha = await scene.merge(text)
    await scene.comment(scene.alice, "/forge approve staging_deploy")
    await scene.run_on()
    return sha


async def open_scene(story: Story, service: ToyService) -> tuple[DeploymentScene, Monitoring]:
    """Staging runs a change that fails, and monitoring watches it."""
    scene = await open_deployments(story, service)
    await deploy(scene, "def price(amount):\n    return amount * 2\n")
    await deploy(scene, BROKEN)
    return scene, await open_monitoring(story, scene.repository)


async def test_an_error_becomes_an_issue_with_its_likely_cause(story: Story, service: ToyService) -> None:
    scene, monitoring = await open_scene(story, service)
    answer = await monitoring.error(environment="staging")
    assert (answer.status, answer.content["issue"], answer.content["repeated"]) == (202, None, False)
    [issue] = monitoring.issues()
    print(issue.title, issue.body)
    assert 0
