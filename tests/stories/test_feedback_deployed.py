"""Monitoring tells of what Forge deployed: of the change that a problem came with, and of a deployment under way."""

import pytest

from domain.memories import Origin
from memory.learned import memories
from tests.stories.driver import Story
from tests.world.deployments import DeploymentScene, open_deployments
from tests.world.feedback import Monitoring, open_monitoring
from tests.world.toy_service import ToyService

GOOD = "def price(amount):\n    return amount * 2\n"
BESIDE = 'Traceback (most recent call last):\n  File "/srv/app.py", line 1, in load\nKeyError: 1\n'
BROKEN = "def price(amount):\n    return amount / 0\n"

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


async def deploy(scene: DeploymentScene, text: str) -> str:
    """A change reaches staging with all its traffic; the merged commit."""
    sha = await scene.merge(text)
    await scene.carry_out(scene.alice, "/forge approve staging_deploy")
    return sha


async def settle_all(scene: DeploymentScene) -> None:
    """Count what deployments say by themselves as looked at: other stories look at it."""
    for pull in scene.pulls:
        scene.told.pass_over(pull)


async def open_scene(story: Story, service: ToyService) -> tuple[DeploymentScene, Monitoring, list[str]]:
    """Staging runs a change that fails, after one that did not; the two commits."""
    scene = await open_deployments(story, service, trigger="merge")
    shas = [await deploy(scene, GOOD), await deploy(scene, BROKEN)]
    return scene, await open_monitoring(story, scene.repository), shas


async def test_an_error_is_traced_to_its_change_and_its_correction_is_learned(
    story: Story, service: ToyService
) -> None:
    scene, monitoring, (good, broken) = await open_scene(story, service)
    answer = await monitoring.error(environment="staging")
    assert (answer.status, answer.content["repeated"]) == (202, False)
    [issue] = monitoring.issues()
    body = issue.body or ""
    assert f"`{broken[:7]}` (#{scene.pull.number})" in body
    assert "**Likely cause**: this deployment changed these lines of the stack.\n\n- `app.py:2` in `price`" in body
    assert "`/forge rollback staging`" in body

    # The sender knows which commit it was: it was an earlier one, which did not change this file's lines first.
    other = "Error: out of stock\n    at reserve (/srv/app/stock.js:3:1)\n"
    await monitoring.error(other, environment="staging", commit=good[:10])
    [_, second] = monitoring.issues()
    assert f"The sender names the deployment `{(await scene.history())[0].short_id}` of `{good[:7]}`" in (
        second.body or ""
    )
    assert "Forge could not compare" in (second.body or "")

    # A person corrects it; the merge closes the issue.
    await scene.alice.push(scene.repository, "correction", {"app.py": GOOD}, base="main")
    pull = await scene.alice.open_pull_request(scene.repository, "correction", body=f"Fixes #{issue.number}")
    scene.pulls.append(pull)
    await story.settle()
    await story.after(scene.carol.merge(pull))
    assert issue.state == "closed"
    database = story.forge.services.database
    [memory] = await memories.list_live(database, scene.repository.id)
    assert (memory.origin, memory.confidence) == (Origin.production, 0.9)
    assert memory.content == (
        "Production showed `ZeroDivisionError` in staging until a change of `app.py`. Check that it is kept."
    )
    assert (memory.context, memory.tags) == ("a change touches `app.py`", ("app.py", "staging"))
    assert memory.source == f"production, issue #{issue.number}, solved by #{pull.number}"
    solved = next(each for each in await monitoring.problems() if each.issue == issue.number)
    assert solved.closed_at is not None

    # It goes on until the correction is deployed, and that is no news; after it, it is.
    story.clock.move(minutes=11)
    assert (await monitoring.error(environment="staging")).content["issue"] is None
    assert len(monitoring.issues()) == 2
    await scene.carry_out(scene.alice, "/forge approve staging_deploy")
    story.clock.move(minutes=11)
    await monitoring.error(environment="staging")
    [_, _, again] = monitoring.issues()
    assert f"The same problem was in #{issue.number}, which was closed." in (again.body or "")
    await settle_all(scene)


async def test_a_line_beside_the_change_is_no_likely_cause(story: Story, service: ToyService) -> None:
    scene, monitoring, _ = await open_scene(story, service)
    await monitoring.error(BESIDE, environment="staging")
    [issue] = monitoring.issues()
    body = issue.body or ""
    assert "**Likely cause**" not in body
    assert "in files that this deployment changed elsewhere.\n\n- `app.py:1` in `load`" in body
    await settle_all(scene)


async def test_an_anomaly_holds_the_deployment_that_it_names(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service, trigger="merge")
    merged = await scene.merge(GOOD)
    monitoring = await open_monitoring(story, scene.repository)
    await scene.comment(scene.alice, "/forge approve staging_deploy")
    await scene.run_until(merged, 25)
    deployment = await scene.latest()
    assert deployment is not None
    assert deployment.state == "rolling_out"
    wrong = await monitoring.anomaly(environment="production", deployment=deployment.short_id)
    assert wrong.status == 404  # it goes to staging
    answer = await monitoring.anomaly(environment="staging", deployment=deployment.short_id)
    assert answer.status == 202
    await scene.look()
    held = await scene.latest()
    assert held is not None
    assert held.state == "holding"
    [question] = [each.body for each in story.questions(scene.pull) if "Monitoring asked to hold" in each.body]
    [issue] = monitoring.issues()
    assert f"The sender names the deployment `{deployment.short_id}`" in (issue.body or "")

    # A person lets it go on. The same problem does not hold it again.
    await scene.comment(scene.alice, "/forge deploy staging go-on")
    await scene.look(6)  # until its next step
    await monitoring.anomaly(environment="staging", deployment=deployment.run_id)
    await scene.run_on()
    ended = await scene.latest()
    assert ended is not None
    assert ended.state == "healthy"
    assert question
    story.answers(issue)
    await settle_all(scene)
