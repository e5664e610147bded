"""No order of a deployment is lost, and none is about a commit that nobody could see when it was written."""

import pytest

from simulator.state import Issue
from tests.stories.driver import Story
from tests.world.deployments import CHANGED, DeploymentScene, open_deployments
from tests.world.toy_service import ToyService

AT_ONCE = 40
on_one_database = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


async def open_issue(scene: DeploymentScene) -> Issue:
    return await scene.told.after(scene.carol.open_issue(scene.repository, "Deploy the shop"))


async def test_forty_orders_at_once_are_all_carried_out(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    issue = await open_issue(scene)
    for _ in range(AT_ONCE):
        await scene.carol.comment(issue, "/forge deploy production")
    await story.settle()
    answers = [each.body for each in story.answers(issue) if "is to be deployed to `production`" in each.body]
    assert len(answers) == AT_ONCE
    assert len(await scene.history()) == AT_ONCE
    story.pass_over(issue)


@on_one_database
async def test_an_order_that_comes_late_is_about_what_was_there_when_it_was_written(
    story: Story, service: ToyService
) -> None:
    scene = await open_deployments(story, service)
    meant = await scene.merge()
    issue = await open_issue(scene)
    story.github.hold_deliveries()
    story.clock.move(minutes=1)
    await scene.carol.comment(issue, "/forge deploy production")
    story.clock.move(minutes=1)
    moved = await scene.merge("# later\n", path="later.md")
    story.github.release_deliveries()
    await story.settle()
    [ordered] = [each.body for each in story.answers(issue)]
    assert f"`{meant[:7]}` is to be deployed to `production`" in ordered
    assert f"it moved to `{moved[:7]}` since" in ordered
    assert (await scene.get_latest()).sha == meant
    story.pass_over(issue)


@on_one_database
async def test_an_order_about_a_head_that_github_does_not_tell_is_asked_again(
    story: Story, service: ToyService
) -> None:
    scene = await open_deployments(story, service)
    await scene.merge()
    scene.repository.lists_activities = False
    issue = await open_issue(scene)
    story.github.hold_deliveries()
    story.clock.move(minutes=1)
    await scene.carol.comment(issue, "/forge deploy production")
    story.clock.move(minutes=1)
    moved = await scene.merge("# later\n", path="later.md")
    story.github.release_deliveries()
    await story.settle()
    assert await scene.history() == []
    assert "nothing was ordered" in story.answers(issue)[-1].body
    await scene.comment(scene.carol, "/forge deploy production", issue)
    assert (await scene.get_latest()).sha == moved
    story.pass_over(issue)


@on_one_database
async def test_an_order_for_what_was_not_merged_then_is_asked_again(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    pull, _ = await story.propose(scene.repository, scene.alice, {"app.py": CHANGED}, "change")
    story.github.hold_deliveries()
    await scene.alice.comment(pull, "/forge deploy staging")
    story.clock.move(minutes=1)
    await scene.carol.merge(pull)
    story.github.release_deliveries()
    await story.settle()
    assert "merged after the command was written" in story.answers(pull)[-1].body
    assert await scene.history() == []
    story.pass_over(pull)


@on_one_database
async def test_a_mistake_of_forges_own_at_one_command_is_answered_and_the_others_are_executed(
    story: Story, service: ToyService
) -> None:
    scene = await open_deployments(story, service)
    await scene.merge()
    issue = await open_issue(scene)
    database = story.forge.services.database
    await database.run_in_transaction(lambda known: known.exec_driver_sql("ALTER TABLE deployments RENAME TO lost"))
    said = await scene.comment(scene.carol, "/forge deploy staging\n/forge help", issue)
    await database.run_in_transaction(lambda known: known.exec_driver_sql("ALTER TABLE lost RENAME TO deployments"))
    assert "Forge made a mistake of its own" in said
    assert "| command |" in said
    assert len(story.answers(issue)) == 1
    story.pass_over(scene.pull)


@on_one_database
async def test_a_roll_back_that_comes_late_takes_back_nothing_newer(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    await scene.merge()
    issue = await open_issue(scene)
    story.github.hold_deliveries()
    await scene.alice.comment(issue, "/forge rollback staging")
    story.clock.move(minutes=2)
    await scene.was_deployed()
    story.github.release_deliveries()
    await story.settle()
    newer = await scene.get_latest()
    told = f"`{newer.short_id}` was ordered to `staging` after this command was written"
    assert [told in each.body for each in story.answers(issue)] == [True]
    assert (service.history, len(await scene.history())) == ([], 2)
    assert "goes back to" in await scene.comment(scene.alice, "/forge rollback staging", issue)
    await scene.run_on()
    assert len(service.history) == 1
    story.pass_over(issue)
