"""Who lets a deployment begin, hold, go on and go back, and who may not."""

import pytest

from domain.deployments.deployment import DeploymentState
from domain.runs.run import ReasonCode
from tests.stories.driver import Story
from tests.world.deployments import CHANGED, open_deployments
from tests.world.toy_service import ToyService

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


async def test_production_waits_for_somebody_else(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    before = await scene.was_deployed("production")
    after = await scene.merge()
    refused = await scene.comment(scene.alice, "/forge deploy production")
    assert "needs the role maintain" in refused
    await scene.comment(scene.carol, "/forge deploy production")
    assert story.gates(scene.pull) == ["production_deploy"]
    [question] = story.questions(scene.pull)
    for shown in (
        f"Deploy {after[:7]} to production?",
        "carol asked for it",
        "`carol` asked for it. Risk: not known, so it counts as high. Steps: 25 % → 100 %.",
        f"New since `{before[:7]}`: 1 files, +1 −1 lines",
        "Forge did not review exactly what is deployed.",
        "Checks of the merged commit: none were reported",
        f"Forge deploys `{before[:7]}` again in the same way",
        "Deployed and healthy",
    ):
        assert shown in question.body, question.body
    assert service.history == []
    check = scene.check(after, "production")
    assert check.conclusion == "action_required"
    assert (
        "Somebody with the role maintain, but not who asked for it, answers `/forge approve production_deploy` or "
        f"`/forge reject production_deploy`. [The question]({story.github.url}/octo-org/shop/issues/"
        f"{scene.pull.number}#issuecomment-{question.id}) shows what for."
    ) in (check.summary or "")
    told = await scene.comment(scene.carol, "/forge approve production_deploy")
    assert "cannot be decided by the requester" in told
    assert "needs the role maintain" in await scene.comment(scene.alice, "/forge approve production_deploy")
    await scene.carry_out(scene.erin, "/forge approve production_deploy")
    assert (await scene.get_latest()).state is DeploymentState.healthy
    assert service.history == [(after, 25), (after, 100)]
    [deployed] = [each for each in scene.repository.deployments if each.sha == after]
    assert (deployed.environment, deployed.statuses[-1].environment_url) == ("production", "https://shop.example.com")
    story.pass_over(scene.pull)


async def test_production_that_nobody_approves_in_time_is_not_deployed(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    after = await scene.merge()
    await scene.comment(scene.carol, "/forge deploy production")
    await story.wait(hours=1, minutes=1)
    latest = await scene.get_latest()
    assert (latest.state, latest.detail) == (DeploymentState.stopped, "Nobody answered production_deploy in time.")
    assert (service.history, scene.repository.deployments) == ([], [])
    assert scene.check(after, "production").conclusion == "cancelled"
    story.pass_over(scene.pull)


async def test_at_level_three_a_merge_of_low_risk_is_announced_first(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, level=3, trigger="merge", top="", more="")
    await scene.was_deployed()
    after = await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    [announced] = [each.body for each in story.answers(scene.pull) if "**Forge deploys" in each.body]
    assert "Level 3 (acts and tells) lets Forge deploy to staging" in announced
    assert service.history == []
    await story.wait(minutes=10)
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.healthy
    assert service.history == [(after, 100)]
    story.pass_over(scene.pull)


async def test_an_announced_deployment_can_be_stopped(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, level=3, trigger="merge", top="", more="")
    await scene.was_deployed()
    await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    assert "is stopped" in await scene.comment(scene.alice, "/forge deploy staging cancel")
    latest = await scene.get_latest()
    assert (latest.state, service.history) == (DeploymentState.stopped, [])
    assert "Nothing is being deployed" in await scene.comment(scene.alice, "/forge deploy staging cancel")
    story.pass_over(scene.pull)


async def test_people_hold_it_let_it_go_on_and_take_it_back(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    before = await scene.was_deployed()
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    assert "does not hold" in await scene.comment(scene.alice, "/forge deploy staging go-on")
    await scene.run_until(after, 25)
    ends = "`/forge deploy staging cancel` ends them."
    assert ends in await scene.comment(scene.alice, "/forge cancel")
    assert "holds before its next step" in await scene.comment(scene.alice, "/forge deploy staging hold")
    await scene.look()
    assert story.gates(scene.pull) == ["deploy_hold"]
    [question] = story.questions(scene.pull)
    assert "25 % of the traffic has it." in question.body
    assert "| `error_rate` | 0.001 | 0.001 |" in question.body  # though the step is not over
    mallory = story.member(scene.repository, "mallory", "read")
    await scene.press(mallory, "go_on", after)
    assert (await scene.get_latest()).state is DeploymentState.holding
    assert "approved" in await scene.comment(scene.alice, "/forge deploy staging go-on")
    await scene.look(2)
    assert "is rolled back" in await scene.comment(scene.alice, "/forge rollback staging")
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history[-1] == (before, 100)
    assert "alice asked to roll back." in scene.end()
    story.pass_over(scene.pull)


@pytest.mark.tells("requested_action")  # which button
async def test_what_is_deployed_goes_back_by_a_button(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    before = await scene.was_deployed()
    after = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    await scene.press(scene.alice, "roll_back", after)
    await scene.run_on()
    assert [(each.sha, each.cause, each.state) for each in await scene.history()][-1] == (
        before,
        "rollback",
        DeploymentState.healthy,
    )
    assert service.history == [(after, 25), (after, 100), (before, 100)]
    story.pass_over(scene.pull)


async def test_what_cannot_be_deployed_says_why(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    sha = await scene.merge()
    told = await scene.comment(scene.carol, "/forge deploy canary")
    assert "has no environment `canary` under `deploy.environments`. It has `staging`, `production`." in told
    pull, _ = await story.propose(scene.repository, scene.alice, {"app.py": CHANGED + "\n"}, "open")
    assert "Merge this pull request first" in await scene.comment(scene.alice, "/forge deploy staging", on=pull)
    await scene.alice.close(pull)
    story.github.report_status(scene.repository, sha, "ci/build", "failure")
    await scene.comment(scene.alice, "/forge deploy staging")
    latest = await scene.get_latest()
    assert latest.state is DeploymentState.stopped
    assert latest.detail == "Checks of the merged commit are not green: ci/build."
    story.pass_over(scene.pull)
    story.pass_over(pull)


async def test_a_newer_merge_replaces_one_that_waits_for_a_person(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, trigger="merge")
    first = await scene.merge()
    second = await scene.merge(CHANGED + "\n")
    assert scene.check(first, "staging").conclusion == "cancelled"
    await scene.carry_out(scene.alice, "/forge approve staging_deploy")
    assert [(each.sha, each.state) for each in await scene.history()] == [
        (first, DeploymentState.stopped),
        (second, DeploymentState.healthy),
    ]
    assert service.history == [(second, 25), (second, 100)]
    scene.pass_over()


async def test_a_newer_merge_waits_for_one_that_is_being_deployed(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    first = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    await scene.run_until(first, 25)
    second = await scene.merge(CHANGED + "\n")
    await scene.comment(scene.alice, "/forge deploy staging")
    assert scene.check(second, "staging").status == "queued"
    await scene.run_on()
    assert [(each.sha, each.state, each.previous_sha) for each in await scene.history()] == [
        (first, DeploymentState.healthy, ""),
        (second, DeploymentState.healthy, first),
    ]
    assert service.history == [(first, 25), (first, 100), (second, 25), (second, 100)]
    scene.pass_over()


async def test_a_pause_stops_it_where_it_is_and_says_so(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    await scene.run_until(after, 25)
    admin = story.member(scene.repository, "root", "admin")
    await scene.comment(admin, "/forge pause")
    latest = await scene.get_latest()
    assert (latest.state, latest.percentage) == (DeploymentState.failed, 25)
    assert "25 % of the traffic had it." in latest.detail
    assert scene.statuses(after, "staging")[-1][0] == "error"
    assert scene.check(after, "staging").conclusion == "action_required"
    run = (await story.runs())[0]
    assert (run.state, run.reason) == ("cancelled", ReasonCode.paused)
    story.pass_over(scene.pull)


async def test_a_build_that_leaves_nothing_ends_it(story: Story, service: ToyService) -> None:
    build = "  build: {command: python3 build.py, artifact: 'dist/*.txt'}\n"
    scene = await open_deployments(story, service, extra=build)
    await scene.merge("print('built')\n", path="build.py")
    await scene.carry_out(scene.alice, "/forge deploy staging")
    latest = await scene.get_latest()
    assert latest.state is DeploymentState.stopped
    assert "The build left no file that matches dist/*.txt and is not empty" in latest.detail
    made = "import pathlib\npathlib.Path('dist').mkdir()\npathlib.Path('dist/shop.txt').write_text('shop')\n"
    after = await scene.merge(made, path="build.py")
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert (await scene.get_latest()).state is DeploymentState.healthy
    assert service.history == [(after, 25), (after, 100)]
    scene.pass_over()


async def test_a_reviewed_change_of_medium_risk_goes_in_three_steps(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, top="", more="")
    after = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert (await scene.get_latest()).risk == "medium"
    assert service.history == [(after, 5), (after, 25), (after, 100)]
    story.pass_over(scene.pull)


async def test_what_a_person_took_back_is_asked_about_like_anything_new(story: Story, service: ToyService) -> None:
    """And to go back from it once more is not."""
    scene = await open_deployments(story, service)
    before = await scene.was_deployed("production")
    story.clock.move(minutes=1)
    bad = await scene.merge("def price(amount):\n    return 0\n")
    await scene.was_deployed("production")
    assert "goes back to" in await scene.comment(scene.carol, "/forge rollback production")
    await scene.run_on()
    assert service.history == [(before, 100)]
    story.github.grant(scene.repository, scene.alice, "maintain")
    assert "has to approve that" in await scene.comment(scene.alice, "/forge rollback production")
    assert (story.gates(scene.pull), service.history) == (["production_deploy"], [(before, 100)])
    assert "cannot be decided by the requester" in await scene.comment(scene.alice, "/forge approve production_deploy")
    await scene.carry_out(scene.carol, "/forge approve production_deploy")
    assert service.history[1:] == [(bad, 25), (bad, 100)]
    assert "goes back to" in await scene.comment(scene.alice, "/forge rollback production")
    await scene.run_on()
    assert (service.history[-1], (await scene.get_latest()).state) == ((before, 100), DeploymentState.healthy)
    scene.pass_over()
