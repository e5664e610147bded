"""What an agent of another make changes is kept while it works: little is lost when it ends early or is taken back."""

import asyncio
import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from domain.runs.patches import ChangeSet
from domain.runs.run import Trigger
from domain.runs.work_checkpoint import CheckpointCause, Link, WorkCheckpoint, load_states
from memory.db.tables.runs import WorkCheckpointRow
from memory.runs import work_checkpoints
from pipeline.issue.coding import work_keeper
from safety import checkpoint_limits
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.command_line_agent import CART, DISCOUNT, FILES, REPORT, TESTS, list_changed, run_issue, says
from tests.world.issues import DONE, TASK, TEST, get_pull_request, open_issue, patches, plan
from tests.world.verification import get_outcome

BEGUN = "This task was begun before."
OFTEN = {".github/forge.yml": FILES[".github/forge.yml"].replace("interactive}", "interactive, checkpoint_changes: 1}")}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints follow each other at once."""
    monkeypatch.setattr(work_keeper, "_GAP_S", 0.2)
    monkeypatch.setattr(work_keeper, "_LOOK_S", 0.1)


async def load_chain(story: Story) -> tuple[list[Link], dict[str, ChangeSet]]:
    """The checkpoints of the issue's only piece of work, and what each of them holds."""
    database = story.forge.services.database
    ids = [run.id for run in await story.runs() if run.trigger == Trigger.issue.value]
    listed = [each for run in ids for each in await work_checkpoints.list_of_run(database, run)]
    chain = [*await work_checkpoints.load_chain(database, listed[0].key)] if listed else []
    return chain, dict(load_states(chain))


async def wait_for_checkpoint(story: Story, files: int) -> WorkCheckpoint:
    """The first checkpoint with so many files."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        chain, _ = await load_chain(story)
        for link in chain:
            if link.checkpoint.files >= files:
                return link.checkpoint
        await asyncio.sleep(0.1)
    raise AssertionError("there is no such checkpoint")


async def test_an_agent_that_ends_early_goes_on_where_it_was(story: Story, model: ScriptedModel) -> None:
    later = f"sleep 2; cat > tests/test_cart.py <<'EOF'\n{TESTS}EOF\nexit 0"
    model.when(TASK, says(files={"shop/cart.py": CART}, commands=[later], status=3))
    model.when(BEGUN, says(report=REPORT))
    asked = await run_issue(story, model, **OFTEN)
    assert story.gates(asked.issue) == ["help_needed"]
    await asked.comment(asked.alice, "/forge approve help_needed")
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]
    told = next(call.content for call in model.calls if BEGUN in call.content)
    assert "Changed so far:\n- shop/cart.py\n- tests/test_cart.py\n" in told
    chain, states = await load_chain(story)
    found = [link.checkpoint for link in chain]
    assert [each.cause for each in found][-1] is CheckpointCause.done
    assert found[0].cause is CheckpointCause.changes
    assert [file.path for file in states[found[0].id].files] == ["shop/cart.py"]
    assert found[-1].said == "`total` takes a discount."
    assert all(each.seconds >= each.paused_seconds >= 0 for each in found)


async def test_what_may_not_be_taken_is_not_kept(story: Story, model: ScriptedModel) -> None:
    """Of a state that holds it, the rest is kept, and what is wrong is said."""
    odd = "ln -s /etc/passwd shop/link; mkfifo shop/fifo; mkdir -p .git; echo x > .git/config; sleep 2"
    model.when(TASK, says(files={**DISCOUNT, ".github/workflows/ci.yml": "on: push\n"}, commands=[odd], status=3))
    asked = await run_issue(story, model, **OFTEN)
    assert story.gates(asked.issue) == ["help_needed"]
    chain, states = await load_chain(story)
    [kept] = [link.checkpoint for link in chain]
    assert [file.path for file in states[kept.id].files] == ["shop/cart.py", "tests/test_cart.py"]
    assert {each.partition(":")[0] for each in kept.refused} >= {".github/workflows/ci.yml", "shop/link", "shop/fifo"}


async def test_work_that_a_person_takes_back_begins_there(story: Story, model: ScriptedModel) -> None:
    """The agent is stopped within moments, and started again on the files as they were."""
    wrong = "sleep 1; echo 'WRONG = 1' >> shop/cart.py; echo 'WRONG = 2' > shop/more.py; sleep 3600"
    model.when(TASK, says(files=DISCOUNT, commands=[wrong]))
    model.when("A person took these files back", says(report=REPORT))
    asked = await open_issue(story, **{**FILES, **OFTEN})
    model.when("Title: Discounts", plan())
    asking = asyncio.ensure_future(asked.comment(asked.alice, "/forge run"))
    await wait_for_checkpoint(story, 3)
    chain, states = await load_chain(story)
    good = next(link.checkpoint for link in chain if link.checkpoint.files == 2)
    await asked.alice.comment(asked.issue, f"/forge rollback {good.short_id}")
    said = await asking
    assert f"The work is as at `{good.short_id}`" in said
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert asked.repository.git.read(pull.head_sha, "shop/cart.py") == CART.encode()
    told = next(call.content for call in model.calls if "A person took these files back" in call.content)
    assert "- shop/cart.py\n- shop/more.py (deleted)\n" in told
    assert [file.path for file in states[good.id].files] == ["shop/cart.py", "tests/test_cart.py"]


async def test_what_a_person_took_back_is_not_proposed(story: Story, model: ScriptedModel) -> None:
    """Also if nobody lets the agent go on: what is left of its work is what the person left."""
    more = "sleep 1.5; echo 'BAD = 1' > shop/bad.py"
    left: dict[str, JsonValue] = {"summary": "Half of it.", "is_done": False, "not_done": "The rest."}
    model.when(TASK, says(files=DISCOUNT, commands=[more], report=left))
    asked = await run_issue(story, model, **OFTEN)
    assert story.gates(asked.issue) == ["help_needed"]
    chain, _ = await load_chain(story)
    good = next(link.checkpoint for link in chain if link.checkpoint.files == 2)
    assert "The work is as at" in await asked.comment(asked.alice, f"/forge rollback {good.short_id}")
    said = await asked.comment(asked.alice, "/forge reject help_needed leave it")
    assert "The run goes on without that, and says so in the pull request." in said
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert "alice took the work back to an earlier state." in (pull.body or "")
    assert len([call for call in model.calls if TASK in call.content]) == 1
    chain, _ = await load_chain(story)
    assert [link.checkpoint.cause for link in chain][-2:] == [CheckpointCause.rollback, CheckpointCause.done]
    late = await asked.comment(asked.alice, f"/forge rollback {chain[0].checkpoint.short_id}")
    assert "The work is as at" not in late


async def test_an_agent_may_leave_much_for_a_while(story: Story, model: ScriptedModel) -> None:
    """As where it unpacks something that it needs and removes in the end."""
    much = "mkdir shop/more; for i in $(seq 1200); do echo $i > shop/more/f$i.py; done; sleep 2; rm -r shop/more"
    model.when(TASK, says(files=DISCOUNT, commands=[much], report=REPORT))
    asked = await run_issue(story, model, **OFTEN)
    story.pass_over(get_pull_request(asked))
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]


async def test_work_that_cannot_be_read_is_stopped(
    story: Story, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More files than a change may have, for too long: a person is asked, before the agent would end."""
    monkeypatch.setattr(work_keeper, "_UNREADABLE_S", 1.0)
    flood = "mkdir shop/more; for i in $(seq 1200); do echo $i > shop/more/f$i.py; done; sleep 3600"
    model.when(TASK, says(files=DISCOUNT, commands=[flood]))
    asked = await run_issue(story, model, **OFTEN)
    assert story.gates(asked.issue) == ["help_needed"]
    [question] = story.questions(asked.issue)
    assert "What it changed cannot be kept: More than 1,000 files changed" in question.body


async def test_an_agent_that_cannot_be_paused_is_stopped(
    story: Story, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three checkpoints fail, and a person is asked. What it left is kept, since nothing of it runs any more."""
    monkeypatch.setattr(work_keeper, "_PAUSE_S", -1.0)
    model.when(TASK, says(files=DISCOUNT, commands=["sleep 3600"]))
    asked = await run_issue(story, model, **OFTEN)
    assert story.gates(asked.issue) == ["help_needed"]
    [question] = story.questions(asked.issue)
    assert "3 checkpoints of what it changed failed in a row: The program did not stop within" in question.body
    assert asked.status.count("**The agent's work is not kept as it should be:** 3 of 4 checkpoints could not") == 1
    chain, _ = await load_chain(story)
    assert [(link.checkpoint.cause, link.checkpoint.files) for link in chain] == [(CheckpointCause.stopped, 2)]


async def test_work_that_is_kept_too_slowly_is_said_where_people_look(
    story: Story, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with the figure and the limit; and not again where nothing more happens."""
    monkeypatch.setattr(checkpoint_limits, "SLOW_S", 0.0)
    steps: list[JsonValue] = [f"sleep 1; echo A = {number} > shop/more.py" for number in range(3)]
    model.when(TASK, says(files=DISCOUNT, commands=steps, status=3))
    asked = await run_issue(story, model, **OFTEN)
    assert story.gates(asked.issue) == ["help_needed"]
    told = "**Keeping the agent's work is slow:** "
    assert asked.status.count(told) == 1
    assert "checkpoints took more than 0 s (" in asked.status
    said = await asked.comment(asked.alice, "/forge status")
    assert "Mode: interactive, by the configuration." in said
    assert told in said


async def test_a_state_that_is_damaged_is_not_gone_on_from(story: Story, model: ScriptedModel) -> None:
    """It is said instead, and nothing of it reaches the branch."""
    model.when(TASK, says(files=DISCOUNT, status=3), says(report=REPORT))
    asked = await run_issue(story, model)
    assert story.gates(asked.issue) == ["help_needed"]
    chain, _ = await load_chain(story)
    await _damage(story, chain[0].checkpoint)
    await asked.comment(asked.alice, "/forge approve help_needed")
    assert story.gates(asked.issue) == ["help_needed"]
    assert "is not as it was written" in story.questions(asked.issue)[-1].body


async def _damage(story: Story, checkpoint: WorkCheckpoint) -> None:
    async with story.forge.services.database.transaction() as session:
        row = await session.get(WorkCheckpointRow, checkpoint.id)
        assert row is not None
        row.content = row.content[:20]


async def test_a_disk_that_is_full_leaves_the_task_to_our_own_agent(
    story: Story, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pull request says so."""

    def refuse(path: Path, content: bytes) -> int:
        if path.name == "task.md":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(path, content)

    write_bytes = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", refuse)
    model.when(TASK, patches(DIFF, TEST), DONE)
    asked = await run_issue(story, model)
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert (
        "The agent could not work here: The file task.md could not be written (No space left on device). Give Forge "
        "room on its disk. Forge's own agent worked instead. `total` takes a discount."
    ) in (pull.body or "")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]


async def test_a_checkpoint_that_was_cut_off_and_stored_all_the_same_is_gone_on_from(
    story: Story, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the agent ends in this very moment. It is not started again for that."""
    add = work_checkpoints.add

    async def add_unseen(*arguments: Any) -> WorkCheckpoint:
        made = await add(*arguments)
        if made.number == 1:
            raise TimeoutError
        return made

    monkeypatch.setattr(work_checkpoints, "add", add_unseen)
    model.when(TASK, says(files=DISCOUNT, commands=["sleep 1"], report=REPORT))
    await run_issue(story, model, **OFTEN)
    assert await get_outcome(story) == ("completed", "proposed")
    assert len([call for call in model.calls if TASK in call.content]) == 1
    chain, _ = await load_chain(story)
    assert [link.checkpoint.cause for link in chain] == [CheckpointCause.changes, CheckpointCause.done]


async def test_what_an_agent_leaves_running_changes_nothing_any_more(story: Story, model: ScriptedModel) -> None:
    """Everything it started ends with it, before its change is read."""
    later = "setsid sh -c 'while :; do echo WRONG = 1 >> shop/cart.py; done' > /dev/null 2>&1 &"
    slow = "setsid sh -c 'sleep 0.5; echo WRONG = 2 > shop/more.py' > /dev/null 2>&1 &"
    again = 'printf %s "$CART" > shop/cart.py'
    model.when(TASK, says(files=DISCOUNT, commands=[slow, later, f"CART='{CART}'; {again}"], report=REPORT))
    asked = await run_issue(story, model)
    story.pass_over(get_pull_request(asked))
    assert "shop/more.py" not in list_changed(asked)
    chain, states = await load_chain(story)
    [kept] = [file for file in states[chain[-1].checkpoint.id].files if file.path == "shop/cart.py"]
    head = get_pull_request(asked).head_sha
    assert kept.after == asked.repository.git.read(head, "shop/cart.py")  # what was judged is what was proposed
