"""Issues, what is said below them, and what people do with them, end to end against the simulator."""

import pytest

from domain.errors import Forbidden, NotFound, Unavailable
from domain.github.commits import AN_APP
from simulator import conversation, reviews
from simulator.errors import Refusal
from simulator.webhooks import Actor
from tests.contract.stage import Stage


async def test_an_issue_as_it_is_at_this_moment(stage: Stage) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "Slow", "Since Monday", labels=["bug", "forge"])
    found = await stage.host.issue(stage.repository, issue.number)
    assert (found.number, found.title, found.body, found.labels) == (2, "Slow", "Since Monday", ("bug", "forge"))
    assert (found.author_id, found.author_login, found.author_association) == (stage.ann.id, "ann", "COLLABORATOR")
    assert (found.is_open, found.is_pull_request) == (True, False)
    await stage.ann.edit(issue, title="Very slow", body="")
    await stage.ann.unlabel(issue, "forge")
    await stage.ann.close(issue)
    found = await stage.host.issue(stage.repository, issue.number)
    assert (found.title, found.body, found.labels, found.is_open) == ("Very slow", "", ("bug",), False)
    await stage.ann.reopen(issue)
    assert (await stage.host.issue(stage.repository, issue.number)).is_open


async def test_an_issue_without_a_description_has_an_empty_one(stage: Stage) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "Slow")
    assert (await stage.host.issue(stage.repository, issue.number)).body == ""


async def test_a_pull_request_is_told_from_an_issue(stage: Stage) -> None:
    assert (await stage.host.issue(stage.repository, stage.pull.number)).is_pull_request


async def test_comments_are_listed_over_all_pages_oldest_first(stage: Stage) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "Slow")
    assert await stage.host.issue_comments(stage.repository, issue.number) == []
    for number in range(230):
        await stage.ann.comment(issue, f"{number}")
    found = await stage.host.issue_comments(stage.repository, issue.number)
    assert [one.body for one in found] == [f"{number}" for number in range(230)]
    assert {(one.author_id, one.author_login, one.is_app) for one in found} == {(stage.ann.id, "ann", False)}


async def test_part_of_the_comments_is_not_taken_for_all(stage: Stage) -> None:
    for number in range(120):
        await stage.ann.comment(stage.pull, f"{number}")
    fault = stage.sim.faults.add(kind="reset", path="/comments", skip=1, times=2)
    assert len(await stage.host.issue_comments(stage.repository, 1)) == 120
    assert fault.fired == 2
    stage.sim.faults.add(kind="before", path="/comments", skip=1, times=None)
    with pytest.raises(Unavailable):
        await stage.host.issue_comments(stage.repository, 1)


async def test_who_wrote_a_comment_and_whether_it_was_changed(stage: Stage) -> None:
    await stage.host.create_comment(stage.repository, 1, "What is meant?")
    human = await stage.ann.comment(stage.pull, "The shelf")
    written_at = stage.clock.now()
    stage.clock.advance(seconds=60)
    bea = stage.sim.user("bea")
    stage.sim.grant(stage.shelf, bea, "write")
    await bea.edit_comment(human, "The cupboard")
    await bea.react(stage.pull.comments[0], "eyes")
    by_app, by_ann = await stage.host.issue_comments(stage.repository, 1)
    assert (by_app.is_app, by_app.is_edited, by_app.author_id) == (True, False, stage.sim.app.bot.id)
    assert (by_ann.is_app, by_ann.is_edited, by_ann.author_id) == (False, True, stage.ann.id)
    assert (by_ann.body, by_ann.created_at, by_ann.id) == ("The cupboard", written_at, human.id)


async def test_who_edited_what_others_wrote(stage: Stage) -> None:
    """Of each text over all pages, with its writing; of the title only the changes."""
    bea = stage.sim.user("bea")
    stage.sim.grant(stage.shelf, bea, "write")
    issue = await stage.ann.open_issue(stage.shelf, "Slow", "Since Monday")
    said = await stage.ann.comment(issue, "The shelf")
    await stage.ann.comment(issue, "The door")
    remark = await stage.ann.comment_on_line(stage.pull, "a.py", 1, "Why?")
    review = await stage.ann.review(stage.pull, "COMMENT", "Well.")
    stage.clock.advance(seconds=60)
    await bea.edit_comment(said, "The cupboard")
    await bea.edit_comment(remark, "Why not?")
    await bea.edit(issue, title="Very slow")
    await bea.edit(stage.pull, title="Faster")
    reviews.edit_review(stage.sim.world, review, bea.actor, "Well, well.")
    for number in range(120):
        stage.clock.advance(seconds=1)
        await stage.ann.edit(issue, body=f"Since {number}")
    listed = await stage.host.issue_comments(stage.repository, issue.number)
    texts = [(await stage.host.issue(stage.repository, issue.number)).node_id, *(one.node_id for one in listed)]
    pull, review_id = (await stage.host.issue(stage.repository, stage.pull.number)).node_id, f"PRR_{review.id}"
    found = await stage.host.text_edits(stage.repository, [*texts, f"PRRC_{remark.id}", pull, review_id])
    assert {each.by_id for each in found[pull]} == {bea.id}
    assert {each.by_id for each in found[review_id]} == {stage.ann.id, bea.id}
    assert [len(found[text]) for text in texts] == [1 + 120 + 1, 2, 0]
    for text in (texts[0], texts[1], f"PRRC_{remark.id}"):
        assert {each.by_id for each in found[text]} == {stage.ann.id, bea.id}
    assert max(each.at for each in found[texts[0]]) == stage.clock.now()


async def test_what_an_app_edited_and_what_is_not_listed_may_be_of_anybody(stage: Stage) -> None:
    pull = (await stage.host.issue(stage.repository, stage.pull.number)).node_id
    await stage.ann.edit(stage.pull, title="Faster")
    stage.clock.advance(seconds=1)
    bot = stage.sim.app.bot
    conversation.edit_issue(stage.sim.world, stage.pull, Actor(bot), "Much faster", None)
    found = (await stage.host.text_edits(stage.repository, [pull]))[pull]
    assert {(each.by_id, each.writer) for each in found} == {(stage.ann.id, stage.ann.id), (bot.id, AN_APP)}
    for number in range(100):
        await stage.ann.edit(stage.pull, title=f"Faster {number}")
    found = (await stage.host.text_edits(stage.repository, [pull]))[pull]
    assert {(each.by_id, each.writer) for each in found} == {(stage.ann.id, stage.ann.id), (None, AN_APP)}


async def test_what_is_not_there_or_hidden(stage: Stage) -> None:
    for ask in (stage.host.issue, stage.host.issue_comments):
        with pytest.raises(NotFound):
            await ask(stage.repository, 99)
    issue = await stage.ann.open_issue(stage.shelf, "Slow")
    stage.take_permissions(issues=None)
    for ask in (stage.host.issue, stage.host.issue_comments):
        with pytest.raises(Forbidden):
            await ask(stage.repository, issue.number)
        await ask(stage.repository, stage.pull.number)  # for which the other permission serves


async def test_a_repository_that_was_renamed_and_one_that_took_its_name(stage: Stage) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "Slow")
    await stage.ann.comment(issue, "Since Monday")
    old = stage.repository
    stage.sim.rename(stage.shelf, "cupboard")
    assert (await stage.host.issue(old, issue.number)).title == "Slow"
    assert len(await stage.host.issue_comments(old, issue.number)) == 1
    other = stage.sim.create_repository("acme/shelf", {"a.py": ""})
    stage.sim.install(other)
    for title in ("One", "Two"):
        await stage.ann.comment(await stage.ann.open_issue(other, title), "Theirs")
    for ask in (stage.host.issue, stage.host.issue_comments):
        with pytest.raises(NotFound, match="another repository now"):
            await ask(old, issue.number)


async def test_everything_that_happens_to_an_issue_is_announced(stage: Stage) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "Slow", "Since Monday", labels=["forge"])
    stage.clock.advance(seconds=60)
    await stage.ann.edit(issue, title="Very slow")
    await stage.ann.unlabel(issue, "forge")
    await stage.ann.close(issue)
    await stage.ann.reopen(issue)
    await stage.ann.close(issue)
    told = [one.payload for one in stage.sim.deliveries if one.event == "issues"]
    actions = ["opened", "labeled", "edited", "unlabeled", "closed", "reopened", "closed"]
    assert [one["action"] for one in told] == actions
    assert {one["issue"]["number"] for one in told} == {issue.number}
    assert {one["sender"]["id"] for one in told} == {stage.ann.id}
    assert (told[1]["label"]["name"], told[2]["changes"]) == ("forge", {"title": {"from": "Slow"}})
    assert [one["issue"]["state"] for one in told[-3:]] == ["closed", "open", "closed"]
    assert (told[-1]["repository"]["id"], told[-1]["installation"]["id"]) == (stage.shelf.id, stage.installation.id)


async def test_who_may_only_read_changes_nothing_of_another(stage: Stage) -> None:
    eve = stage.sim.user("eve")
    stage.sim.grant(stage.shelf, eve, "read")
    issue = await stage.ann.open_issue(stage.shelf, "Slow")
    for change in (eve.edit(issue, title="Fast"), eve.label(issue, "forge"), eve.close(issue), eve.reopen(issue)):
        with pytest.raises(PermissionError):
            await change
    own = await eve.open_issue(stage.shelf, "Mine")
    await eve.edit(own, title="Still mine")
    await eve.close(own)
    await eve.reopen(own)
    assert (issue.title, issue.state, own.title, own.state) == ("Slow", "open", "Still mine", "open")


@pytest.mark.parametrize("title", ["", " ", "x" * 257])
async def test_a_title_that_github_does_not_take(stage: Stage, title: str) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "x" * 256)
    with pytest.raises(Refusal, match="title"):
        await stage.ann.open_issue(stage.shelf, title)
    with pytest.raises(Refusal, match="title"):
        await stage.ann.edit(issue, title=title)


async def test_the_apps_own_issue_is_found_by_its_marker(stage: Stage) -> None:
    before = stage.clock.now()
    marker = "<!-- forge:production:1 -->"
    assert await stage.host.find_own_issue(stage.repository, marker, before) is None
    await stage.ann.open_issue(stage.shelf, "Mine", f"I copied {marker}")
    number = await stage.host.create_issue(stage.repository, "Production: no", f"It fails.\n\n{marker}", ["new", "bug"])
    second = await stage.host.create_issue(stage.repository, "Production: no", f"Again.\n\n{marker}", [])
    assert await stage.host.find_own_issue(stage.repository, marker, before) == number < second
    shown = await stage.host.issue(stage.repository, number)
    assert (shown.title, shown.labels, shown.is_open, shown.closed_at) == ("Production: no", ("new", "bug"), True, None)
    stage.sim.grant(stage.shelf, stage.ann, "maintain")
    await stage.ann.close(stage.shelf.issues[number])
    assert await stage.host.find_own_issue(stage.repository, marker, before) == number
    closed = await stage.host.issue(stage.repository, number)
    assert closed.closed_at is not None
