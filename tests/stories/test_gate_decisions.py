"""People answer by button and by command, at one gate or several, and every answer that cannot count says why."""

import pytest
from inline_snapshot import snapshot

from domain.events import EventType
from domain.gates import GateState
from tests.stories.driver import Story
from tests.stories.gate_scenes import CHANGED, CI, VOID, WORKFLOW, open_scene
from tests.world.credentials import LEAKING
from tests.world.replies import first_lines

pytestmark = [
    pytest.mark.parametrize("story", ["sqlite"], indirect=True),  # the races are played in tests/unit/memory
    pytest.mark.tells("requested_action"),  # which button
]

SESSION = {"auth/session.py": "VALUE = 1\n" * 20}
OWN = 'gates: {large_change: {phase: review, when: "review.lines_changed > 3", prompt: "Is this worth it?"}}\n'
TWO = f"{OWN}review: {{unread: approve}}\n"


async def test_a_button_approves(story: Story) -> None:
    scene = await open_scene(story)
    assert story.gates(scene.pull) == ["protected_paths"]
    await scene.press(scene.carol, "approve", "protected_paths")
    check = scene.gate("protected_paths")
    assert (check.conclusion, check.title, check.actions) == ("success", "Approved by carol", [])
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by carol"]
    assert (scene.conclusion, (await scene.run()).state) == ("success", "completed")
    [told_of] = await scene.events(EventType.gate_approved)
    assert (told_of["by_login"], told_of["via"], told_of["head"]) == ("carol", "button", scene.head)


async def test_a_button_shows_and_another_rejects(story: Story) -> None:
    scene = await open_scene(story)
    await scene.press(scene.alice, "view", "protected_paths")
    await story.after(story.github.user("carol").rerequest(scene.gate("protected_paths")))
    check = scene.gate("protected_paths")
    assert check.conclusion == "action_required"
    assert "Viewed on" in (check.summary or "")
    assert [action["identifier"] for action in check.actions] == ["approve", "reject", "view"]
    assert (await scene.run()).state == "waiting"

    await scene.press(scene.carol, "reject", "protected_paths")
    assert scene.gate("protected_paths").conclusion == "failure"
    run = await scene.run()
    assert (run.state, run.reason, scene.conclusion) == ("failed", "gate_rejected", "failure")
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Rejected by carol"]


async def test_a_button_of_who_may_not_says_so_and_stays(story: Story) -> None:
    scene = await open_scene(story)
    await scene.press(scene.add_user("dave", "write"), "approve", "protected_paths")
    check = scene.gate("protected_paths")
    assert check.conclusion == "action_required"
    assert "`dave` pressed a button:" in (check.summary or "")
    assert "needs the role maintain; `dave` has write" in (check.summary or "")
    assert len(check.actions) == 3
    assert story.gates(scene.pull) == ["protected_paths"]


async def test_a_rejection_has_a_reason(story: Story) -> None:
    scene = await open_scene(story)
    answer = await scene.comment(scene.carol, "/forge reject protected_paths we deploy from another pipeline")
    assert "Rejected by carol" in answer
    assert "The run ends here." in answer
    assert scene.conclusion == "failure"
    assert "we deploy from another pipeline" in scene.summary
    assert await story.outcome() == ("failed", "gate_rejected")
    [question] = story.questions(scene.pull)
    assert "we deploy from another pipeline" in question.body
    assert "starts a new one" in question.body

    await scene.comment(scene.alice, "/forge review full")
    assert story.gates(scene.pull) == ["protected_paths"]  # asked anew, below the old answer
    assert len(story.questions(scene.pull)) == 2


async def test_several_gates_are_named_one_by_one(story: Story) -> None:
    scene = await open_scene(story, {**CHANGED, **SESSION}, TWO)
    assert story.gates(scene.pull) == ["protected_paths", "large_change"]
    assert scene.summary.count("is waiting for a person") >= 2

    answer = await scene.comment(scene.carol, "/forge approve")
    assert "2 gates are waiting here: `protected_paths` (G-" in answer
    assert "Name the one you mean." in answer

    answer = await scene.comment(scene.carol, "/forge approve protected_paths")
    assert "Approved by" in answer
    assert (scene.conclusion, (await scene.run()).state) == ("action_required", "waiting")

    [left] = [gate for gate in await scene.list_gates() if gate.is_waiting]
    answer = await scene.comment(scene.carol, f"/forge approve {left.short_id} with: watch the error rate")
    assert "Approved by" in answer
    assert (scene.conclusion, (await scene.run()).state) == ("success", "completed")
    assert "watch the error rate" in scene.summary
    assert sorted(story.gate_outcomes(scene.pull)) == [
        "large_change: Approved by carol, with a note",
        "protected_paths: Approved by carol",
    ]


async def test_one_rejection_ends_what_the_others_ask(story: Story) -> None:
    scene = await open_scene(story, {**CHANGED, **SESSION}, TWO)
    await scene.comment(scene.carol, "/forge reject large_change not like this")
    assert sorted(story.gate_outcomes(scene.pull)) == ["large_change: Rejected by carol", f"protected_paths: {VOID}"]
    assert scene.gate("protected_paths").conclusion == "cancelled"
    assert (await scene.run()).reason == "gate_rejected"


async def test_a_gate_of_the_repository_itself(story: Story) -> None:
    scene = await open_scene(story, {"app.py": "VALUE = 1\n" * 5}, OWN)
    assert story.gates(scene.pull) == ["large_change"]
    [question] = story.questions(scene.pull)
    assert "Is this worth it?" in question.body
    assert "5" in question.body  # what was counted
    refused = await scene.comment(scene.alice, "/forge approve")
    assert "cannot be decided by the author of the change" in refused
    answer = await scene.comment(scene.carol, "/forge reject large_change split it")
    assert answer.startswith("**large_change: Rejected by carol**")
    assert "carol rejected large_change: split it" in scene.summary


async def test_a_critical_security_finding_stops_at_its_gate(story: Story) -> None:
    """Also where the author has to mend it anyway: a maintainer can accept the risk as it is."""
    scene = await open_scene(story, {"app.py": LEAKING}, "review: {model: false}\n")
    assert (story.gates(scene.pull), scene.conclusion) == (["security_findings"], "failure")
    assert first_lines(story.comments(scene.pull)) == snapshot(["⛔ **Critical** · security"])
    dave = scene.add_user("dave", "write")
    assert "needs the role maintain; `dave` has write" in await scene.comment(dave, "/forge approve")
    answer = await scene.comment(scene.carol, "/forge approve with: revoke the key today")
    assert "Your words are kept with the decision." in answer
    assert (story.gates(scene.pull), scene.conclusion) == ([], "success")
    assert "revoke the key today" in scene.summary


async def test_a_decision_is_told_in_words_where_the_question_is_gone(story: Story) -> None:
    scene = await open_scene(story)
    [question] = story.questions(scene.pull)
    await story.after(scene.carol.delete_comment(question))
    answer = await scene.comment(scene.carol, "/forge approve")
    assert answer.startswith("`protected_paths` (G-")
    assert "is approved. The run continues." in answer
    assert (scene.conclusion, story.questions(scene.pull)) == ("success", [])


async def test_passing_it_on(story: Story) -> None:
    scene = await open_scene(story)
    erin = scene.add_user("erin", "maintain")
    dave = scene.add_user("dave", "write")
    assert "needs the role maintain" in await scene.comment(dave, "/forge delegate @erin")
    answer = await scene.comment(scene.carol, "/forge delegate @erin")
    assert answer.count("@erin, you are asked to decide") == 1
    assert "`erin` was asked to decide" not in answer
    assert story.gates(scene.pull) == ["protected_paths"]
    await scene.comment(scene.carol, "/forge delegate @dave")
    assert "needs the role maintain; `dave` has write" in await scene.comment(dave, "/forge approve")
    assert "Approved by" in await scene.comment(erin, "/forge approve")
    assert len(await scene.events(EventType.gate_delegated)) == 2


async def test_what_cannot_be_decided_says_what_is_possible(story: Story) -> None:
    """No such gate, none that waits, and one that is decided: one line each, and nothing changes."""
    scene = await open_scene(story)
    answer = await scene.comment(scene.carol, "/forge approve production_deploy")
    assert "There is no gate `production_deploy` here. Waiting: `protected_paths` (G-" in answer
    answer = await scene.comment(scene.carol, "/forge approve G-ABCDEF")
    assert "There is no gate `G-ABCDEF` here." in answer
    assert "Approved by" in await scene.comment(scene.carol, "/forge approve")

    for again in ("/forge approve protected_paths", "/forge reject protected_paths I changed my mind"):
        answer = await scene.comment(scene.carol, again)
        assert "is already decided: Approved by carol" in answer
        assert "Nothing was changed." in answer
    answer = await scene.comment(scene.carol, "/forge approve")
    assert "No gate is waiting here. The last one, `protected_paths`: Approved by carol." in answer
    assert "nothing to accept" in await scene.comment(scene.carol, "/forge accept")
    assert "no run to grant more to" in await scene.comment(scene.carol, "/forge continue 5usd")
    assert [gate.state for gate in await scene.list_gates()] == [GateState.approved]
    assert len(await scene.events(EventType.gate_approved)) == 1
    assert scene.conclusion == "success"
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by carol"]


async def test_what_blocks_puts_a_question_off_and_says_so(story: Story) -> None:
    """The maintainer hears of it before the author's last fix."""
    scene = await open_scene(story)
    await scene.push({"app.py": "print(missing)\n"})
    assert (scene.conclusion, story.gates(scene.pull)) == ("failure", [])
    later = "Once nothing blocks, protected_paths asks a person with the role maintain"
    assert f"- {later}\n" in scene.summary
    assert f"No gate is waiting here yet. {later}." in await scene.comment(scene.carol, "/forge approve")

    await scene.push({"app.py": "print(1)\n"})
    assert story.gates(scene.pull) == ["protected_paths"]
    assert later not in scene.summary
    story.pass_over(scene.pull)


@pytest.mark.parametrize("how", ["cancel", "close", "pause"])
async def test_stopped_while_it_waits(story: Story, how: str) -> None:
    scene = await open_scene(story)
    if how == "close":
        await story.after(scene.alice.close(scene.pull))
    else:
        await scene.comment(scene.add_user("root", "admin"), f"/forge {how}")
    run = await scene.run()
    reason = {"cancel": "aborted", "close": "closed", "pause": "paused"}[how]
    assert (run.state, run.reason) == ("cancelled", reason)
    assert scene.gate("protected_paths").conclusion == "cancelled"
    assert story.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]
    answer = await scene.comment(scene.carol, "/forge approve protected_paths")
    assert "is already decided" in answer
    shown = scene.told.check(scene.repository, scene.head)
    title = {"cancel": "Stopped", "close": "Pull request closed", "pause": "Paused"}[how]
    assert (shown.conclusion, shown.title) == ("cancelled", title)


async def test_a_push_makes_it_void_and_asks_anew_in_the_same_comment(story: Story) -> None:
    scene = await open_scene(story)
    [question] = story.questions(scene.pull)
    old = scene.gate("protected_paths")
    await scene.push({CI: WORKFLOW.replace("make", "make check")})
    assert (old.conclusion, old.actions) == ("cancelled", [])
    [now] = story.questions(scene.pull)
    assert now.id == question.id
    assert now.body.startswith("**Forge asks: protected_paths**")
    assert now.minimized is None
    assert f"head `{scene.head[:7]}`" in now.body
    assert scene.gate("protected_paths").conclusion == "action_required"
    assert [gate.state for gate in await scene.list_gates()] == [GateState.void, GateState.waiting]
    assert (await scene.run()).state == "waiting"


async def test_a_push_that_takes_the_reason_away(story: Story) -> None:
    scene = await open_scene(story)
    await scene.push({CI: WORKFLOW, "README.md": "# More\n"})
    assert story.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]
    [folded] = story.questions(scene.pull)
    assert folded.minimized == "outdated"
    assert len(folded.body.splitlines()) == 3  # what became of it, and Forge's own mark
    assert (scene.conclusion, (await scene.run()).state) == ("success", "completed")

    await scene.push({CI: WORKFLOW.replace("make", "make check")})
    [asked] = story.questions(scene.pull)
    assert (asked.id, asked.minimized) == (folded.id, None)
