"""A plan that needs protected files: people let agents change exactly these, or none."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.unit.patches.building import new_file
from tests.world.cart import DIFF
from tests.world.issues import (
    DONE,
    TASK,
    IssueScene,
    get_pull_request,
    last_instructions,
    open_issue,
    patches,
)
from tests.world.protected_paths import LOCK, LOCKS, OTHER, build_plan, update_lock
from tests.world.replies import first_lines


async def ask_for_change(story: Story, model: ScriptedModel, *files: str) -> tuple[IssueScene, User]:
    """An issue whose approved plan changes these files; carol maintains."""
    asked = await open_issue(story, **LOCKS)
    carol = story.member(asked.repository, "carol", "maintain")
    model.when("Title: Discounts", build_plan(*files))
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge approve architecture_approval")
    return asked, carol


def list_changes(asked: IssueScene) -> list[str]:
    pull = get_pull_request(asked)
    return [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)]


def view_pull_request(asked: IssueScene) -> PullRequest:
    """The pull request, with whatever else is said there."""
    pull = get_pull_request(asked)
    assert first_lines(asked.told.comments(pull)) == snapshot([])
    assert first_lines(asked.told.answers(pull)) == snapshot([])
    assert first_lines(asked.told.questions(pull)) == snapshot([])
    return pull


async def test_what_a_maintainer_lets_through_is_changed(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, patches(DIFF, update_lock(LOCK)), DONE)
    asked, carol = await ask_for_change(story, model, "shop/cart.py", LOCK)
    assert story.gates(asked.issue) == ["protected_paths"]
    question = story.questions(asked.issue)[-1].body
    assert f"  - {LOCK}\n" in question
    assert "shop/cart.py" not in question
    assert "exactly these files" in question
    assert await story.outcome() == ("waiting", "gate")
    assert len(model.calls) == 1
    assert "needs the role" in await asked.comment(asked.alice, "/forge approve protected_paths")
    await asked.comment(carol, "/forge approve protected_paths with: minor versions only")
    told = next(call.content for call in model.calls if TASK in call.content)
    assert f"Protected, but a person lets you change it: {LOCK}\n" in told
    assert "- minor versions only" in told
    assert list_changes(asked) == [LOCK, "shop/cart.py"]
    assert "minor versions only" in (view_pull_request(asked).body or "")


@pytest.mark.parametrize("answer", ["/forge reject protected_paths not now", None])
async def test_without_them_the_rest_is_done(story: Story, model: ScriptedModel, answer: str | None) -> None:
    """Also where nobody answers, which counts as a rejection."""
    model.when(TASK, patches(update_lock(LOCK)), patches(DIFF), DONE)
    asked, carol = await ask_for_change(story, model, "shop/cart.py", LOCK)
    if answer is None:
        await story.wait(hours=25)
    else:
        said = await asked.comment(carol, answer)
        assert "The run continues without changing these files." in said
    told = [call.content for call in model.calls if TASK in call.content]
    assert f"Protected: {LOCK}" in told[0]
    assert "It is protected: agents do not change" in told[1]
    assert list_changes(asked) == ["shop/cart.py"]
    view_pull_request(asked)
    story.pass_over(asked.issue)


async def test_where_nothing_else_is_left_the_run_ends(story: Story, model: ScriptedModel) -> None:
    asked, carol = await ask_for_change(story, model, LOCK)
    await asked.comment(carol, "/forge reject protected_paths not now")
    assert await story.outcome() == ("failed", "gate_rejected")
    assert f"the plan changes only protected files (`{LOCK}`)" in asked.status
    assert len(model.calls) == 1
    assert not asked.repository.pulls()


async def test_nothing_is_asked_where_nothing_is_protected(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, patches(DIFF), DONE)
    asked, _ = await ask_for_change(story, model, "shop/cart.py", ".gitattributes")
    assert story.gates(asked.issue) == []
    assert list_changes(asked) == ["shop/cart.py"]
    view_pull_request(asked)


# --- attacks -----------------------------------------------------------------------------------------------


async def test_another_protected_file_than_the_granted_ones_is_refused(story: Story, model: ScriptedModel) -> None:
    """A grant is for the very path: not for its namesake elsewhere, nor for git's own files."""
    attributes = new_file(".gitattributes", "* filter=x\n").decode()
    model.when(TASK, patches(update_lock(OTHER)), patches(attributes), patches(DIFF, update_lock(LOCK)), DONE)
    asked, carol = await ask_for_change(story, model, "shop/cart.py", LOCK, ".gitattributes")
    assert f"  - {LOCK}\n" in story.questions(asked.issue)[-1].body
    assert "  - .gitattributes" not in story.questions(asked.issue)[-1].body
    await asked.comment(carol, "/forge approve protected_paths")
    told = last_instructions(model)
    assert told.count("It is protected: agents do not change") == 2
    assert list_changes(asked) == [LOCK, "shop/cart.py"]
    view_pull_request(asked)
