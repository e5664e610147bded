"""What people write to Forge without a command and outside of a finding's thread: it answers what it is asked."""

import pytest
from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import Fails, Says, ScriptedModel
from safety.eligibility import COMMENTS_PER_OUTSIDER
from simulator.state import PullRequest
from tests.accounts import list_calls
from tests.stories.driver import Story
from tests.world.issues import open_issue, plan
from tests.world.model_findings import LINE, open_reviewed
from tests.world.replies import bodies, first_lines

MEANT, ASKED = "== reply", "== question"
QUESTION: dict[str, JsonValue] = {"meaning": "question", "has_reason": False, "confidence": 0.9}
OTHER: dict[str, JsonValue] = {"meaning": "other", "has_reason": False, "confidence": 0.9}
ANSWER: dict[str, JsonValue] = {
    "answer": "Nothing calls `total` yet.",
    "places": [{"path": "billing/pay.py", "line": LINE}],
}
STRANGER = "`reader`, only people with the role write may ask Forge for something here."
LOOKED = f"<sub>Looked at `billing/pay.py:{LINE}`"


def quote(text: str) -> str:
    """What GitHub's Quote reply makes of a text: it knows what is shown."""
    shown = text.partition("<!--")[0].replace("\\", "").strip()
    return "".join(f"> {line}\n" for line in shown.splitlines())


def answer(model: ScriptedModel) -> None:
    """Let the model understand the next words as a question, and answer it."""
    model.when(MEANT, QUESTION)
    model.when(ASKED, ANSWER)


async def test_who_quotes_or_mentions_forge_is_answered(story: Story, model: ScriptedModel) -> None:
    _, _, carol, pull, comment = await open_reviewed(story, model)
    name = story.github.app.slug
    answer(model)
    [review] = story.reviews(pull)
    quoted = f"{quote(review.body)}\nWho calls it?"
    for words in (quoted, f"Who of all calls it, @{name.upper()}?", f"@{name}[bot] and now?"):
        await story.after(carol.comment(pull, words))
    told = [each.body for each in story.answers(pull)]
    assert len(told) == 3
    assert all(each.startswith("> ") and "\n\nNothing calls `total` yet." in each and LOOKED in each for each in told)
    meant = [call.content for call in model.calls if MEANT in call.content]
    assert "== comment\n> **Changes requested" in meant[0]
    assert "== quoted from it" in meant[0]
    assert "> Who of all calls it, @reviewer?" in meant[1]
    assert not any("sum(prices)" in each for each in meant)  # who wrote the code has no say in what is a question
    assert told[1].startswith("> Who of all calls it, Forge?")
    await carol.comment(pull, "> Who of all calls it, Forge?\n\nGood question, but is it one?")  # her own
    await carol.comment(pull, f"{quote(told[0].partition('calls it?')[2])}\nAnd who will?")
    await story.after(carol.reply(comment, "Who calls it?"))
    assert len(story.answers(pull)) == 4
    assert LOOKED in story.thread_answers(pull, comment)[0].body
    assert len([call for call in model.calls if "== finding" in call.content and ASKED in call.content]) == 1


async def test_a_mention_is_seen_as_a_command_is(story: Story, model: ScriptedModel) -> None:
    _, alice, carol, pull, comment = await open_reviewed(story, model)
    name, reader = story.github.app.slug, story.github.user("reader")
    answer(model)
    thread = await alice.comment_on_line(pull, "billing/pay.py", 3, "A constant.")
    asked = [
        await carol.comment(pull, f"@{name} who calls it?"),
        await carol.reply(comment, f"@{name} who calls it?"),
        await carol.reply(thread, f"@{name} who uses it?"),
        await reader.comment(pull, f"@{name} who calls it?"),
    ]
    unasked = [await carol.comment(pull, "Who calls it?"), await carol.reply(comment, "Who calls it?")]
    await story.settle()
    story.pass_over(pull)
    assert [[each.content for each in one.reactions] for one in asked] == [["eyes"]] * 4
    assert [one.reactions for one in unasked] == [[], []]


async def test_what_reading_a_mention_costs_is_booked_on_no_review(story: Story, model: ScriptedModel) -> None:
    _, _, carol, pull, comment = await open_reviewed(story, model)
    answer(model)
    await carol.comment(pull, f"Who calls it, @{story.github.app.slug}?")
    await story.after(carol.reply(comment, "Who calls it?"))
    *readings, review = await story.runs()
    assert [each.trigger for each in readings] == ["question", "question"]
    database = story.forge.services.database
    assert [len(await list_calls(database, each.id)) for each in readings] == [1, 1]
    assert not any("hear" in each.step for each in await list_calls(database, review.id))
    story.pass_over(pull)
    assert story.thread_answers(pull, comment)


async def test_what_people_say_to_each_other_is_not_answered(story: Story, model: ScriptedModel) -> None:
    """No model reads it, but for words to Forge that ask nothing."""
    _, alice, carol, pull, comment = await open_reviewed(story, model)
    name, reader = story.github.app.slug, story.github.user("reader")
    before = len(model.calls)
    said = await alice.comment(pull, "Is the total of an empty cart a number at all?")
    for who, words in (
        (carol, f"{quote(said.body)}\nIs it, @alice?"),
        (carol, f"`@{name}` is the name of what wrote that, isn't it?"),
        (carol, f"> > @{name} does that work?\n\n> ok\n\nWhat do you think?"),
        (carol, "> Is the total of an empty cart a number at all?\n\nIs it? I hope so."),
        (carol, "Should we ask somebody?"),
        (reader, f"@{name} what does this do?"),
        (carol, f"Mail me at me@{name}.example, will you?"),
    ):
        await who.comment(pull, words)
    thread = await carol.comment_on_line(pull, "billing/pay.py", 3, "Why a constant?")
    await story.after(alice.reply(thread, "Why not?"))
    assert len(model.calls) == before
    assert first_lines(story.answers(pull)) == [STRANGER]
    model.when(MEANT, OTHER)
    await story.after(carol.comment(pull, f"@{name} thank you! @alice, will you?"))
    assert len(model.calls) == before + 1
    assert len(story.answers(pull)) == 1
    model.when(MEANT, {"meaning": "request", "has_reason": False, "confidence": 0.9})
    [review] = story.reviews(pull)
    await carol.comment(pull, f"{quote(review.body)}\nPlease fix that")
    await story.after(carol.reply(comment, "Please fix it."))
    assert bodies(story.answers(pull))[1:] == snapshot(
        [
            "Words alone start nothing here, so that nothing starts by mistake. `/forge fix F-ID` fixes it in a commit, `/forge do INSTRUCTION` carries something out; `/forge help` lists all commands."
        ]
    )
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            "Words alone start nothing here, so that nothing starts by mistake. `/forge fix F-OZQFDT` fixes it in a commit, `/forge do INSTRUCTION` carries something out; `/forge help` lists all commands."
        ]
    )
    assert len([each for each in model.calls if ASKED in each.content]) == 0

    model.when("== instruction by", {"plan": None, "questions": ["What is the total of nothing?"]})
    await story.after(carol.reply(comment, f"@{name} please mend it"))
    assert "1. What is the total of nothing?" in story.thread_answers(pull, comment)[-1].body
    [asked] = [each.content for each in model.calls if "== instruction by" in each.content]
    assert f"== given at\nbilling/pay.py:{LINE}" in asked
    assert "> please mend it" in asked


async def test_words_to_forge_count_like_its_commands(story: Story, model: ScriptedModel) -> None:
    """Who has no role cannot make Forge look at more comments by leaving the slash away."""
    _, _, _, pull, _ = await open_reviewed(story, model)
    reader = story.github.user("reader")
    for number in range(COMMENTS_PER_OUTSIDER):
        await reader.comment(pull, f"@{story.github.app.slug} what does line {number} do?")
    await story.settle()
    assert len(story.answers(pull)) == 1
    await story.after(reader.comment(pull, "/forge status"))
    assert first_lines(story.answers(pull))[1:] == snapshot(
        ["Nothing was done: 11 comments for Forge within an hour by this account; 10 are…"]
    )


async def test_a_thread_that_forge_answered_in_goes_on(story: Story, model: ScriptedModel) -> None:
    """It answers what follows on its own words there, and leaves the rest to the people in it."""
    _, alice, carol, pull, _ = await open_reviewed(story, model)
    answer(model)
    model.when(MEANT, QUESTION, OTHER)
    thread = await carol.comment_on_line(pull, "billing/pay.py", 3, "Why a constant?")
    await story.after(carol.reply(thread, "/forge ask Who uses this constant?"))
    await story.after(carol.reply(thread, "And the one above?"))
    await alice.reply(thread, "Nobody.")
    await story.after(carol.reply(thread, "Are you sure?"))
    mine = [each for each in thread.thread.comments if each.user is story.github.app.bot]
    assert [LOOKED in each.body for each in mine] == [True, True]
    meant = [call.content for call in model.calls if MEANT in call.content]
    assert "== place\nbilling/pay.py:3" in meant[0]
    assert "> Nobody." in meant[1]
    assert len(meant) == 2  # what follows on words of people is theirs
    story.pass_over(pull)


async def test_a_plan_is_asked_about(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    said = await asked.comment(asked.alice, "/forge plan")
    answer(model)
    [line] = [each for each in said.splitlines() if "Take a discount off" in each][:1]
    told = await asked.comment(asked.alice, f"{quote(line)}\nWho calls `total` today?")
    assert told.startswith("> Who calls `total` today?\n\nNothing calls `total` yet.")
    assert "of `main`" in told
    [question] = [call.content for call in model.calls if ASKED in call.content]
    assert "== issue" in question
    assert "== quoted from it" in question
    assert "only a plan was requested" in await asked.comment(asked.alice, "/forge status")  # it is no run of the issue


async def _open_fork(story: Story) -> PullRequest:
    repository, _ = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    mallory = story.github.user("mallory")
    pull, _ = await story.propose(repository, mallory, {"app.py": "def f():\n    return missing\n"}, from_fork=True)
    return pull


async def test_a_fork_needs_an_ok_for_words_too(story: Story, model: ScriptedModel) -> None:
    pull = await _open_fork(story)
    alice, name = story.github.user("alice"), story.github.app.slug
    await alice.comment(pull, f"@{name} what does f return?")
    await story.after(alice.comment(pull, f"@{name} thanks for looking"))
    [told] = story.answers(pull)
    assert "Nobody with the role write has allowed this head" in told.body
    assert model.calls == []
    story.pass_over(pull)


@pytest.mark.parametrize("reply", [Fails(400), Says("Hm.")])
async def test_who_asks_is_told_why_there_is_no_answer(story: Story, model: ScriptedModel, reply: Fails | Says) -> None:
    _, _, carol, pull, comment = await open_reviewed(story, model)
    model.when(MEANT, reply)
    await carol.comment(pull, f"@{story.github.app.slug} who calls it?")
    await carol.comment(pull, f"@{story.github.app.slug} thanks")
    await carol.reply(comment, "Who calls it?")
    await story.after(carol.reply(comment, "Thanks."))
    below, [reply_] = story.answers(pull), story.thread_answers(pull, comment)
    assert [each.body.startswith("No answer: ") for each in below] == [True, True]  # a mention may ask for anything
    assert reply_.body.startswith("No answer: ")
