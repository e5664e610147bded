"""A guard, a breaker and a budget stop the model in the middle; a person grants a slice or takes what there is."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from domain.events import EventType
from pipeline.verdicts.settings import load_start_configuration, refresh_configuration
from tests.stories.driver import Story
from tests.stories.gate_scenes import VOID, GateScene, open_scene
from tests.world.model_findings import FILLER, LINE, PAY, SHOP, find_division
from tests.world.replies import first_lines

pytestmark = [
    pytest.mark.parametrize("story", ["sqlite"], indirect=True),
    pytest.mark.tells("requested_action"),  # which button
]

ONE_CALL = "breakers: {iteration: {review: 1}}\n"
ONE_TURN = "guards: {max_iterations: 1}\n"
TESTS = {"tests/test_shop.py": SHOP["tests/test_shop.py"]}


async def _stop_model(story: Story, model: ScriptedModel, configuration: str) -> GateScene:
    """The model found something, and was stopped before it looked again."""
    find_division(model)
    scene = await open_scene(story, {"billing/pay.py": PAY}, configuration, TESTS)
    assert story.gates(scene.pull) == ["guard"]
    assert scene.conclusion == "action_required"
    assert story.check(scene.repository, scene.head).title == "Waiting for a person at guard"
    assert story.comments(scene.pull) == []
    assert len(model.calls) == 1
    return scene


@pytest.mark.parametrize("configuration", [ONE_CALL, ONE_TURN])
async def test_another_slice_lets_it_go_on_where_it_stopped(
    story: Story, model: ScriptedModel, configuration: str
) -> None:
    scene = await _stop_model(story, model, configuration)
    [question] = story.questions(scene.pull)
    assert "Turn 1 of" in question.body
    assert "Last output:" in question.body
    assert "`/forge continue" in question.body

    answer = await scene.comment(scene.alice, "/forge continue 5it")
    assert "The run continues. It may use 5 calls more." in answer
    assert story.gate_outcomes(scene.pull) == ["guard: Approved by alice"]
    assert len(model.calls) == 2
    assert len({call.content for call in model.calls}) == 2  # nothing was asked and paid for twice
    [comment] = story.comments(scene.pull)
    assert (comment.line, scene.conclusion) == (LINE, "failure")
    run = await scene.run()
    assert run.state == "completed"
    [granted] = await scene.events(EventType.budget_granted)
    assert granted["calls"] == 5


async def test_the_button_grants_what_the_gate_offers(story: Story, model: ScriptedModel) -> None:
    scene = await _stop_model(story, model, ONE_CALL)
    await scene.press(scene.alice, "approve", "guard")
    assert story.gate_outcomes(scene.pull) == ["guard: Approved by alice"]
    assert len(model.calls) == 2
    assert len(story.comments(scene.pull)) == 1
    [granted] = await scene.events(EventType.budget_granted)
    assert granted["calls"] == 1  # another one of the size of the first


async def test_a_slice_that_is_used_up_asks_again(story: Story, model: ScriptedModel) -> None:
    """Each slice is asked about, in a comment of its own."""
    scene = await _stop_model(story, model, ONE_CALL)
    more = {f"billing/more_{n}.py": FILLER * 40 for n in range(2)}
    await scene.push({**more, "billing/pay.py": PAY})
    assert story.gates(scene.pull) == ["guard"]
    before = len(model.calls)
    await scene.comment(scene.alice, "/forge continue 1it")
    assert len(model.calls) == before + 1
    assert story.gates(scene.pull) == ["guard"]
    assert len(story.questions(scene.pull)) == 2  # the first head's was taken over; each slice has its own
    assert "guard: Approved by alice" in story.gate_outcomes(scene.pull)
    assert len({call.content for call in model.calls}) == len(model.calls)
    assert first_lines(story.comments(scene.pull)) == snapshot([])


@pytest.mark.parametrize("words", ["/forge accept", "/forge reject guard it costs too much"])
async def test_what_there_is_can_be_taken(story: Story, model: ScriptedModel, words: str) -> None:
    """The model is asked no more; what it found stands, and what it did not finish is never an approval."""
    scene = await _stop_model(story, model, ONE_CALL)
    answer = await scene.comment(scene.alice, words)
    assert "Forge does not ask the model again; the review ends with the results so far." in answer
    assert len(model.calls) == 1
    assert story.gate_outcomes(scene.pull) == ["guard: Rejected by alice"]
    assert ("it costs too much" in scene.summary) is ("reject" in words)
    assert [comment.line for comment in story.comments(scene.pull)] == [LINE]
    assert (scene.conclusion, (await scene.run()).state) == ("failure", "completed")
    assert story.gates(scene.pull) == []


async def test_nothing_unfinished_is_approved_by_itself(story: Story, model: ScriptedModel) -> None:
    """Without a finding so far, a person looks at what the model did not."""
    files = {"billing/pay.py": PAY, **{f"billing/more_{n}.py": FILLER * 40 for n in range(3)}}
    scene = await open_scene(story, files, ONE_CALL, TESTS)
    assert story.gates(scene.pull) == ["guard"]
    await scene.comment(scene.alice, "/forge accept")
    assert len(model.calls) == 1
    assert story.gates(scene.pull) == ["human_review"]
    assert scene.conclusion == "action_required"
    assert "Approved by" in await scene.comment(scene.carol, "/forge approve")
    assert (scene.conclusion, (await scene.run()).state) == ("success", "completed")
    assert story.gate_outcomes(scene.pull) == ["guard: Rejected by alice", "human_review: Approved by carol"]


async def test_a_reader_grants_nothing(story: Story, model: ScriptedModel) -> None:
    scene = await _stop_model(story, model, ONE_CALL)
    dave = scene.add_user("dave", "read")
    for words in ("/forge continue 50it", "/forge accept", "/forge approve guard"):
        assert "needs the role write; `dave` has read" in await scene.comment(dave, words)
        story.clock.move(minutes=61)  # an account without a role is told once an hour
    await scene.press(dave, "approve", "guard")
    assert story.gates(scene.pull) == ["guard"]
    assert len(model.calls) == 1
    assert not await scene.events(EventType.budget_granted)


async def test_a_guard_that_nobody_answers(story: Story, model: ScriptedModel) -> None:
    """It expires: what was found is kept, and nothing is approved."""
    scene = await _stop_model(story, model, ONE_CALL)
    await story.wait(hours=25)
    assert "guard: Expired: nobody answered in 1 day" in story.gate_outcomes(scene.pull)
    assert scene.conclusion != "success"
    assert len(model.calls) == 1
    assert story.gates(scene.pull) == snapshot([])
    assert first_lines(story.comments(scene.pull)) == snapshot(["🔴 **Error** · correctness"])


async def test_conditions_reach_what_is_still_asked(story: Story, model: ScriptedModel) -> None:
    """And nothing that was answered is asked and paid for once more because of them."""
    scene = await _stop_model(story, model, ONE_CALL)
    await scene.comment(scene.alice, "/forge approve guard with: look at rounding")
    assert len(model.calls) == 2
    assert ["look at rounding" in call.content for call in model.calls] == [False, True]
    assert (await scene.run()).state == "completed"
    assert "look at rounding" in scene.summary
    assert story.gate_outcomes(scene.pull) == ["guard: Approved by alice, with conditions"]
    assert len(story.comments(scene.pull)) == 1


async def test_a_push_while_a_guard_waits(story: Story, model: ScriptedModel) -> None:
    scene = await _stop_model(story, model, ONE_CALL)
    old = scene.head
    await scene.push({"README.md": "# More\n", "billing/pay.py": "VALUE = 1\n"})
    assert scene.gate("guard", old).conclusion == "cancelled"
    assert story.gate_outcomes(scene.pull) in (
        [f"guard: {VOID}"],
        [],
    )  # or the comment asks for the new head
    assert story.gates(scene.pull) == snapshot([])
    assert first_lines(story.comments(scene.pull)) == snapshot([])


async def test_a_run_goes_on_with_the_configuration_it_began_with(story: Story, model: ScriptedModel) -> None:
    scene = await _stop_model(story, model, ONE_CALL)
    await scene.alice.push(scene.repository, "main", {".github/forge.yml": "review: {max_comments: 0}\n"})
    await scene.comment(scene.alice, "/forge continue 5it")
    assert len(model.calls) == 2
    assert len(story.comments(scene.pull)) == 1


@pytest.mark.parametrize(
    "since", ["review: {never_send: ['billing/*.{py,go}']}\n", "review: {model: false}\n", "review: {dry_run: true}\n"]
)
async def test_what_was_forbidden_meanwhile_holds_at_once(since: str, story: Story, model: ScriptedModel) -> None:
    scene = await _stop_model(story, model, ONE_CALL)
    await scene.alice.push(scene.repository, "main", {".github/forge.yml": since})
    await scene.comment(scene.alice, "/forge continue 5it")
    assert len(model.calls) == (2 if "dry_run" in since else 1)
    assert story.comments(scene.pull) == []


async def test_a_run_that_a_person_takes_up_again_holds_to_what_is_configured_then(
    story: Story, model: ScriptedModel
) -> None:
    scene = await _stop_model(story, model, ONE_CALL)
    services, run = story.forge.services, (await story.runs())[0].as_run()
    await story.after(scene.alice.push(scene.repository, "main", {".github/forge.yml": "review: {max_comments: 3}\n"}))
    await story.wait_for_lag()
    assert (await load_start_configuration(services, run)).configuration.review.max_comments == 25
    await refresh_configuration(services, run)
    assert (await load_start_configuration(services, run)).configuration.review.max_comments == 3
