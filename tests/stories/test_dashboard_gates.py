"""What the dashboard shows of gates: what waits, for whom, where it is decided, and how it was."""

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.dashboard import fill_repository, signed_in

SHOP = "/dashboard/octo-org/shop"


async def test_a_gate_that_waits_leads_to_where_it_is_decided(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
    busy = await fill_repository(story, model)
    [asked] = story.questions(busy.waiting)
    async with signed_in(story, "rita") as rita, signed_in(story, "stranger") as stranger:
        shown, everywhere = await rita.open(f"{SHOP}/gates"), await rita.open("/dashboard/gates")
        assert (await stranger.open(f"{SHOP}/gates")).status == 404
        assert "No gate waits in a repository that you may read." in (await stranger.open("/dashboard/gates")).text
        decided_at = f"{story.github.url}/octo-org/shop/pull/{busy.waiting.number}#issuecomment-{asked.id}"
        for page in (shown, everywhere):
            assert f'<a href="{decided_at}" rel="external">' in page.html
            assert "This changes protected files" in page.text
            assert "Anyone with the role maintain or above, but not the author of the change." in page.text
        assert "octo-org/shop" in everywhere.text
        assert "No gate was decided here yet." in shown.text
        story.github.revoke(busy.repository, story.github.user("rita"))
        assert (await rita.open(f"{SHOP}/gates")).status == 404
        assert "This changes protected files" not in (await rita.open("/dashboard/gates")).text


async def test_a_decided_gate_says_who_and_why(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
    busy = await fill_repository(story, model)
    await story.github.user("dora").comment(
        busy.waiting, "/forge approve with: only for now <img src=x onerror=alert(1)>"
    )
    await story.settle()
    story.pass_over(busy.waiting)
    async with signed_in(story, "rita") as rita:
        shown, overview = await rita.open(f"{SHOP}/gates"), await rita.open(SHOP)
    assert "Gates that wait 0 Your role" in overview.text
    assert "No gate waits here." in shown.text
    assert "Approved by dora" in shown.text
    assert "only for now <img src=x" in shown.text
    assert "<img" not in shown.html
