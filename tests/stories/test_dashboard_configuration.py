"""What the dashboard shows of the level and the configuration, and the form that proposes another one."""

import re
from pathlib import Path

from agents.llm.scripted import ScriptedModel
from tests.databases import create_database, drop_database
from tests.stories.driver import Story, open_story
from tests.world.dashboard import SeenPage, fill_repository, signed_in

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
    assert "The highest level Forge may reach. 2 preset" in shown.text
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


KEPT = "# What we agreed on\nreview:\n  max_comments: 7  # few\n  drafts: true\n\npaths:\n  protected:\n    - 'db/**'  # dora's\n"


def read_hidden(page: SeenPage) -> dict[str, str]:
    """The version of the file, and the id of the form."""
    return dict(re.findall(r'<input type="hidden" name="(base|form)" value="([^"]*)">', page.html))


async def test_a_form_makes_the_pull_request(story: Story) -> None:
    """Once, with comments and order as they were, and the name of who asked."""
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: KEPT})
    story.github.grant(repository, story.github.user("alice"), "maintain")
    story.github.grant(repository, story.github.user("dora"), "admin")
    async with signed_in(story, "alice") as alice:
        shown = await alice.open(f"{SHOP}/configuration/change")
        fields = {**read_hidden(shown), "value:review.max_comments": "9", "value:review.drafts": "true"}
        fields |= {"value:budgets.day": "abc", "value:paths.protected": "db/**\r\nweb/**"}
        wrong = await alice.send(f"{SHOP}/configuration/change", do="propose", **fields)
        fields["value:budgets.day"] = "20"
        checked = await alice.send(f"{SHOP}/configuration/change", do="check", **fields)
        sent = await alice.send(f"{SHOP}/configuration/change", do="propose", **fields)
        again = await alice.send(f"{SHOP}/configuration/change", do="propose", **fields)
    async with signed_in(story, "dora") as dora:
        led = await dora.open(sent.address)
    assert "The change is proposed" in sent.text
    assert "The change is proposed" not in led.text  # a link may name any pull request, and praise it as Forge's
    assert "budgets.day is the text abc . Allowed: a number from 0 to 100,000." in wrong.text
    assert 'value="abc"' in wrong.html
    assert 'value="9"' in wrong.html
    assert "There is no mistake in it. Nothing was sent yet." in checked.text
    assert "review.max_comments 7 9" in checked.text
    assert sent.address == again.address == f"{SHOP}/configuration?proposed=1"
    [pull] = repository.pulls()
    await story.settle()
    await story.github.user("alice").comment(pull, "/forge approve protected_paths")
    await story.settle()
    assert "author" in story.answers(pull)[-1].body
    story.pass_over(pull)
    assert "`alice` asked for this on the dashboard." in (pull.body or "")
    content = repository.git.read(pull.head_sha, FILE)
    assert content is not None
    assert content.decode() == KEPT.replace("7  # few", "9  # few").replace("dora's\n", "dora's\n    - web/**\n") + (
        "budgets:\n  day: 20\n"
    )


async def test_line_ends_of_a_file_stay_as_they_are(story: Story) -> None:
    """Browsers send others than the file may have; changing all of them would hide what was changed."""
    was = "review:\r\n  max_comments: 7\r\n"
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: was})
    story.github.grant(repository, story.github.user("alice"), "maintain")
    async with signed_in(story, "alice") as alice:
        fields = read_hidden(await alice.open(f"{SHOP}/configuration/text"))
        same = await alice.send(f"{SHOP}/configuration/text", do="propose", text=was, **fields)
        await alice.send(f"{SHOP}/configuration/text", do="propose", text=was.replace("7", "9"), **fields)
    assert "This changes nothing." in same.text
    [pull] = repository.pulls()
    assert repository.git.read(pull.head_sha, FILE) == was.replace("7", "9").encode()
    await story.settle()
    story.pass_over(pull)


async def test_a_change_meanwhile_and_a_lost_role_are_seen(story: Story) -> None:
    repository, bob = story.repository({"README.md": "# Shop\n", FILE: KEPT})
    alice_user = story.github.user("alice")
    story.github.grant(repository, alice_user, "write")
    async with signed_in(story, "alice") as alice, signed_in(story, "stranger") as stranger:
        fields = read_hidden(await alice.open(f"{SHOP}/configuration/text"))
        text = "review: {max_comments: 3}\n"
        await bob.push(repository, "main", {FILE: "review:\n  max_comments: 1\n"})
        late = await alice.send(f"{SHOP}/configuration/text", do="propose", text=text, **fields)
        broken = await alice.send(
            f"{SHOP}/configuration/text", do="propose", text="review: [<img>\n", **read_hidden(late)
        )
        assert (await stranger.open(f"{SHOP}/configuration/text")).status == 404
        story.github.grant(repository, alice_user, "read")
        lost = await alice.send(f"{SHOP}/configuration/text", do="propose", text=text, **read_hidden(late))
        typed = {"value:review.max_comments": "9", "value:paths.protected": "db/**\nweb/**"}
        fields = await alice.send(f"{SHOP}/configuration/change", do="propose", **typed, **read_hidden(late))
        story.github.grant(repository, alice_user, "write")
        again = await alice.send(f"{SHOP}/configuration/text", do="check", text=text, **read_hidden(lost))
    assert "was changed on the default branch since this form was opened" in late.text
    assert "max_comments: 3" in late.text
    assert "There is a mistake in what you entered. Nothing was sent." in broken.text
    assert "review: [&lt;img&gt;" in broken.html
    for kept in (lost, fields):
        assert kept.status == 403
        assert "This takes the role write; you have read now. Ask somebody who has it." in kept.text
    assert "review: {max_comments: 3}" in lost.text
    assert 'value="9"' in fields.html
    assert "db/** web/**" in fields.text
    assert "Holds now" not in fields.text
    assert "There is no mistake in it. Nothing was sent yet." in again.text
    assert not repository.pulls()
