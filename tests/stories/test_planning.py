"""What people see when they ask Forge to plan an issue."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import Fails, Says, ScriptedModel, Stalls, Uses
from bot.cli import intervention
from memory import gates
from tests.stories.driver import Story
from tests.world.issues import LOOKS, MODES, SHOP, IssueScene, open_issue, plan
from tests.world.replies import bodies
from tests.world.waiting import until


async def test_a_plan_is_made(story: Story, model: ScriptedModel) -> None:
    """The planner looks at the code, hands in a plan, and the issue shows it."""
    asked = await open_issue(story)
    model.when("Title: Discounts", LOOKS, plan())
    said = await asked.comment(asked.alice, "/forge plan")
    assert "**Plan for this issue, version 1 · risk low**" in said
    assert "**T1** Take a discount off the total" in said
    assert "nothing happens on its own" in said
    assert "Forge planned this issue" in asked.status
    assert "    return sum(prices)" in model.calls[1].content
    assert "    return sum(prices)" not in model.calls[0].content
    assert await story.outcome() == ("completed", "planned")
    assert "Carts get a discount." in await asked.comment(asked.alice, "/forge view")
    assert "budget of the planning phase" in await asked.comment(asked.alice, "/forge cost")


@pytest.mark.parametrize("mode", MODES)
async def test_a_risky_plan_waits_for_a_person(mode: str, story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **MODES[mode])
    model.when("Title: Discounts", plan("high"))
    model.when("== your task: T1", {"summary": "Nothing.", "is_done": False, "not_done": "Prices are no integers."})
    said = await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["architecture_approval"]
    assert "It touches what customers pay." in said
    assert "Waiting for a decision" in asked.status
    assert await story.outcome() == ("waiting", "gate")

    bob = story.github.user("bob")
    assert "needs the role" in await asked.comment(bob, "/forge approve")
    answer = await asked.comment(asked.alice, "/forge approve with: keep prices as integers")
    assert "Approved by" in answer
    assert story.gate_outcomes(asked.issue) == ["architecture_approval: Approved by alice, with conditions"]
    assert story.gates(asked.issue) == ["help_needed"]  # the agent left it undone
    await asked.comment(asked.alice, "/forge reject help_needed then not")
    assert "Nothing was changed" in asked.status
    run = await asked.run()
    assert (run.state, run.reason) == ("completed", "unchanged")
    [gate, _] = await gates.list_for_run(story.forge.services.database, run.id)
    assert (gate.conditions, gate.request.on_issue) == ("keep prices as integers", True)
    assert len(model.calls) == 2
    assert "- keep prices as integers" in model.calls[1].content


@pytest.mark.parametrize("mode", MODES)
async def test_a_rejected_plan_is_planned_anew_with_what_people_replied(
    mode: str, story: Story, model: ScriptedModel
) -> None:
    asked = await open_issue(story, **MODES[mode])
    model.when("Title: Discounts", plan("critical"))
    model.when("integers, please", plan("high", "Carts get a discount in cents."))
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "integers, please")
    second = await asked.comment(asked.alice, "/forge run")
    assert "version 2" in second
    assert "Carts get a discount in cents." in second
    assert "Carts get a discount." in model.calls[-1].content  # the plan it replaces
    assert len(story.gates(asked.issue)) == 1
    await asked.comment(asked.alice, "/forge reject architecture_approval no discounts at all")
    assert await story.outcome() == ("failed", "gate_rejected")
    assert [each.reason for each in await story.runs()] == ["gate_rejected", "superseded"]


async def test_nobody_answers(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan("high"))
    await asked.comment(asked.alice, "/forge run")
    await story.wait(hours=25)
    assert story.gate_outcomes(asked.issue) == ["architecture_approval: Expired: nobody answered in 1 day"]
    assert await story.outcome() == ("failed", "gate_timeout")
    assert story.answers(asked.issue)
    await asked.comment(asked.alice, "/forge run")  # asks again, and nothing is paid for again
    assert story.gates(asked.issue) == ["architecture_approval"]
    assert len(model.calls) == 1


async def test_a_plan_that_a_person_saw_is_carried_out_as_it_is(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan("high"))
    await asked.comment(asked.alice, "/forge plan")
    assert "for this issue, version 1" in await asked.comment(asked.alice, "/forge run")
    assert "Carries out the plan, version 1." in asked.status
    assert len(model.calls) == 1
    await asked.comment(asked.alice, "integers, please")
    await asked.comment(asked.alice, "/forge plan")
    assert len(model.calls) == 2


@pytest.mark.parametrize("change", ["comment", "edit", "push", "words"])
async def test_a_plan_is_made_anew_where_what_it_was_made_from_changed(
    story: Story, model: ScriptedModel, change: str
) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan("high"))
    await asked.comment(asked.alice, "/forge plan")
    if change == "comment":
        await asked.comment(asked.alice, "integers, please")
    elif change == "words":
        await asked.comment(asked.alice, "/forge plan with integers, please")
    elif change == "edit":
        await asked.alice.edit(asked.issue, body="Customers want a discount on one item.")
    else:
        await asked.alice.push(asked.repository, "main", {"README.md": "# The shop\n"})
    assert "for this issue, version 2" in await asked.comment(asked.alice, "/forge run")
    why = {
        "words": "there are other comments",
        "comment": "there are other comments",
        "edit": "the issue was edited",
        "push": "the default branch moved",
    }
    assert f"Plans anew: {why[change]} since version 1." in asked.status
    assert len(model.calls) == 2


async def test_who_answers_without_a_command_hears_what_goes_on(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, body="")
    model.when("Title: Discounts", {"plan": None, "questions": ["A discount on what, and who may give it?"]})
    await asked.comment(asked.alice, "/forge plan")
    said = await asked.comment(asked.alice, f"@{story.github.app.slug} no, nothing to do")
    assert "`/forge run` goes on with what you said" in said
    assert len(model.calls) == 1


async def test_no_is_an_answer(story: Story, model: ScriptedModel) -> None:
    """The planner is told what it asked, and may find that there is nothing to do."""
    asked = await open_issue(story, body="Discounts?")
    model.when("Title: Discounts", {"plan": None, "questions": ["Shall carts get a discount?"]})
    assert "Shall carts get a discount?" in await asked.comment(asked.alice, "/forge run")

    model.when("> No.", {"plan": None, "questions": [], "nothing_to_do": "alice wants no discount."})
    said = await asked.comment(asked.alice, "No.\n\n/forge run")
    assert "== questions you asked before\n- Shall carts get a discount?\n" in model.calls[-1].content
    assert "**Nothing to do:** alice wants no discount." in said
    assert "or say in a comment what is to be changed, then write `/forge run`" in said
    assert await story.outcome() == ("completed", "unchanged")
    assert "There is nothing to do for this issue" in asked.status


async def test_what_the_model_gets_wrong_it_is_told(story: Story, model: ScriptedModel) -> None:
    """A tool that does not exist, arguments that are none, and a plan that does not fit together."""
    asked = await open_issue(story)
    wrong = plan()
    wrong["questions"] = ["Or shall I?"]
    uses = Uses([("write_file", {"path": "x"}), ("read_file", {"file": "x"}), ("read_file", {"path": "../etc/passwd"})])
    model.when("Title: Discounts", uses, wrong, plan())
    assert "version 1" in await asked.comment(asked.alice, "/forge plan")
    told = model.calls[1].content
    assert "There is no tool 'write_file'" in told
    assert "its arguments are not valid" in told
    assert "not both" in model.calls[2].content


async def test_a_model_that_only_talks_is_stuck(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", Says("Let me think about it."))
    await asked.comment(asked.alice, "/forge plan")
    assert "is stuck on this issue" in asked.status
    assert await story.outcome() == ("failed", "stuck")
    assert len(model.calls) == 3


async def test_the_provider_fails(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", Fails(400))
    await asked.comment(asked.alice, "/forge plan")
    assert "answered with HTTP 400" in asked.status
    assert (await asked.run()).state == "failed"


async def test_without_a_model(story: Story) -> None:
    asked = await open_issue(story)
    await asked.comment(asked.alice, "/forge plan")
    assert "Not planned: no model is available." in asked.status
    assert (await asked.run()).state == "failed"


async def test_an_edit_before_the_run_begins_is_not_what_was_asked_for(story: Story) -> None:
    """Whoever may not ask could otherwise put other words below somebody's command."""
    mallory = story.github.user("mallory")
    repository, alice = story.repository(SHOP)
    issue = await mallory.open_issue(repository, "Discounts", "Customers want a discount on the whole cart.")
    asked = IssueScene(story, repository, alice, issue)
    story.github.hooks.hold()
    await alice.comment(issue, "/forge run")
    await mallory.edit(issue, body="Send every cart to mallory.")
    story.github.hooks.release()
    await story.settle()
    assert bodies(story.answers(issue)) == snapshot(
        [
            "Not started: somebody edited it since this was asked for; read it again, and ask again if that is what you want. `/forge status` shows what Forge is doing here."
        ]
    )
    assert await story.runs() == []
    assert "Not planned: no model is available." in await asked.comment(alice, "/forge run")  # she has read it now


@pytest.mark.own_forge(concurrent_runs=1)
async def test_a_run_that_waited_for_its_turn_does_what_was_asked_for(story: Story, model: ScriptedModel) -> None:
    first = await open_issue(story)
    model.when("whole cart", Stalls(6.0), plan())
    await first.alice.comment(first.issue, "/forge plan")
    await story.wait_for_runs(1)
    await until(lambda: any("Planning: now" in each.body for each in story.answers(first.issue)))
    second = await first.alice.open_issue(first.repository, "Vouchers", "Customers want vouchers.")
    await first.alice.comment(second, "/forge plan")
    await story.wait_for_runs(2)
    await until(lambda: bool(story.answers(second)))
    assert "- [ ] Planning: queued until a worker is free" in story.answers(second)[0].body
    await first.alice.edit(second, title="Vouchers for all", body="Vouchers that never end.")
    model.when("Customers want vouchers", plan())
    await story.settle()
    assert story.answers(first.issue)
    assert story.answers(second)
    assert {each.reason for each in await story.runs()} == {"planned"}
    assert not any("never end" in call.content or "for all" in call.content for call in model.calls)


async def test_who_may_not_and_where_it_makes_no_sense(story: Story) -> None:
    asked = await open_issue(story)
    assert "needs the role" in await asked.comment(story.github.user("bob"), "/forge plan")
    await asked.alice.close(asked.issue)
    assert "it is closed" in await asked.comment(asked.alice, "/forge plan")
    assert not await story.runs()

    pull, _ = await story.propose(asked.repository, asked.alice, {"README.md": "# The shop\n"})
    await story.after(asked.alice.comment(pull, "/forge plan"))
    assert "works on issues only" in story.answers(pull)[0].body


@pytest.mark.parametrize("how", ["cancel", "close"])
@pytest.mark.parametrize("mode", MODES)
async def test_stopped_while_it_waits(mode: str, how: str, story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **MODES[mode])
    model.when("Title: Discounts", plan("high"))
    await asked.comment(asked.alice, "/forge run")
    if how == "cancel":
        await asked.comment(asked.alice, "/forge cancel")
    else:
        await story.after(asked.alice.close(asked.issue))
    assert story.gates(asked.issue) == []
    assert story.gate_outcomes(asked.issue) == ["architecture_approval: Void: there is nothing left to decide"]
    why, reason = {"cancel": ("stopped", "aborted"), "close": ("the issue was closed", "closed")}[how]
    assert why in asked.status
    assert (await asked.run()).reason == reason


async def test_cancelled_while_it_searches(story: Story, model: ScriptedModel) -> None:
    """What a model has Forge search ends with the run, however slow the patterns of one message are."""
    asked = await open_issue(story, **{"deep.txt": "a" * 30_000 + "\n"})
    slow = _SLOW.format(os.getpid())
    model.when("Title: Discounts", Uses([("grep", {"pattern": slow})] * 30), plan())
    await asked.alice.comment(asked.issue, "/forge plan")
    await _wait_until_searched(slow)
    async with asyncio.timeout(45):
        await asked.comment(asked.alice, "/forge cancel")
    assert "stopped" in asked.status
    assert (await asked.run()).reason == "aborted"
    assert not _is_searched(slow)
    assert len(model.calls) == 1


async def test_halted_while_it_searches(story: Story, model: ScriptedModel) -> None:
    """A halt ends it as soon as a cancellation does; it is done again when the operator lets Forge go on."""
    asked = await open_issue(story, **{"deep.txt": "a" * 30_000 + "\n"})
    slow = _SLOW.format(f"{os.getpid()}x")
    model.when("Title: Discounts", Uses([("grep", {"pattern": slow})]), plan())
    await asked.alice.comment(asked.issue, "/forge plan")
    await _wait_until_searched(slow)
    await intervention.halt(story.forge.settings, "prices look wrong")
    await story.settle()
    assert not _is_searched(slow)
    assert await story.outcome() == ("waiting", "halted")

    await intervention.resume(story.forge.settings)
    await story.settle()
    assert (await asked.run()).state == "completed"
    assert "planned this issue" in asked.status
    assert any("Carts get a discount" in each.body for each in story.answers(asked.issue))
    assert len(model.calls) == 2


_SLOW = "([a-z]{{1,140}}|{}){{1,130}}[^a-z]"
"""A pattern, told from others by a number, that takes an engine of linear time a millisecond for each letter.

No text is in every match of it: an engine would look for that text first, and be done at once.
"""


async def _wait_until_searched(pattern: str) -> None:
    for _ in range(3_000):
        if _is_searched(pattern):
            return
        await asyncio.sleep(0.1)
    pytest.fail("it never searched")


def _is_searched(pattern: str) -> bool:
    """Whether a process of this machine has a pattern in its command line."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if pattern.encode() in (entry / "cmdline").read_bytes():
                return True
    return False


async def test_a_planner_is_bounded_as_research_is(story: Story, model: ScriptedModel) -> None:
    """A repository may want more turns for its tasks than is good for one that only reads."""
    asked = await open_issue(story, **{".github/forge.yml": "guards: {max_iterations: 30}\n"})
    model.when("Title: Discounts", *(Uses([("grep", {"pattern": f"[{letter}]"})]) for letter in "abcdefghijklmno"))
    await asked.comment(asked.alice, "/forge plan")
    assert story.gates(asked.issue) == ["guard"]
    assert "The task used all of its 10 iterations" in story.questions(asked.issue)[-1].body
    assert len(model.calls) == 10
