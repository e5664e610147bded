"""What Forge cost and how well it does, on the dashboard: in pictures and in the same numbers."""

import base64
import re
from datetime import timedelta

from agents.llm.scripted import ScriptedModel
from domain.money import MICRO
from tests.rows import spend_row
from tests.stories.driver import Story
from tests.world.dashboard import fill_repository, signed_in

SHOP = "/dashboard/octo-org/shop"


async def test_readers_see_costs_budgets_and_trends(story_with_model: Story, model: ScriptedModel) -> None:
    """The sums are those of the calls; pictures have no scripts and lead nowhere."""
    story = story_with_model
    busy = await fill_repository(story, model)
    run, now = (await story.runs())[0], story.clock.now()
    today, week_ago = (day.date().isoformat() for day in (now, now - timedelta(days=7)))
    async with story.forge.services.database.transaction() as session:
        session.add(spend_row("open", run.id, 4 * MICRO, repository_id=busy.repository.id, day=today, state="reserved"))
        session.add(spend_row("old", run.id, 5 * MICRO, repository_id=busy.repository.id, day=week_ago))
    async with signed_in(story, "rita") as rita:
        longer = await rita.open(f"{SHOP}/costs")
        costs = await rita.open(f"{SHOP}/costs?days=7")
        metrics = await rita.open(f"{SHOP}/metrics?weeks=4")
        odd = [await rita.open(f"{SHOP}/costs?days=%00"), await rita.open(f"{SHOP}/metrics?weeks=9999999")]
    async with signed_in(story, "stranger") as stranger:
        hidden = [await stranger.open(f"{SHOP}/{page}") for page in ("costs", "metrics")]
    assert "4.00 USD in 7 days." in costs.text
    assert week_ago not in costs.text
    assert "9.00 USD in 30 days." in longer.text
    assert f"{week_ago} 1 1,000 500 100 0.00 USD 5.00 USD" in longer.text
    assert "this day (UTC) 0.00 USD 4.00 USD 196.00 USD 200.00 USD" in costs.text
    assert "Review of #1" in costs.text
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
