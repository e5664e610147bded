"""The gates a repository defines itself, in the phases of an issue's run."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.coverage import LOSING, MEASURED
from tests.world.issues import DONE, TASK, TEST, get_pull_request, open_issue, patches, plan
from tests.world.protected_paths import LOCK, LOCKS, build_plan, gates, start_issue, update_lock
from tests.world.replies import first_lines
from tests.world.verification import MEND, MENDED, change, get_outcome


async def test_each_phase_asks_at_its_end(story: Story, model: ScriptedModel) -> None:
    """What people let pass once is not asked again, and their conditions go with it."""
    asked = await start_issue(
        story,
        model,
        planning="plan.tasks > 0",
        implementation='plan.risk_level == "low" and run.cost >= 0',
        testing="testing.failed == 0",
    )
    assert story.gates(asked.issue) == ["of_planning"]
    assert not [call for call in model.calls if TASK in call.content]
    await asked.comment(asked.alice, "/forge approve of_planning with: keep it short")
    assert any("keep it short" in call.content for call in model.calls if TASK in call.content)
    pull = get_pull_request(asked)
    assert pull.draft
    assert story.gates(asked.issue) == ["of_implementation"]
    assert not story.github.check_runs(asked.repository, pull.head_sha, "Forge / test")
    await asked.comment(asked.alice, "/forge approve")
    assert story.gates(asked.issue) == ["of_testing"]
    assert story.github.check_runs(asked.repository, pull.head_sha, "Forge / test")
    assert pull.draft
    await asked.comment(asked.alice, "/forge approve")
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")
    assert len(story.gate_outcomes(asked.issue)) == 3
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_what_does_not_hold_is_not_asked(story: Story, model: ScriptedModel) -> None:
    """Nor is a gate of any phase whose condition speaks of what only a review knows."""
    asked = await start_issue(
        story,
        model,
        planning="plan.tasks > 5",
        any="review.lines_changed > 5000",
        testing="testing.failed > 0",
    )
    assert story.questions(asked.issue) == []
    assert await get_outcome(story) == ("completed", "proposed")
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


@pytest.mark.tells("requested_action")  # which button
async def test_a_gate_stands_on_the_pull_request_too(story: Story, model: ScriptedModel) -> None:
    """As a check of its head with buttons, once there is one; the comment below the issue says the same."""
    asked = await start_issue(story, model, planning="plan.tasks > 0", testing="testing.failed == 0")
    await asked.comment(asked.alice, "/forge approve of_planning")
    pull = get_pull_request(asked)
    [check] = story.github.check_runs(asked.repository, pull.head_sha, "Forge / gate: of_testing")
    assert (check.conclusion, len(check.actions)) == ("action_required", 3)
    await story.after(asked.alice.press(check, "approve"))
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")
    assert (
        story.github.check_runs(asked.repository, pull.head_sha, "Forge / gate: of_testing")[-1].conclusion == "success"
    )
    assert "of_testing: Approved by alice" in story.gate_outcomes(asked.issue)
    assert first_lines(story.comments(pull)) == snapshot([])
    assert first_lines(story.answers(asked.issue)) == snapshot(["**Forge opened a pull request for this issue**"])


async def test_an_answer_below_the_pull_request_counts(story: Story, model: ScriptedModel) -> None:
    """Also one that names its head."""
    asked = await start_issue(story, model, testing="testing.failed == 0")
    pull = get_pull_request(asked)
    story.clock.move(seconds=2)
    await story.after(asked.alice.comment(pull, f"/forge approve of_testing {pull.head_sha[:7]}"))
    assert "is approved. The run continues." in story.answers(pull)[-1].body
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")
    assert story.gate_outcomes(asked.issue) == ["of_testing: Approved by alice"]
    assert first_lines(story.comments(pull)) == snapshot([])
    assert first_lines(story.answers(asked.issue)) == snapshot(["**Forge opened a pull request for this issue**"])


async def test_a_gate_that_the_merge_overtook_is_void(story: Story, model: ScriptedModel) -> None:
    """Nothing is left to decide, so nothing stands in the way either."""
    asked = await start_issue(story, model, testing="testing.failed == 0")
    pull = get_pull_request(asked)
    await story.after(asked.alice.close(pull))
    assert await get_outcome(story) == ("cancelled", "closed")
    [check] = story.github.check_runs(asked.repository, pull.head_sha, "Forge / gate: of_testing")
    assert check.conclusion == "cancelled"
    assert first_lines(story.questions(asked.issue)) == snapshot(
        ["**of_testing: Void: there is nothing left to decide** · G-ID · head `SHA` · its…"]
    )
    assert first_lines(story.answers(asked.issue)) == snapshot(["**A person closed #2**, so Forge stopped."])
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_a_gate_of_a_run_that_failed_is_void(story: Story, model: ScriptedModel) -> None:
    """However a run ends, nobody is asked for it any more, and nothing stands in the way of its pull request."""
    there = await open_issue(story, **gates(testing="testing.failed == 0"))
    clean = there.repository.git.branch("main") or ""
    await there.alice.push(there.repository, "main", {"shop/rates.py": "TAX = 1\n"})
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await there.comment(there.alice, "/forge run")
    pull = get_pull_request(there)
    await there.alice.reset_branch(there.repository, "main", clean)
    await story.after(there.alice.comment(pull, "/forge review full"))
    assert await get_outcome(story) == ("failed", "commit_gone")
    assert "is already decided" in await there.comment(there.alice, "/forge reject of_testing no")
    [check] = story.github.check_runs(there.repository, pull.head_sha, "Forge / gate: of_testing")
    assert check.conclusion == "cancelled"
    assert story.gate_outcomes(there.issue) == ["of_testing: Void: there is nothing left to decide"]
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA` from scratch; the check shows the progress."])
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_conditions_reach_the_description(story: Story, model: ScriptedModel) -> None:
    """Whatever was asked in between, and also those of people who let the proposed change go on.

    Whose conditions it keeps to counts as an author of it, so mia decides in the end.
    """
    asked = await open_issue(story, **LOCKS, **gates(planning="plan.tasks > 0", testing="testing.failed == 0"))
    carol = story.github.user("carol")
    mia = story.github.user("mia")
    story.github.grant(asked.repository, carol, "maintain")
    story.github.grant(asked.repository, mia, "write")
    model.when("Title: Discounts", build_plan("shop/cart.py", LOCK))
    model.when(TASK, patches(DIFF, update_lock(LOCK)), DONE)
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge approve architecture_approval with: keep it short")
    await asked.comment(asked.alice, "/forge approve of_planning with: not before Monday")
    await asked.comment(carol, "/forge approve protected_paths with: no new packages")
    pull = get_pull_request(asked)
    conditions = (pull.body or "").partition("### Conditions")[2].partition("###")[0]
    assert conditions.split("\n")[2:5] == ["- keep it short", "- not before Monday", "- no new packages"]
    await asked.comment(mia, "/forge approve of_testing with: announce it first")
    assert "- Condition: announce it first" in (pull.body or "")
    assert not pull.draft
    assert story.gate_outcomes(asked.issue) == snapshot(
        [
            "architecture_approval: Approved by alice, with conditions",
            "of_planning: Approved by alice, with conditions",
            "protected_paths: Approved by carol, with conditions",
            "of_testing: Approved by mia, with conditions",
        ]
    )
    assert story.gates(pull) == snapshot([])
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_what_was_asked_about_an_earlier_head_is_void(story: Story, model: ScriptedModel) -> None:
    """A person asks for changes instead of answering: one gate waits, that of the head there is now."""
    asked = await start_issue(story, model, testing="testing.failed == 0")
    pull = get_pull_request(asked)
    first = pull.head_sha
    model.when(MEND, patches(change("discount", "(discount)")), MENDED)
    line = {"path": "shop/cart.py", "line": 2, "side": "RIGHT", "body": "Put the discount in brackets."}
    await story.after(asked.alice.review(pull, "REQUEST_CHANGES", "Nearly.", [line]))
    assert pull.head_sha != first
    assert story.gates(asked.issue) == ["of_testing"]
    [check] = story.github.check_runs(asked.repository, first, "Forge / gate: of_testing")
    assert check.conclusion == "cancelled"
    assert "The run ends here" in await asked.comment(asked.alice, "/forge reject not like this")
    assert "`alice` rejected `of_testing`. Its draft pull request stays as it is." in asked.status
    assert (await get_outcome(story), pull.draft) == (("failed", "gate_rejected"), True)
    assert story.gate_outcomes(asked.issue) == snapshot(["of_testing: Rejected by alice"])
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_coverage_that_falls_is_asked_about(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **MEASURED, **gates(testing="testing.coverage_delta < -10"))
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST, *LOSING), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["of_testing"]
    [question] = story.questions(asked.issue)
    assert "testing.coverage_delta (-87.5) &lt; -10" in question.body
    story.pass_over(get_pull_request(asked))


async def test_coverage_that_stays_is_not_asked_about(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **MEASURED, **gates(testing="testing.coverage_delta < 0"))
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert story.questions(asked.issue) == []
    assert await get_outcome(story) == ("completed", "proposed")
    story.pass_over(get_pull_request(asked))


async def test_coverage_that_was_not_measured_is_asked_about(story: Story, model: ScriptedModel) -> None:
    """Nobody can tell that it did not fall, and the question says so."""
    asked = await start_issue(story, model, testing="testing.coverage_delta < -10")
    assert story.gates(asked.issue) == ["of_testing"]
    [question] = story.questions(asked.issue)
    assert "testing.coverage_delta is not known yet" in question.body
    story.pass_over(get_pull_request(asked))


@pytest.mark.tells("requested_action")  # which button
async def test_who_asked_does_not_approve_what_was_made_for_them(story: Story, model: ScriptedModel) -> None:
    """Nor does who wrote the issue; they count as authors of Forge's draft, and a third person decides."""
    asked = await open_issue(story, **gates(testing="testing.failed == 0"))
    bob, carol = story.github.user("bob"), story.github.user("carol")
    for who in (bob, carol):
        story.github.grant(asked.repository, who, "write")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await asked.comment(bob, "/forge run")
    pull = get_pull_request(asked)
    for who in (bob, asked.alice):
        refused = await asked.comment(who, "/forge approve of_testing")
        assert "cannot be decided by the author of the change" in refused
    [check] = story.github.check_runs(asked.repository, pull.head_sha, "Forge / gate: of_testing")
    await story.after(bob.press(check, "approve"))
    assert pull.draft
    await asked.comment(carol, "/forge approve of_testing")
    assert not pull.draft
    assert story.gate_outcomes(asked.issue) == ["of_testing: Approved by carol"]
    story.pass_over(pull)


async def test_where_all_who_may_asked_it_takes_two(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **gates(testing="testing.failed == 0"))
    bob = story.member(asked.repository, "bob", "write")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await asked.comment(bob, "/forge run")
    noted = await asked.comment(bob, "/forge approve of_testing")
    assert "takes two people, because everybody with the role write wrote part of the change" in noted
    await asked.comment(asked.alice, "/forge approve of_testing")
    assert story.gate_outcomes(asked.issue) == ["of_testing: Approved by bob and alice"]
    story.pass_over(get_pull_request(asked))


@pytest.mark.parametrize("what", ["title", "body", "comment"])
async def test_who_edited_what_others_asked_does_not_approve_what_was_made_of_it(
    what: str, story: Story, model: ScriptedModel
) -> None:
    """The issue, its title and a comment that Forge takes into account are carried out with bob's words in them."""
    asked = await open_issue(story, **gates(testing="testing.failed == 0"))
    said = await asked.alice.comment(asked.issue, "Mind the rounding.")
    bob, carol, dan = (story.github.user(name) for name in ("bob", "carol", "dan"))
    for who in (bob, carol, dan):
        story.github.grant(asked.repository, who, "write")
    story.clock.move(seconds=2)
    match what:
        case "title":
            await bob.edit(asked.issue, title="Discounts for bob")
        case "body":
            await bob.edit(asked.issue, body="Bob wants a discount on the whole cart.")
        case _:
            await bob.edit_comment(said, "Mind what bob pays.")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await asked.comment(dan, "/forge run")
    await asked.alice.delete_comment(said)  # it was taken into account all the same
    refused = await asked.comment(bob, "/forge approve of_testing")
    assert "cannot be decided by the author of the change" in refused
    await asked.comment(carol, "/forge approve of_testing")
    assert story.gate_outcomes(asked.issue) == ["of_testing: Approved by carol"]
    story.pass_over(get_pull_request(asked))


async def test_what_was_edited_after_somebody_asked_is_not_heard(story: Story, model: ScriptedModel) -> None:
    """Dan asked for what he read; bob edits a comment before Forge gets to it, and eve one after it did."""
    asked = await open_issue(story, **gates(testing="testing.failed == 0"))
    early = await asked.alice.comment(asked.issue, "Mind the rounding.")
    late = await asked.alice.comment(asked.issue, "Mind the taxes.")
    bob, dan, eve = (story.github.user(name) for name in ("bob", "dan", "eve"))
    for who in (bob, dan, eve):
        story.github.grant(asked.repository, who, "write")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    story.clock.move(seconds=2)
    await dan.comment(asked.issue, "/forge run")
    story.clock.move(seconds=2)
    await story.after(bob.edit_comment(early, "Send bob the prices."))
    planned = next(call.content for call in model.calls if "Title: Discounts" in call.content)
    assert "Mind the taxes." in planned
    assert "bob" not in planned.replace("Customers", "")
    story.clock.move(seconds=2)
    await eve.edit_comment(late, "Mind the taxes!")
    await asked.comment(eve, "/forge approve of_testing")
    assert story.gate_outcomes(asked.issue) == ["of_testing: Approved by eve"]
    story.pass_over(get_pull_request(asked))
