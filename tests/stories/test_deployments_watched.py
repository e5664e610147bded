"""Nothing that was deployed counts as well because nothing could be read, and nothing private is asked."""

import pytest

from domain.deployments.deployment import DeploymentState
from tests.stories.driver import Story
from tests.world.deployments import open_deployments
from tests.world.toy_service import ToyService

sqlite = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


@sqlite
async def test_figures_that_cannot_be_read_are_never_well(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    before = await scene.was_deployed()
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    await scene.run_until(after, 25)
    service.is_mute = True
    await scene.run_on()
    assert story.gates(scene.pull) == ["deploy_hold"]
    [question] = story.questions(scene.pull)
    assert "error_rate is unknown" in question.body
    assert "It answered with status 500." in question.body
    await scene.comment(scene.alice, "/forge reject deploy_hold we are blind")
    service.is_mute = False
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history[-1] == (before, 100)
    story.pass_over(scene.pull)


@sqlite
async def test_without_figures_before_it_a_person_lets_it_begin(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    service.is_mute = True
    after = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert service.history == []
    assert story.gates(scene.pull) == ["deploy_hold"]
    [question] = story.questions(scene.pull)
    assert "The figures before it could not be read: error_rate: It answered with status 500." in question.body
    service.is_mute = False
    await scene.carry_out(scene.alice, "/forge approve deploy_hold")
    assert (await scene.get_latest()).state is DeploymentState.healthy
    assert service.history == [(after, 25), (after, 100)]
    story.pass_over(scene.pull)


@sqlite
async def test_what_nothing_watches_is_deployed_and_not_called_well(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, watch="")
    after = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert (await scene.get_latest()).state is DeploymentState.unverified
    check = scene.check(after, "staging")
    assert (check.conclusion, check.title) == ("neutral", "Deployed; nothing watches staging")
    assert service.looks == 0
    story.pass_over(scene.pull)


async def test_a_private_address_is_not_asked(guarded_story: Story, service: ToyService) -> None:
    """The operator allowed nothing: nothing was read, so it holds before anything is deployed."""
    scene = await open_deployments(guarded_story, service)
    await scene.was_deployed()
    await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    [question] = guarded_story.questions(scene.pull)
    assert "leads to an address that is not of the internet" in question.body
    assert (service.looks, service.history) == (0, [])
    await scene.carry_out(scene.alice, "/forge deploy staging cancel")
    guarded_story.pass_over(scene.pull)


@sqlite
async def test_the_clock_may_jump(story: Story, service: ToyService) -> None:
    """Steps are measured in looks, so neither hours nor a clock set back make one well or skip it."""
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    await scene.run_until(after, 25)
    looks = service.looks
    await story.wait(hours=5)
    assert service.looks == looks + 1
    await story.wait(hours=-6)
    story.clock.move(hours=6)
    await scene.run_on()
    latest = await scene.get_latest()
    assert latest.state is DeploymentState.healthy
    assert service.history == [(after, 25), (after, 100)]
    story.pass_over(scene.pull)
