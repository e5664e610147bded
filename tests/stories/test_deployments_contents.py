"""What goes live is judged as a whole: nothing hides behind a harmless merge, and nothing waits for another environment."""

import pytest

from domain.deployments.deployment import DeploymentState
from domain.review.review import RiskLevel
from tests.stories.driver import Story
from tests.world.deployments import DeploymentScene, open_deployments
from tests.world.toy_service import ToyService

DANGEROUS = "import subprocess\n\n\ndef price(amount):\n    return subprocess.run(f'price {amount}', shell=True)\n"


async def _open(story: Story, service: ToyService, level: int = 3, *, was_deployed: bool = True) -> DeploymentScene:
    scene = await open_deployments(story, service, level=level, trigger="merge", top="", more="")
    if was_deployed:
        await scene.was_deployed()
    return scene


def _question(story: Story, scene: DeploymentScene) -> str:
    [question] = story.questions(scene.pull)
    return question.body


async def test_a_waiting_change_does_not_go_live_behind_a_harmless_one(story: Story, service: ToyService) -> None:
    scene = await _open(story, service)
    await scene.merge(DANGEROUS)
    assert story.gates(scene.pull) == ["staging_deploy"]
    await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    asked = _question(story, scene)
    assert f"#{scene.pulls[0].number}" in asked
    assert "request changes, risk medium, 1 open finding" in asked
    assert (await scene.get_latest()).risk is None
    assert service.history == []
    scene.pass_over()


async def test_a_refused_change_does_not_either(story: Story, service: ToyService) -> None:
    scene = await _open(story, service)
    await scene.merge()
    await scene.comment(scene.carol, "/forge reject staging_deploy prices would double")
    await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert "refused here by `carol`" in _question(story, scene)
    assert (await scene.get_latest()).risk is None
    assert service.history == []
    scene.pass_over()


async def test_what_was_refused_is_asked_about_on_command(story: Story, service: ToyService) -> None:
    """Whoever writes the command below a harmless change may not know of the refusal."""
    scene = await _open(story, service, level=2)
    await scene.merge()
    await scene.comment(scene.carol, "/forge reject staging_deploy prices would double")
    refused = scene.pull
    after = await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    await scene.comment(scene.alice, "/forge reject staging_deploy not yet")
    await scene.comment(scene.alice, "/forge deploy staging")
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert f"carol rejected `#{refused.number}` here before" in story.questions(scene.pull)[-1].body
    assert service.history == []
    await scene.carry_out(scene.alice, "/forge approve staging_deploy")
    assert service.history[-1] == (after, 100)
    scene.pass_over()


async def test_what_went_back_does_not_go_live_behind_a_harmless_change(story: Story, service: ToyService) -> None:
    scene = await _open(story, service)
    bad = await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    service.error_rates[bad] = 0.9
    await story.wait(minutes=10)
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    deployed = [*service.history]
    await scene.merge("# News\n\nNone.\n", path="NEWS.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert "taken back here before" in _question(story, scene)
    assert service.history == deployed
    scene.pass_over()


async def test_after_a_failure_nothing_is_deployed_unasked(story: Story, service: ToyService) -> None:
    """Nobody knows what runs there, and a person has to look."""
    scene = await _open(story, service)
    bad = await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    service.error_rates[bad] = 0.9
    scene.fails = lambda inputs: inputs["ref"] != bad
    await story.wait(minutes=10)
    await scene.run_on()
    failed = await scene.get_latest()
    assert failed.state is DeploymentState.failed
    service.error_rates.clear()
    await scene.merge("# News\n\nNone.\n", path="NEWS.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    told = f"The deployment before it, `{failed.short_id}`, failed: nobody knows how it is there now."
    assert told in _question(story, scene)
    scene.pass_over()


async def test_what_nobody_reviewed_is_not_known(story: Story, service: ToyService) -> None:
    scene = await _open(story, service)
    await scene.carol.push(scene.repository, "main", {"app.py": DANGEROUS})
    await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert "pushed directly, nobody reviewed it" in _question(story, scene)
    assert service.history == []
    story.pass_over(scene.pull)


async def test_a_merge_by_hand_is_not_what_was_reviewed(story: Story, service: ToyService) -> None:
    """It may hold code that nobody read, put in where it was merged or where a conflict was resolved."""
    scene = await _open(story, service)
    await scene.open_pull({"README.md": "# Shop\n\nWe sell things.\n"})
    await scene.merge_by_hand({"app.py": DANGEROUS})
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert "not reviewed as it was merged" in _question(story, scene)
    deployment = await scene.get_latest()
    assert (deployment.risk, service.history) == (None, [])
    story.pass_over(scene.pull)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
async def test_what_was_merged_as_reviewed_goes_live(story: Story, service: ToyService, method: str) -> None:
    """Also beside what came to the branch meanwhile, and with several commits."""
    scene = await _open(story, service)
    await scene.open_pull({"README.md": "# Shop\n\nWe sell things.\n"})
    await story.after(scene.alice.push(scene.repository, scene.pull.head_ref, {"NEWS.md": "# News\n"}))
    await scene.carol.push(scene.repository, "main", {"app.py": "def price(amount):\n    return amount * 3\n"})
    await scene.was_deployed()
    scene.repository.merge_methods = {method}
    after = await story.after(scene.carol.merge(scene.pull, method))
    await story.wait(minutes=10)
    await scene.run_on()
    assert service.history[-1:] == [(after, 100)]
    assert (await scene.get_latest()).risk == RiskLevel.low
    story.pass_over(scene.pull)


async def test_nothing_goes_away_unasked(story: Story, service: ToyService) -> None:
    """Whoever rewrites the branch takes back what runs there, and no review shows it."""
    scene = await _open(story, service)
    start = scene.repository.git.refs()["refs/heads/main"]
    guarded = "def price(amount):\n    assert amount > 0\n    return amount\n"
    await scene.carol.push(scene.repository, "main", {"app.py": guarded}, "Refuse a negative amount")
    await scene.was_deployed()
    await scene.carol.reset_branch(scene.repository, "main", start)
    await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert "Refuse a negative amount (it runs here, and the branch was rewritten without it)" in _question(story, scene)
    assert ((await scene.get_latest()).risk, service.history) == (None, [])
    story.pass_over(scene.pull)


async def test_the_first_deployment_is_not_known(story: Story, service: ToyService) -> None:
    """It brings all that the branch has, and not the last merge alone."""
    scene = await _open(story, service, was_deployed=False)
    await scene.merge("# Shop\n\nWe sell things.\n", path="README.md")
    assert story.gates(scene.pull) == ["staging_deploy"]
    assert "Everything is new: Forge deployed nothing here before." in _question(story, scene)
    assert ((await scene.get_latest()).risk, service.history) == (None, [])
    story.pass_over(scene.pull)


async def test_environments_do_not_wait_for_each_other(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    before = await scene.was_deployed("production")
    await scene.merge("# Shop\n", path="NEWS.md")
    await scene.was_deployed("production")
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    await scene.run_until(after, 25)
    assert "goes back to" in await scene.comment(scene.carol, "/forge rollback production")
    for _ in range(6):
        await scene.look()
        if (before, 100) in service.history:
            break
    staging = next(each for each in await scene.history() if each.environment == "staging")
    assert ((before, 100) in service.history, staging.state.is_over) == (True, False)
    scene.pass_over()
