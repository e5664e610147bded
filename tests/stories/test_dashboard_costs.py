"""What Forge cost and how well it does, on the dashboard: in pictures and in the same numbers."""

import base64
import re

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.dashboard import fill_repository, signed_in

SHOP = "/dashboard/octo-org/shop"


async def test_readers_see_costs_budgets_and_trends(story_with_model: Story, model: ScriptedModel) -> None:
    """The sums are those of the calls; pictures have no scripts and lead nowhere."""
    story = story_with_model
    await fill_repository(story, model)
    async with signed_in(story, "rita") as rita:
        costs = await rita.open(f"{SHOP}/costs?days=7")
        metrics = await rita.open(f"{SHOP}/metrics?weeks=4")
        odd = [await rita.open(f"{SHOP}/costs?days=%00"), await rita.open(f"{SHOP}/metrics?weeks=9999999")]
    async with signed_in(story, "stranger") as stranger:
        hidden = [await stranger.open(f"{SHOP}/{page}") for page in ("costs", "metrics")]
    assert "in 7 days." in costs.text
    assert "Review of #1" in costs.text
    assert "this day (UTC)" in costs.text
    assert "No breaker for errors of a provider has opened here." in costs.text
    assert "first-pass approval" in metrics.text
    assert "100% (" in metrics.text or "0% (" in metrics.text
    assert [each.status for each in odd] == [200, 200]
    assert [each.status for each in hidden] == [404, 404]
    pictures = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", costs.html + metrics.html)
    assert len(pictures) >= 4  # each for light and dark
    for each in pictures:
        drawn = base64.b64decode(each).decode()
        assert "<script" not in drawn
        assert "href" not in drawn
