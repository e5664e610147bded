"""People take the work of an agent back to a checkpoint, by command, and only where that has an effect."""

import re

from agents.llm.scripted import Says, ScriptedModel
from domain.events import EventType
from domain.runs.work_checkpoint import CheckpointCause, WorkCheckpoint, WorkKey, load_states
from memory import ledger
from memory.runs import work_checkpoints
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.checkpoints import STATES, add_chain
from tests.world.issues import DONE, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan

_HM = [Says("Hm.")] * 3  # an agent that gets stuck


async def _open_stuck(story: Story, model: ScriptedModel) -> tuple[IssueScene, list[WorkCheckpoint]]:
    """An issue whose run waits for help, with checkpoints of the work so far."""
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(TASK, *_HM, *_HM, patches(DIFF, TEST), DONE)
    assert "The newest checkpoints" not in await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["help_needed"]
    run = await asked.run()
    key = WorkKey(run_id=run.id, work="implement T1", base=run.base_sha)
    return asked, await add_chain(story.forge.services.database, key, story.clock.now())


def _hide(text: str) -> str:
    return re.sub(r" ?<!--.*?-->|\d\d:\d\d:\d\d", "", text, flags=re.DOTALL).strip()


async def _load_newest(story: Story, key: WorkKey) -> tuple[WorkCheckpoint, dict[str, str]]:
    """The newest checkpoint and the files of its state."""
    chain = await work_checkpoints.load_chain(story.forge.services.database, key)
    newest = chain[-1].checkpoint
    return newest, {file.path: (file.after or b"").decode() for file in load_states(chain)[newest.id].files}


async def test_work_is_taken_back_while_its_run_waits(story: Story, model: ScriptedModel) -> None:
    """All of it, or one file; the next question shows the checkpoints, and the run goes on after an answer."""
    asked, made = await _open_stuck(story, model)
    first, second, third = (each.short_id for each in made)
    said = await asked.comment(asked.alice, f"/forge rollback {second}")
    assert _hide(said) == (
        f"The work is as at `{second}` ( UTC) again: 2 files differ from before. The run waits for a person; its "
        "next attempt begins there after `/forge approve help_needed`. Nothing is lost: "
        f"`/forge rollback {third}` undoes this."
    )
    newest, files = await _load_newest(story, made[0].key)
    assert (newest.cause, newest.by, newest.restores) == (CheckpointCause.rollback, "alice", made[1].id)
    assert (newest.files, newest.changed, files) == (2, 2, STATES[1])

    said = await asked.comment(asked.alice, f"/forge rollback {first} shop/cart.py")
    assert f"`shop/cart.py` is as at `{first}`" in said
    newest, files = await _load_newest(story, made[0].key)
    assert newest.paths == ("shop/cart.py",)
    assert files == {**STATES[1], **STATES[0]}

    said = await asked.comment(asked.alice, "/forge history")
    assert f"taken back to {first} by alice, only shop/cart.py" in said
    assert "I am stuck." in said

    said = await asked.comment(asked.alice, "/forge approve help_needed")
    question = story.questions(asked.issue)[-1].body
    assert "The newest checkpoints of this work:" in question
    assert f"| {third} |" in question
    assert "| 3 | `notes.md`, `shop/cart.py` |" in question
    assert "`/forge rollback C-ID` takes the work back to one of them" in question
    await asked.comment(asked.alice, "/forge approve help_needed")
    story.pass_over(asked.issue)
    story.pass_over(get_pull_request(asked))


async def test_a_roll_back_that_would_have_no_effect_is_refused(story: Story, model: ScriptedModel) -> None:
    asked, made = await _open_stuck(story, model)
    first, third = made[0].short_id, made[2].short_id
    bob = story.member(asked.repository, "bob", "triage")
    elsewhere = await asked.alice.open_issue(asked.repository, "Another", "Something else.")

    assert "needs the role write; `bob` has triage" in await asked.comment(bob, f"/forge rollback {first}")
    assert "There is no checkpoint `C-000000` here" in await asked.comment(asked.alice, "/forge rollback C-000000")
    assert "needs the role maintain; `alice` has write" in await asked.comment(asked.alice, "/forge rollback staging")
    said = await asked.comment(asked.alice, f"/forge rollback {first} shop/cart.py @carol 'a'")
    assert f"`@carol`, `'a'` are changed neither now nor at `{first}`" in said
    assert f"as at `{third}` already" in await asked.comment(asked.alice, f"/forge rollback {third}")
    await story.after(asked.alice.comment(elsewhere, f"/forge rollback {first}"))
    [answer] = story.answers(elsewhere)
    assert f"belongs to the run of #{asked.issue.number}, so nothing was done" in answer.body
    assert await work_checkpoints.list_of_run(story.forge.services.database, made[0].key.run_id) == made

    await asked.comment(asked.alice, "/forge cancel")
    said = await asked.comment(asked.alice, f"/forge rollback {first}")
    assert "The run has ended; `/forge resume` lets it go on from there." in said
    await asked.comment(asked.alice, "/forge run")
    said = await asked.comment(asked.alice, f"/forge rollback C-{made[1].id}")
    assert f"The run of `{made[1].short_id}` is over (" in said
    story.pass_over(asked.issue)


async def test_two_roll_backs_of_one_comment_are_both_done(story: Story, model: ScriptedModel) -> None:
    """Also where both are the same; the ledger says who did it."""
    asked, made = await _open_stuck(story, model)
    first, second = made[0].short_id, made[1].short_id
    lines = [f"/forge rollback {first}", f"/forge rollback {second}", f"/forge rollback {first}"]
    said = await asked.comment(asked.alice, "\n".join(lines))
    assert said.count("Nothing is lost") == 3
    of_run = await work_checkpoints.list_of_run(story.forge.services.database, made[0].key.run_id)
    assert [each.restores for each in of_run[3:]] == [made[0].id, made[1].id, made[0].id]
    events = await ledger.load_events(story.forge.services.database, made[0].key.run_id)
    told = [each.payload for each in events if each.type is EventType.checkpoint_created and each.source == "person"]
    assert [(each["by"], each["restores"]) for each in told] == [("alice", id_) for id_ in (first, second, first)]
    story.pass_over(asked.issue)
