"""People who steer a deployment with a page that is out of date, or too early, change nothing that they do not see."""

import pytest

from domain.deployments.deployment import DeploymentState
from tests.stories.driver import Story
from tests.world.deployments import open_deployments
from tests.world.toy_service import ToyService

pytestmark = pytest.mark.tells("requested_action")  # which button
sqlite = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


@sqlite
@pytest.mark.parametrize("button", ["hold", "go_on"])
async def test_a_button_of_an_old_page_rolls_nothing_back(story: Story, service: ToyService, button: str) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    after = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert (await scene.get_latest()).state is DeploymentState.healthy
    old = {"label": "Button", "description": "It was there when the page was opened", "identifier": button}
    scene.check(after, "staging").actions.append(old)
    await scene.press(scene.alice, button, after)
    await scene.run_on()
    assert service.history[-1] == (after, 100)
    story.pass_over(scene.pull)


@sqlite
async def test_what_runs_there_no_more_is_not_taken_back(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    first = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    second = await scene.merge("def price(amount):\n    return amount * 3\n")
    await scene.carry_out(scene.alice, "/forge deploy staging")
    await scene.press(scene.alice, "roll_back", first)
    await scene.run_on()
    assert service.history[-1] == (second, 100)
    scene.pass_over()


@sqlite
async def test_after_a_failed_roll_back_a_command_brings_what_was_well_last(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    well = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    await scene.merge("def price(amount):\n    return amount * 3\n")
    scene.fails = lambda _: True
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert (await scene.get_latest()).state is DeploymentState.failed
    scene.fails = lambda _: False
    assert f"goes back to `{well[:7]}`" in await scene.comment(scene.alice, "/forge rollback staging")
    await scene.run_on()
    assert service.history[-1] == (well, 100)
    scene.pass_over()


@sqlite
async def test_what_has_not_begun_is_not_held_and_goes_on(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.merge()
    await scene.comment(scene.alice, "/forge deploy production")
    assert story.gates(scene.pull) == []
    await scene.carry_out(scene.carol, "/forge deploy production")
    assert "has not begun" in await scene.comment(scene.carol, "/forge deploy production hold")
    assert (await scene.get_latest()).state is DeploymentState.asking
    told = await scene.comment(scene.alice, "/forge status\n/forge history")
    assert "- `production`: Waits for a person (`D-" in told
    assert "| command | Waits for a person |" in told
    assert "is stopped" in await scene.comment(scene.carol, "/forge deploy production cancel")
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.stopped
    story.pass_over(scene.pull)


@sqlite
async def test_what_was_merged_into_another_branch_is_not_deployed(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.alice.push(scene.repository, "mine", {"one.py": "1\n"}, base="main")
    await scene.alice.push(scene.repository, "topic", {"two.py": "2\n"}, base="mine")
    pull = await story.after(scene.alice.open_pull_request(scene.repository, "topic", base="mine"))
    await story.after(scene.carol.merge(pull))
    told = await scene.comment(scene.alice, "/forge deploy staging", on=pull)
    assert "Only what is merged into `main` is deployed" in told
    assert await scene.latest() is None
    story.pass_over(pull)


@sqlite
async def test_of_two_environments_that_ask_people_name_the_one_they_mean(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    asks = "    {}: {{workflow: deploy.yml, strategy: {{high: [100]}}}}\n"
    environments = asks.format("prod-eu") + asks.format("prod-us")
    text = f"review: {{on_pull_request: false}}\ndeploy:\n  environments:\n{environments}"
    await story.after(scene.carol.push(scene.repository, "main", {".github/forge.yml": text}))
    await scene.merge()
    for environment in ("prod-eu", "prod-us"):
        await scene.comment(scene.carol, f"/forge deploy {environment}")
    told = await scene.comment(scene.erin, "/forge approve production_deploy")
    assert "2 gates are waiting here" in told
    assert [each.state for each in await scene.history()] == ["asking", "asking"]
    story.pass_over(scene.pull)
