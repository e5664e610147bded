"""The thumbs that people gave to Forge's comments, read when the pull request is closed."""

from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from domain.events import Event, EventType
from memory import ledger
from memory.learned import memories
from simulator import User
from simulator.state import PullRequest, ReviewComment
from tests.stories.driver import Story
from tests.world.memories import MEMORY_ID, teach
from tests.world.model_findings import PAY, claim, find_division
from tests.world.replies import first_lines


async def _open_reviewed(story: Story, model: ScriptedModel) -> tuple[User, User, PullRequest, ReviewComment]:
    """A pull request of alice's with one finding that a memory led to, and carol, who may write."""
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol = story.member(repository, "carol", "write")
    shown = (await teach(story, repository)).short_id
    find_division(model)
    model.when("len(prices)", {"findings": [{**claim(), "message": f"Totals of nothing are 0 here ({shown})."}]})
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    [comment] = story.comments(pull)
    return alice, carol, pull, comment


async def _list_reactions(story: Story) -> list[Event]:
    events = [
        event for run in await story.runs() for event in await ledger.load_events(story.forge.services.database, run.id)
    ]
    return [event for event in events if event.type is EventType.feedback_reacted]


async def _confidence(story: Story) -> float:
    found = await memories.find(story.forge.services.database, MEMORY_ID)
    assert found is not None
    return found.confidence


def _list_requests(story: Story) -> list[str]:
    """What was read about reactions, and who may teach."""
    ends = ("/pulls/1/comments", "/reactions", "/collaborators")
    return [each.path for each in story.github.requests if each.method == "GET" and each.path.endswith(ends)]


async def test_a_thumb_down_of_who_may_teach_counts_once(story: Story, model: ScriptedModel) -> None:
    """A stranger's and the author's do not; nothing is dismissed by it."""
    alice, carol, pull, comment = await _open_reviewed(story, model)
    for person in (alice, carol, story.github.user("mallory")):
        await person.react(comment, "-1")
    await carol.react(comment, "heart")
    await story.after(carol.merge(pull))
    [event] = await _list_reactions(story)
    payload = event.payload
    assert (payload["by"], payload["content"], payload["comment"]) == ("carol", "-1", comment.id)
    assert payload["finding"] in comment.body
    assert await _confidence(story) == 0.5
    assert not comment.thread.resolved
    assert story.thread_answers(pull, comment) == []


async def test_closed_again_it_is_still_the_same_thumb(story: Story, model: ScriptedModel) -> None:
    """Of a run that came later, too; where GitHub does not tell, the next time makes up for it."""
    alice, carol, pull, comment = await _open_reviewed(story, model)
    await carol.react(comment, "-1")
    story.github.faults.add(kind="before", path="/reactions", status=403, message="Resource not accessible")
    await story.after(alice.close(pull))
    assert await _list_reactions(story) == []
    for _ in range(2):
        await story.after(alice.reopen(pull))
        await story.after(alice.close(pull))
    assert [event.payload["content"] for event in await _list_reactions(story)] == ["-1"]
    assert await _confidence(story) == 0.5

    await carol.react(comment, "+1")  # she thinks again
    await story.after(alice.reopen(pull))
    await story.after(alice.close(pull))
    assert {event.payload["content"] for event in await _list_reactions(story)} == {"-1", "+1"}
    assert await _confidence(story) == 0.5  # agreement without words makes nothing surer
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])


async def test_a_dismissed_finding_is_not_doubted_twice(story: Story, model: ScriptedModel) -> None:
    _, carol, pull, comment = await _open_reviewed(story, model)
    await story.after(carol.reply(comment, "/forge dismiss not any more"))
    await carol.react(comment, "-1")
    await story.after(carol.merge(pull))
    assert len(await _list_reactions(story)) == 1
    assert await _confidence(story) == 0.5
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["**F-OZQFDT** is dismissed: not any more. Forge does not raise it again here, no…"]
    )
    assert first_lines(story.questions(pull)) == snapshot(
        ["**human_review: Void: there is nothing left to decide** · G-ID · head `SHA` · i…"]
    )


async def test_an_authors_thumb_asks_for_no_roles(story: Story, model: ScriptedModel) -> None:
    alice, carol, pull, comment = await _open_reviewed(story, model)
    await alice.react(comment, "+1")
    await story.after(carol.merge(pull))
    assert await _list_reactions(story) == []
    assert not [path for path in _list_requests(story) if path.endswith("/collaborators")]


async def test_without_a_comment_of_forge_nothing_is_asked(story: Story) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n"})
    pull, _ = await story.propose(repository, alice, {"README.md": "# The shop\n"}, title="Name it")
    assert story.comments(pull) == []
    before = len(_list_requests(story))
    await story.after(alice.merge(pull))
    assert len(_list_requests(story)) == before
