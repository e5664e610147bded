"""The thumbs that people gave to Forge's comments, read when the pull request is closed."""

from agents.llm.scripted import ScriptedModel
from domain.events import Event, EventType
from memory.learned import memories
from memory.ledger import ledger
from simulator import User
from simulator.state import PullRequest, ReviewComment
from tests.stories.driver import Story
from tests.stories.test_recalling import MEMORY_ID, teach
from tests.world.model_findings import PAY, claim, find_division


async def _open_reviewed(read: Story, model: ScriptedModel) -> tuple[User, User, PullRequest, ReviewComment]:
    """A pull request of alice's with one finding that a memory led to, and carol, who may write."""
    repository, alice = read.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol = read.github.user("carol")
    read.github.grant(repository, carol, "write")
    shown = (await teach(read, repository)).short_id
    find_division(model)
    model.when("len(prices)", {"findings": [{**claim(), "message": f"Totals of nothing are 0 here ({shown})."}]})
    await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Add totals")
    await read.settle()
    [comment] = read.comments(pull)
    return alice, carol, pull, comment


async def _list_reactions(read: Story) -> list[Event]:
    events = [
        event for run in await read.runs() for event in await ledger.load_events(read.forge.services.database, run.id)
    ]
    return [event for event in events if event.type is EventType.feedback_reacted]


async def _confidence(read: Story) -> float:
    found = await memories.find(read.forge.services.database, MEMORY_ID)
    assert found is not None
    return found.confidence


def _list_requests(read: Story) -> list[str]:
    """What was read about reactions, and who may teach."""
    ends = ("/pulls/1/comments", "/reactions", "/collaborators")
    return [each.path for each in read.github.requests if each.method == "GET" and each.path.endswith(ends)]


async def test_a_thumb_down_of_who_may_teach_counts_once(read: Story, model: ScriptedModel) -> None:
    """A stranger's and the author's do not; nothing is dismissed by it."""
    alice, carol, pull, comment = await _open_reviewed(read, model)
    for person in (alice, carol, read.github.user("mallory")):
        await person.react(comment, "-1")
    await carol.react(comment, "heart")
    await carol.merge(pull)
    await read.settle()
    [event] = await _list_reactions(read)
    payload = event.payload
    assert (payload["by"], payload["content"], payload["comment"]) == ("carol", "-1", comment.id)
    assert payload["finding"] in comment.body
    assert await _confidence(read) == 0.5
    assert not comment.thread.resolved
    assert read.thread_answers(pull, comment) == []


async def test_closed_again_it_is_still_the_same_thumb(read: Story, model: ScriptedModel) -> None:
    """Of a run that came later, too; where GitHub does not tell, the next time makes up for it."""
    alice, carol, pull, comment = await _open_reviewed(read, model)
    await carol.react(comment, "-1")
    read.github.faults.add(kind="before", path="/reactions", status=403, message="Resource not accessible")
    await alice.close(pull)
    await read.settle()
    assert await _list_reactions(read) == []
    for _ in range(2):
        await alice.reopen(pull)
        await read.settle()
        await alice.close(pull)
        await read.settle()
    assert [event.payload["content"] for event in await _list_reactions(read)] == ["-1"]
    assert await _confidence(read) == 0.5

    await carol.react(comment, "+1")  # she thinks again
    await alice.reopen(pull)
    await read.settle()
    await alice.close(pull)
    await read.settle()
    assert {event.payload["content"] for event in await _list_reactions(read)} == {"-1", "+1"}
    assert await _confidence(read) == 0.5  # agreement without words makes nothing surer
    read.comments(pull)


async def test_a_dismissed_finding_is_not_doubted_twice(read: Story, model: ScriptedModel) -> None:
    _, carol, pull, comment = await _open_reviewed(read, model)
    await carol.reply(comment, "/forge dismiss not any more")
    await read.settle()
    await carol.react(comment, "-1")
    await carol.merge(pull)
    await read.settle()
    assert len(await _list_reactions(read)) == 1
    assert await _confidence(read) == 0.5
    read.thread_answers(pull, comment)
    read.questions(pull)


async def test_an_authors_thumb_asks_for_no_roles(read: Story, model: ScriptedModel) -> None:
    alice, carol, pull, comment = await _open_reviewed(read, model)
    await alice.react(comment, "+1")
    await carol.merge(pull)
    await read.settle()
    assert await _list_reactions(read) == []
    assert not [path for path in _list_requests(read) if path.endswith("/collaborators")]


async def test_without_a_comment_of_forge_nothing_is_asked(told: Story) -> None:
    repository, alice = told.repository({"README.md": "# Shop\n"})
    await alice.push(repository, "feature", {"README.md": "# The shop\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Name it")
    await told.settle()
    assert told.comments(pull) == []
    before = len(_list_requests(told))
    await alice.merge(pull)
    await told.settle()
    assert len(_list_requests(told)) == before
