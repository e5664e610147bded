"""Each phase of a run has its own time, which is what it worked in it, and the ledger tells of each."""

from collections.abc import Callable, Mapping, Sequence

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, ScriptedReply
from domain.events import Event
from memory import ledger
from tests.stories.driver import Story
from tests.world.issues import DONE, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.replies import first_lines
from tests.world.verification import FAILED, MEND, MENDED, OFF, build_judgement, change, get_outcome


def answer_after(story: Story, minutes: float, reply: ScriptedReply) -> Callable[[str], ScriptedReply]:
    """What a model says after so many minutes."""

    def answer(_content: str) -> ScriptedReply:
        story.clock.move(minutes=minutes)
        return reply

    return answer


async def phases(story: Story, trigger: str = "issue") -> Sequence[Event]:
    """What the ledger tells of the phases of the newest run of a kind."""
    run = next(each for each in await story.runs() if each.trigger == trigger)
    every = await ledger.load_events(story.forge.services.database, run.id)
    return [each for each in every if each.type.startswith("phase.")]


def describe_events(events: Sequence[Event]) -> list[str]:
    return [f"{each.phase} {each.type.value.partition('.')[2]} {each.payload['turn']}" for each in events]


async def start_issue(story: Story, model: ScriptedModel, mends: Mapping[str, JsonValue] | None = None) -> IssueScene:
    """An issue whose change fails a test, and is mended the first time."""
    asked = await open_issue(story)
    model.when(MEND, patches(change("x", "discount").replace("1 - x", "1 + discount")), mends or MENDED)
    return asked


async def test_a_phase_has_its_own_time(story: Story, model: ScriptedModel) -> None:
    """A run that planned and implemented for 24 minutes has all of the 20 for its tests."""
    asked = await start_issue(story, model)
    model.when("Title: Discounts", answer_after(story, 12, plan()))
    model.when(TASK, patches(OFF, TEST), answer_after(story, 12, DONE))
    model.when(FAILED, build_judgement(0.9))
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == []
    assert await get_outcome(story) == ("completed", "proposed")
    told = await phases(story)
    assert describe_events(told) == [
        "planning entered 1",
        "planning completed 1",
        "implementation entered 1",
        "implementation completed 1",
        "testing entered 1",
        "testing completed 1",
        "implementation entered 2",
        "implementation completed 2",
        "testing entered 2",
        "testing completed 2",
    ]
    took = [round((each.duration or 0) / 60) for each in told if each.type == "phase.completed"]
    assert took == [12, 12, 0, 0, 0]
    assert describe_events(await phases(story, "pull_request")) == ["review entered 1", "review completed 1"]
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_a_phase_that_is_entered_again_goes_on_with_its_time(story: Story, model: ScriptedModel) -> None:
    """What it waited at a gate does not count, and nothing is told twice by a run that goes on behind one."""
    asked = await start_issue(story, model)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(OFF, TEST), DONE)
    model.when(FAILED, answer_after(story, 21, build_judgement(0.9)), build_judgement(0.6))
    wrong = patches(change("x", "discount * 2").replace("1 - x", "1 + discount"))
    model.when(MEND, wrong, MENDED, patches(change("discount * 2", "discount")), MENDED)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["guard"]
    [question] = story.questions(asked.issue)
    assert "The testing phase has worked 21 of its 20 minutes; waiting does not count." in question.body
    story.clock.move(hours=3)
    await asked.comment(asked.alice, "/forge continue 5it")
    assert story.gate_outcomes(asked.issue)[0] == "guard: Approved by alice"
    told = await phases(story)
    assert len(describe_events(told)) == len(set(describe_events(told)))
    assert [each.duration for each in told if each.type == "phase.completed" and (each.duration or 0) > 3600] == []
    assert first_lines(story.questions(asked.issue)) == snapshot(
        ["**guard: Approved by alice** · G-ID · head `SHA`", "**Forge asks: help_needed** · G-ID · head `SHA`"]
    )
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])
