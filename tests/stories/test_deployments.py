"""What was merged reaches its environments step by step, is watched, and goes back by itself when it is unhealthy."""

from typing import Any

import pytest

from domain.deployments.deployment import DeploymentState
from domain.runs.run import ReasonCode
from tests.stories.driver import Story
from tests.world.deployments import DeploymentScene, open_deployments
from tests.world.toy_service import ToyService

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


async def deploy(story: Story, service: ToyService, **settings: Any) -> tuple[DeploymentScene, str, str]:
    """What is merged is on its way to staging, where something else runs; both commits, the older first."""
    scene = await open_deployments(story, service, **settings)
    before = await scene.was_deployed()
    after = await scene.merge()
    assert "is to be deployed to `staging`" in await scene.comment(scene.alice, "/forge deploy staging")
    return scene, before, after


async def test_it_is_deployed_step_by_step(story: Story, service: ToyService) -> None:
    scene, before, after = await deploy(story, service, more="")
    await scene.run_on()
    latest = await scene.get_latest()
    assert (latest.state, latest.previous_sha, latest.percentage) == (DeploymentState.healthy, before, 100)
    assert service.history == [(after, step) for step in (5, 10, 25, 50, 100)]  # nothing reviewed it: high risk
    check = scene.check(after, "staging")
    assert (check.status, check.conclusion, check.title) == ("completed", "success", "Deployed and healthy")
    assert [action["label"] for action in check.actions] == ["Roll back"]
    assert [state for state, _ in scene.statuses(after, "staging")] == ["in_progress"] * 6 + ["success"]
    told = scene.end()
    assert "| 100 % | 2 | well |" in told
    assert "| `error_rate` | 0.001 | 0.001 |" in told
    assert "`/forge rollback staging` takes it back." in told
    run = (await story.runs())[0]
    assert (run.state, run.reason, run.trigger) == ("completed", ReasonCode.deployed, "deployment")


async def test_the_first_one_offers_no_way_back(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    first = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    check = scene.check(first, "staging")
    assert (check.conclusion, [action["label"] for action in check.actions]) == ("success", [])
    assert "Forge knows nothing that it could go back to." in scene.end()


async def test_a_merge_is_deployed_whatever_github_does_not_say_about_its_commits(
    story: Story, service: ToyService
) -> None:
    story.github.faults.add(kind="before", method="GET", path=r"/pulls/\d+/commits", status=404, times=None)
    scene, _, after = await deploy(story, service, more="")
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.healthy
    assert service.history[-1] == (after, 100)
    story.pass_over(scene.pull)


async def test_what_is_unhealthy_goes_back_by_itself(story: Story, service: ToyService) -> None:
    scene, before, after = await deploy(story, service)
    service.error_rates[after] = 0.9
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history == [(after, 25), (before, 100)]
    told = scene.end()
    assert "At 25 % it is unhealthy: error_rate is unhealthy (0.001 before, 0.2258 now)." in told
    assert f"{before[:7]} is back and healthy." in told
    assert scene.check(after, "staging").conclusion == "failure"
    assert scene.statuses(after, "staging")[-1][0] == "failure"
    assert scene.statuses(before, "staging") == [("success", "It is back")]
    run = (await story.runs())[0]
    assert (run.state, run.reason) == ("failed", ReasonCode.rolled_back)


async def test_what_answers_no_more_goes_back_before_the_time_is_over(story: Story, service: ToyService) -> None:
    scene, before, after = await deploy(story, service)
    await scene.run_until(after, 25)
    service.is_dead = True
    await scene.look(2)
    assert (await scene.get_latest()).state is DeploymentState.rolling_back
    service.is_dead = False
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history == [(after, 25), (before, 100)]
    assert "It answered with status 503" in scene.end()


@pytest.mark.tells("requested_action")  # which button
async def test_a_person_decides_what_is_only_worse(story: Story, service: ToyService) -> None:
    scene, _, after = await deploy(story, service)
    service.latencies[after] = 400.0
    await scene.run_on()
    assert story.gates(scene.pull) == ["deploy_hold"]
    [question] = story.questions(scene.pull)
    assert "At 25 %: latency is degraded (100 before, 175 now)" in question.body
    assert "nobody answers" in question.body
    check = scene.check(after, "staging")
    assert (check.conclusion, check.title) == ("action_required", "Holds at 25 %")
    assert [action["label"] for action in check.actions] == ["Go on", "Roll back"]
    service.latencies[after] = 190.0
    await scene.press(scene.alice, "go_on", after)
    await scene.run_on()
    assert story.gates(scene.pull) == ["deploy_hold"]  # at 100 % it is worse, too
    await scene.carry_out(scene.alice, "/forge approve deploy_hold")
    assert (await scene.get_latest()).state is DeploymentState.degraded
    assert service.history == [(after, 25), (after, 100)]
    assert scene.check(after, "staging").conclusion == "neutral"
    assert "Deployed, although it is worse than before" in scene.end()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("/forge reject deploy_hold customers wait too long", "alice let it go back: customers wait too long."),
        (None, "nobody answered in time"),
    ],
)
async def test_a_hold_that_is_not_approved_goes_back(
    story: Story, service: ToyService, answer: str | None, why: str
) -> None:
    scene, before, after = await deploy(story, service)
    service.latencies[after] = 400.0
    await scene.run_on()
    if answer is None:
        await story.wait(hours=1, minutes=1)
    else:
        await scene.comment(scene.alice, answer)
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history == [(after, 25), (before, 100)]
    assert why in scene.end()
    story.pass_over(scene.pull)


async def test_a_roll_back_that_fails_asks_a_person_and_claims_nothing(story: Story, service: ToyService) -> None:
    scene, before, after = await deploy(story, service)
    service.error_rates[after] = 0.9
    scene.fails = lambda inputs: inputs["ref"] == before
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.failed
    told = scene.end()
    assert f"Going back to {before[:7]} failed, too: deploy.yml ended with failure" in told
    assert "Forge cannot say that what runs there now is well" in told
    check = scene.check(after, "staging")
    assert (check.conclusion, check.title) == ("action_required", "Failed: a person has to look")
    assert scene.statuses(after, "staging")[-1][0] == "error"
    assert scene.statuses(before, "staging") == []


async def test_without_anything_before_it_there_is_nothing_to_go_back_to(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    service.error_rates[after] = 0.9
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.failed
    assert "Forge knows nothing that it could go back to" in scene.end()
    assert "does not know what to go back to" in await scene.comment(scene.alice, "/forge rollback staging")


async def test_a_step_that_fails_goes_back(story: Story, service: ToyService) -> None:
    scene, before, after = await deploy(story, service)
    scene.fails = lambda inputs: inputs["percentage"] == "100" and inputs["ref"] == after
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history == [(after, 25), (before, 100)]
    assert "Deploying 100 % failed: deploy.yml ended with failure" in scene.end()


async def test_a_workflow_that_never_ends_is_cancelled(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, more=", minutes: 5, strategy: {high: [25, 100]}")
    story.github.on_dispatch(scene.repository, "deploy.yml", None)
    await scene.was_deployed()
    await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    await scene.look(2)
    for _ in range(2):  # the deployment, and then its roll-back
        await story.wait(minutes=5)
        await scene.look()
    assert (await scene.get_latest()).state is DeploymentState.failed  # nor does that of the roll-back end
    assert "deploy.yml did not end within 5 minutes" in scene.end()
    assert [run.conclusion for run in scene.repository.workflow_runs] == ["cancelled", "cancelled"]
