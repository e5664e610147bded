"""A source of figures that lies, is late or is down, and a service that is sick already: every word is true."""

import pytest

from domain.deployments.deployment import DeploymentState
from tests.stories.driver import Story
from tests.world.deployments import SHORT, WATCH, DeploymentScene, open_deployments
from tests.world.toy_service import ToyService

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


async def _begin(
    story: Story, service: ToyService, errors: float = 0.001, watch: str = WATCH, more: str = SHORT
) -> tuple[DeploymentScene, str, str]:
    """What is merged is ordered for staging; the commit there, and the new one.

    :param errors: of the commit there.
    """
    scene = await open_deployments(story, service, watch=watch, more=more)
    before = await scene.was_deployed()
    service.error_rates[before] = errors
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    return scene, before, after


async def test_a_share_that_cannot_be_is_not_believed(story: Story, service: ToyService) -> None:
    scene, before, after = await _begin(story, service)
    service.error_rates[after] = 37.0  # somebody counts errors, or percent
    await scene.run_on()
    [question] = story.questions(scene.pull)
    assert "At 25 %: error_rate is unknown: 9.251 is no share of the requests, which is from 0 to 1" in question.body
    await scene.carry_out(scene.alice, "/forge rollback staging")
    assert (await scene.get_latest()).state is DeploymentState.rolled_back
    assert service.history[-1] == (before, 100)
    story.pass_over(scene.pull)


@pytest.mark.parametrize(("lags", "remembers"), [(3, 0), (0, 8)])
async def test_a_late_source_makes_no_failure_of_a_roll_back(
    story: Story, service: ToyService, lags: int, remembers: int
) -> None:
    service.lags, service.remembers = lags, remembers
    watch = WATCH if lags else WATCH.replace("window", "settle: 135, window")
    scene, before, after = await _begin(
        story, service, watch=watch, more=SHORT if lags else ", strategy: {high: [100]}"
    )
    service.error_rates[after] = 0.9
    await scene.run_on()
    latest = await scene.get_latest()
    assert (latest.state, service.history[-1]) == (DeploymentState.rolled_back, (before, 100))
    assert latest.detail.endswith("is back and healthy.")
    story.pass_over(scene.pull)


async def test_a_roll_back_that_nobody_can_see_is_not_called_bad(story: Story, service: ToyService) -> None:
    scene, before, after = await _begin(story, service)
    await scene.run_until(after, 25)
    service.is_mute = True
    assert "is rolled back" in await scene.comment(scene.alice, "/forge rollback staging")
    await scene.run_on()
    latest = await scene.get_latest()
    assert (latest.state, service.history[-1]) == (DeploymentState.failed, (before, 100))
    told = f"{before[:7]} was deployed again, but whether it is well is not known: error_rate is unknown"
    assert told in scene.end()
    assert "Forge cannot say that what runs there now is well" in scene.end()


async def test_what_heals_a_sick_service_is_judged_by_that(story: Story, service: ToyService) -> None:
    scene, _, after = await _begin(story, service, errors=0.6)
    service.error_rates[after] = 0.0
    service.remembers = 2
    await scene.run_on()
    assert story.gates(scene.pull) == ["deploy_hold"]
    assert "It was not well before it" in story.questions(scene.pull)[-1].body
    await scene.carry_out(scene.alice, "/forge deploy staging go-on")
    assert (await scene.get_latest()).state is DeploymentState.healthy
    assert service.history == [(after, 25), (after, 100)]
    story.pass_over(scene.pull)


async def test_what_is_as_bad_as_what_was_there_is_not_well(story: Story, service: ToyService) -> None:
    scene, before, after = await _begin(story, service, errors=0.6)
    service.error_rates[after] = 0.5
    await scene.run_on()
    await scene.carry_out(scene.alice, "/forge deploy staging go-on")
    latest = await scene.get_latest()
    assert (latest.state, service.history) == (DeploymentState.failed, [(after, 25), (after, 100), (before, 100)])
    assert "At 100 % it is unhealthy: error_rate is unhealthy (" in latest.detail
    assert f"{before[:7]} was deployed again, but is not well: error_rate is unhealthy" in latest.detail
    story.pass_over(scene.pull)


async def test_an_emergency_is_not_asked_about(story: Story, service: ToyService) -> None:
    """Whoever writes `/forge rollback` knows that the service is sick: that is why."""
    scene = await open_deployments(story, service)
    before = await scene.was_deployed()
    after = await scene.merge()
    await scene.carry_out(scene.alice, "/forge deploy staging")
    service.error_rates[after], service.remembers = 0.6, 2
    await scene.look(4)
    asked = service.looks
    await scene.comment(scene.alice, "/forge rollback staging")
    assert (before, 100) in service.history  # no look before it waited for
    assert service.looks - asked == 3
    await scene.run_on()
    latest = await scene.get_latest()
    assert (latest.state, latest.sha, story.gates(scene.pull)) == (DeploymentState.healthy, before, [])
    story.pass_over(scene.pull)


async def test_a_pause_before_the_first_step_leaves_nothing_unknown(story: Story, service: ToyService) -> None:
    scene, _, after = await _begin(story, service, errors=0.6)
    await scene.run_on()
    assert (await scene.get_latest()).state is DeploymentState.holding
    admin = story.member(scene.repository, "root", "admin")
    await scene.comment(admin, "/forge pause")
    latest = await scene.get_latest()
    assert (latest.state, latest.detail) == (DeploymentState.stopped, "Forge was paused in this repository.")
    assert scene.check(after, "staging").conclusion == "cancelled"
    story.pass_over(scene.pull)


async def test_latency_is_sick_if_it_was_well_once(story: Story, service: ToyService) -> None:
    scene, _, after = await _begin(story, service)
    await scene.run_on()
    service.latencies[after] = 900.0
    await scene.merge("def price(amount):\n    return amount * 3\n")
    await scene.carry_out(scene.alice, "/forge deploy staging")
    assert story.gates(scene.pull) == ["deploy_hold"]
    [question] = story.questions(scene.pull)
    assert "latency is 900, and was 100 when it was well" in question.body
    scene.pass_over()


async def test_looks_before_a_deployment_are_apart(story: Story, service: ToyService) -> None:
    """Or three of them would be one and the same sample of Prometheus."""
    scene, _, after = await _begin(story, service)
    assert (service.looks, service.history) == (1, [])
    await scene.look()
    assert (service.looks, service.history) == (2, [])
    await scene.look()
    assert (after, 25) in service.history
    await scene.run_on()
    story.pass_over(scene.pull)
