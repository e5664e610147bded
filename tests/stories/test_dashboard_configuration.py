"""What the dashboard shows of the level and the configuration, and the form that proposes another one."""

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.dashboard import fill_repository, signed_in

SHOP = "/dashboard/octo-org/shop"
FILE = ".github/forge.yml"


async def test_the_level_is_shown_with_the_way_to_the_next(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
    busy = await fill_repository(story, model)
    async with signed_in(story, "rita") as rita:
        before = await rita.open(f"{SHOP}/level")
        await story.github.user("dora").comment(busy.waiting, "/forge level 2")
        await story.settle()
        story.pass_over(busy.waiting)
        after = await rita.open(f"{SHOP}/level")
    assert "Automation level 1 suggests" in before.text
    assert "1 completed runs of at least 50 1 50 not yet" in before.text
    assert "It never changed." in before.text
    assert "Automation level 2 acts" in after.text
    assert "1 → 2 dora dora set level 2" in after.text


async def test_the_configuration_says_where_each_value_comes_from(story: Story) -> None:
    text = "preset: production\nreview:\n  max_comments: 7  # few\n"
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: text})
    story.github.grant(repository, story.github.user("rita"), "read")
    async with signed_in(story, "rita") as rita:
        shown = await rita.open(f"{SHOP}/configuration")
    assert "7 this repository's file" in shown.text
    assert "The highest level Forge may reach. 2 preset" in shown.text
    assert "default" in shown.text


async def test_mistakes_of_the_file_are_shown(story: Story) -> None:
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: "review:\n  max_coments: 7\n"})
    story.github.grant(repository, story.github.user("rita"), "read")
    async with signed_in(story, "rita") as rita:
        shown = await rita.open(f"{SHOP}/configuration")
    assert "Line 2: `review.max_coments` is not a key here. Did you mean `max_comments`?" in shown.text
    assert "the preset `conservative` applies" in shown.text
