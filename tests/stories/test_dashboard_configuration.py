"""What the dashboard shows of the level and the configuration, and where another one is written."""

from pathlib import Path

from agents.llm.scripted import ScriptedModel
from tests.databases import create_database, drop_database
from tests.stories.driver import Story, open_story
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
    assert "0 completed runs of merged pull requests, at least 50 needed not yet" in before.text
    assert "It never changed." in before.text
    assert "Automation level 2 acts" in after.text
    assert "1 → 2 dora dora set level 2" in after.text


async def test_the_configuration_says_where_each_value_comes_from(story: Story) -> None:
    text = "preset: production\nladder:\n  pinned: 0\nreview:\n  max_comments: 7  # few\n"
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: text})
    story.github.grant(repository, story.github.user("rita"), "read")
    async with signed_in(story, "rita") as rita:
        shown = await rita.open(f"{SHOP}/configuration")
        level, overview, listed = await rita.open(f"{SHOP}/level"), await rita.open(SHOP), await rita.open()
    assert "Automation level 0" in level.text
    assert "Automation level 0 of 4" in overview.text
    assert '<td class="number" data-label="Level">0</td>' in listed.html
    assert "7 this repository's file" in shown.text
    assert "The highest level that Forge may reach, 0 to 4. 2 preset" in shown.text
    assert "default" in shown.text


async def test_values_of_files_that_one_may_not_read_are_not_shown(story: Story) -> None:
    """Only where they come from: to who may read the organisation's file, or push here, all is shown."""
    text = "preset: aggressive\nreview:\n  max_comments: 4\npaths:\n  protected: ['secret-plans/**']\n"
    above = story.github.create_repository("octo-org/.github", files={FILE: text}, private=True)
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: "review:\n  drafts: true\n"})
    story.github.install(above)
    rita_user = story.github.user("rita")
    story.github.grant(repository, rita_user, "read")
    async with signed_in(story, "rita") as rita, signed_in(story, "alice") as alice:
        hidden = await rita.open(f"{SHOP}/configuration")
        writer = await alice.open(f"{SHOP}/configuration")
        story.github.grant(above, rita_user, "read")
        reader = await rita.open(f"{SHOP}/configuration")
    why = "not shown: the organisation's file is in a repository that you may not read organisation's file"
    assert why in hidden.text
    for kept in ("secret-plans", '"aggressive"', "500 preset", "100 preset"):
        assert kept not in hidden.text
    assert "true this repository's file" in hidden.text
    for page in (writer, reader):
        assert '["secret-plans/**"] organisation\'s file' in page.text
        assert '"aggressive" organisation\'s file' in page.text
        assert "4 organisation's file" in page.text
        assert "not shown" not in page.text
    assert not repository.pulls()


async def test_what_the_operator_allows_is_shown_to_who_may_push(tmp_path: Path) -> None:
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, ceiling_run="3.25") as story:
        repository, _ = story.repository({"README.md": "# Shop\n"})
        story.github.grant(repository, story.github.user("rita"), "read")
        async with signed_in(story, "rita") as rita, signed_in(story, "alice") as alice:
            reader = await rita.open(f"{SHOP}/configuration")
            writer = await alice.open(f"{SHOP}/configuration")
    drop_database(url)
    assert "3.25" not in reader.text
    assert "not shown: the operator sets it, which takes the role write here operator's ceiling" in reader.text
    assert "3.25 the files say 50" in writer.text


async def test_mistakes_of_the_file_are_shown(story: Story) -> None:
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: "review:\n  max_coments: 7\n"})
    story.github.grant(repository, story.github.user("rita"), "read")
    async with signed_in(story, "rita") as rita:
        shown = await rita.open(f"{SHOP}/configuration")
    assert "Line 2: review.max_coments is not a key here. Did you mean max_comments ?" in shown.text
    assert "the preset conservative applies" in shown.text


async def test_who_may_push_is_led_to_the_editor_of_github(story: Story) -> None:
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: "review:\n  drafts: true\n"})
    empty = story.github.create_repository("octo-org/empty", files={"README.md": "# Empty\n"})
    story.github.install(empty)
    for each in (repository, empty):
        story.github.grant(each, story.github.user("alice"), "write")
    async with signed_in(story, "alice") as alice, signed_in(story, "rita") as rita:
        change = await alice.open(f"{SHOP}/configuration")
        write = await alice.open("/dashboard/octo-org/empty/configuration")
        reader = await rita.open(f"{SHOP}/configuration")
    assert '/octo-org/shop/edit/main/.github/forge.yml"' in change.html
    assert '/octo-org/empty/new/main?filename=.github/forge.yml"' in write.html
    assert "Change it on GitHub" not in reader.text
