"""What became of findings, on the dashboard: dismissed by whom, muted by which memory, fixed or open."""

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.dashboard import HOSTILE, dismiss_finding, fill_repository, signed_in

SHOP = "/dashboard/octo-org/shop"


async def test_readers_see_which_memory_mutes_a_finding(story_with_model: Story, model: ScriptedModel) -> None:
    """From the list to the finding's history and to the memory, which leads back."""
    story = story_with_model
    busy = await fill_repository(story, model)
    async with signed_in(story, "rita") as rita:
        before = await rita.open(f"{SHOP}/findings")
    name = await dismiss_finding(story, busy.found, f"Prices are never empty. {HOSTILE}")
    async with signed_in(story, "rita") as rita:
        listed = await rita.open(f"{SHOP}/findings?outcome=dismissed")
        one = await rita.open(f"{SHOP}/findings/{busy.found.number}/{name}")
        none = await rita.open(f"{SHOP}/findings?outcome=fixed&number={busy.found.number}")
        wrong = await rita.open(f"{SHOP}/findings?number=x&before=%00")
        missing = await rita.open(f"{SHOP}/findings/{busy.waiting.number}/{name}")
    assert f"{name} #{busy.found.number} open error Divides by zero." in before.text
    assert f"{name} #{busy.found.number} dismissed by memory M-" in listed.text
    assert "dismissed by dora: Prices are never empty." in listed.text
    assert "<img" not in listed.html
    assert "it taught memory M-" in one.text
    assert "No finding is like this." in none.text
    assert "x is not the number of a pull request." in wrong.text
    assert (wrong.status, missing.status) == (200, 404)
