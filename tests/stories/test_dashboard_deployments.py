"""What the dashboard shows of deployments."""

import re

from tests.stories.driver import Story
from tests.world.dashboard import signed_in
from tests.world.deployments import open_deployments
from tests.world.toy_service import ToyService


async def test_what_went_back_is_shown_with_its_steps(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    service.error_rates[after] = 0.9
    await scene.run_on()
    scene.end()
    name = scene.repository.full_name
    async with signed_in(story, "alice") as alice:
        shown = await alice.open(f"/dashboard/{name}/deployments")
    assert re.search(r"Deployed last and kept production \w{7} (healthy|unverified)|kept staging \w{7}", shown.text)
    assert "rolled_back" in shown.text
    assert "25 %: unhealthy" in shown.text
    assert after[:7] in shown.text
