"""When the dashboard's form for the configuration makes no pull request, says why, and keeps what was typed."""

import re
from pathlib import Path

import httpx2
import pytest

from bot.cli import halt
from simulator.state import Repository
from tests.chaos.driver import Point, stage
from tests.stories.driver import Story
from tests.world.dashboard import SeenPage, Visitor, signed_in

SHOP = "/dashboard/octo-org/shop"
FORM, TEXT = f"{SHOP}/configuration/change", f"{SHOP}/configuration/text"
FILE = ".github/forge.yml"
KEPT = "review:\n  max_comments: 7  # few\n"


def read_hidden(page: SeenPage) -> dict[str, str]:
    """The version of the file, and the id of the form."""
    return dict(re.findall(r'<input type="hidden" name="(base|form)" value="([^"]*)">', page.html))


async def open_form(story: Story, person: Visitor) -> dict[str, str]:
    """The fields of the form, with one that was changed."""
    return {**read_hidden(await person.open(FORM)), "value:review.max_comments": "9"}


def prepare(story: Story) -> Repository:
    """A repository that dora administers and to which alice may write."""
    repository, _ = story.repository({"README.md": "# Shop\n", FILE: KEPT})
    story.github.grant(repository, story.github.user("dora"), "admin")
    return repository


def list_forge_branches(repository: Repository) -> list[str]:
    """The branches that Forge pushed."""
    listed = repository.git.run("for-each-ref", "--format=%(refname:short)", "refs/heads/forge").stdout.decode()
    return listed.split()


async def test_while_forge_is_halted_paused_or_at_level_0_nothing_is_sent(story: Story) -> None:
    repository = prepare(story)
    pull = await story.github.user("alice").open_issue(repository, "Talk here", "")
    settings = story.forge.settings
    async with signed_in(story, "alice") as alice:
        fields = await open_form(story, alice)
        await halt.halt(settings, "prices look wrong")
        halted = await alice.send(FORM, do="propose", **fields)
        await halt.resume(settings)
        answers: dict[str, SeenPage] = {}
        for command, back in (("/forge pause", "/forge unpause"), ("/forge level 0", "/forge level 1")):
            await story.github.user("dora").comment(pull, command)
            await story.settle()
            answers[command] = await alice.send(FORM, do="propose", **fields)
            await story.github.user("dora").comment(pull, back)
            await story.settle()
        assert not repository.pulls()
        assert not list_forge_branches(repository)
        sent = await alice.send(FORM, do="propose", **fields)
    assert "No pull request was made: the operator halted Forge." in halted.text
    assert "dora paused Forge here, so it opens no pull request." in answers["/forge pause"].text
    assert "at which Forge opens no pull request" in answers["/forge level 0"].text
    for each in (halted, *answers.values()):
        assert each.status == 200
        assert 'value="9"' in each.html
        assert read_hidden(each)["form"] == fields["form"]
    assert "?proposed=" in sent.address
    assert len(repository.pulls()) == 1
    await story.settle()
    story.pass_over(pull)
    story.pass_over(repository.pulls()[0])


async def test_a_secret_is_not_sent_anywhere(story: Story) -> None:
    repository = prepare(story)
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    async with signed_in(story, "alice") as alice:
        hidden = read_hidden(await alice.open(TEXT))
        as_text = await alice.send(TEXT, do="propose", text=f"{KEPT}# {token}\n", **hidden)
        checked = await alice.send(TEXT, do="check", text=f"{KEPT}# {token}\n", **hidden)
        in_field = await alice.send(FORM, do="propose", **hidden, **{"value:commands.test": f"curl -u x:{token} a"})
    for each in (as_text, checked, in_field):
        assert "looks as if it held a password or a key, so nothing was sent" in each.text
        assert token in each.html  # it is still there to be corrected
        assert "Changed lines" not in each.html
    assert not repository.pulls()
    assert not list_forge_branches(repository)


async def test_a_right_that_was_taken_away_counts_when_the_form_is_sent(story: Story) -> None:
    repository = prepare(story)
    user = story.github.user("alice")
    async with signed_in(story, "alice") as alice:
        fields = await open_form(story, alice)
        story.github.grant(repository, user, "read")
        as_reader = await alice.send(FORM, do="propose", **fields)
        story.github.revoke(repository, user)
        as_stranger = await alice.send(FORM, do="check", **fields)
        story.github.grant(repository, user, "write")
        again = await alice.send(FORM, do="propose", **fields)
    for each in (as_reader, as_stranger):  # the repository is public, so a stranger reads it
        assert (each.status, "This takes the role write; you have read now." in each.text) == (403, True)
    assert "?proposed=" in again.address
    [pull] = repository.pulls()
    await story.settle()
    story.pass_over(pull)


@pytest.mark.parametrize(
    ("where", "moment"),
    [
        pytest.param("on GitHub: POST git-receive-pack", "before", marks=pytest.mark.deep),
        pytest.param("on GitHub: POST git-receive-pack", "took effect", marks=pytest.mark.deep),
        pytest.param("on GitHub: POST pulls", "before", marks=pytest.mark.deep),
        ("on GitHub: POST pulls", "took effect"),
    ],
)
async def test_a_process_that_is_killed_makes_it_once(where: str, moment: str, tmp_path: Path) -> None:
    """Its page is lost with it; the browser sends the same form again."""
    async with stage("sqlite", tmp_path) as there:
        repository = there.github.create_repository("octo-org/shop", files={"README.md": "# Shop\n", FILE: KEPT})
        there.github.install(repository)
        there.github.grant(repository, there.github.user("alice"), "write")
        await there.start()

        def dies(point: Point) -> bool:
            return not there.kills and point.where.endswith(where) and point.moment == moment

        async with signed_in(there, "alice") as alice:
            fields = {**read_hidden(await alice.open(FORM)), "value:review.max_comments": "9"}
            there.begin(None, dies)
            with pytest.raises(httpx2.TransportError):
                await alice.send(FORM, do="propose", **fields)
            await there.settle()
            assert there.kills == 1, there.passed
            sent = await alice.send(FORM, do="propose", **fields)
            again = await alice.send(FORM, do="propose", **fields)
        [pull] = repository.pulls()
        assert sent.address == again.address == f"{SHOP}/configuration?proposed={pull.number}"
        assert len(list_forge_branches(repository)) == 1
        content = repository.git.read(pull.head_sha, FILE)
        assert content == KEPT.replace("7", "9").encode()
        commits = repository.git.run("rev-list", "--count", f"main..{pull.head_sha}").stdout.decode()
        assert commits.strip() == "1"
        await there.settle()
