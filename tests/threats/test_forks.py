"""T-F (docs/threats.md): what a stranger sends from a fork, and takes away or exchanges while Forge looks."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from messages import review as review_texts
from simulator import Commit, User
from simulator.state import PullRequest, Repository
from tests.databases import Backend, create_database
from tests.stories.driver import Story, open_story
from tests.stories.gate_scenes import CHANGED, CI, WORKFLOW
from tests.threats.conftest import SWIFT
from tests.threats.meanwhile import act_after_write
from tests.world.replies import first_lines

PAY = "".join(f"VALUE_{number} = {number}\n" for number in range(120))
BROKEN = PAY + "print(missing)\n"
EVIL = PAY + "print('evil')\n"

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database


async def open_from_fork(story: Story, files: dict[str, str | bytes | None]) -> tuple[Repository, User, PullRequest]:
    """A pull request of bob, who is new here, from his fork."""
    repository, _ = story.repository({"README.md": "# Shop\n"})
    bob = story.github.user("bob")
    fork = await bob.fork(repository)
    await bob.push(fork, "feature", files, base="main")
    return repository, bob, await bob.open_pull_request(repository, "feature", head_repo=fork)


async def push(bob: User, pull: PullRequest, content: str) -> str:
    """Bob pushes another version of what the pull request changes."""
    assert pull.head_repository is not None
    return await bob.push(pull.head_repository, pull.head_ref, {"billing/pay.py": content})


def assert_waits_for_ok(story: Story, head: str) -> None:
    """The head was reviewed by layers 1 and 2, and its check asks for a person's ok."""
    [repository] = [each for each in story.github.world.repositories.values() if each.parent is None]
    check = story.check(repository, head)
    assert check.status == "completed"
    assert check.conclusion in {"action_required", "failure"}
    assert "stranger's head" in (check.summary or "")
    [pull] = [each for each in repository.issues.values() if isinstance(each, PullRequest)]
    assert story.gate_outcomes(pull) == snapshot([])
    assert story.gates(pull) == (["human_review"] if check.conclusion == "action_required" else [])


async def test_t_f1_no_model_before_an_ok_for_that_head(story: Story, model: ScriptedModel) -> None:
    """Layers 1 and 2 look at a stranger's head at once; the model at no other head than one with an ok."""
    repository, bob, pull = await open_from_fork(story, {"billing/pay.py": BROKEN})
    branches = repository.git.refs()
    await story.settle()
    assert_waits_for_ok(story, pull.head_sha)
    assert [comment.line for comment in story.comments(pull)] == [121]
    assert model.calls == []

    story.clock.move(seconds=1)
    await story.github.user("alice").comment(pull, "/forge review")
    await story.settle()
    assert "This also allows checks of this head, and only of this one" in story.answers(pull)[0].body
    asked = len(model.calls)
    assert asked > 0

    head = await push(bob, pull, EVIL)
    await story.settle()
    assert_waits_for_ok(story, head)
    assert len(model.calls) == asked
    assert repository.git.refs() == branches


async def test_t_f1_without_a_sandbox_nothing_looks_at_it(backend: Backend, tmp_path: Path) -> None:
    """Where nothing contains the tools they are not run, not even on an ok; a person has to look."""
    model = ScriptedModel()
    url = create_database(backend, tmp_path)
    async with open_story(url, tmp_path, SWIFT, Models.only(model.language_model), sandbox="none") as story:
        repository, _, pull = await open_from_fork(story, {"billing/pay.py": BROKEN})
        await story.settle()
        check = story.check(repository, pull.head_sha)
        assert check.conclusion == "action_required"
        assert "was not run, because FORGE_SANDBOX is none" in (check.summary or "")
        assert story.gates(pull) == ["human_review"]
        assert story.comments(pull) == []
        assert model.calls == []


@pytest.mark.parametrize("first", ["comment", "push"], ids=["the comment first", "the push first"])
async def test_t_f3_the_head_is_exchanged_right_after_the_ok(story: Story, model: ScriptedModel, first: str) -> None:
    """An ok is not for what was pushed after it, in whatever order, and however soon, Forge hears of both."""
    _, bob, pull = await open_from_fork(story, {"billing/pay.py": PAY})
    await story.settle()
    story.clock.move(seconds=1)
    story.github.hold_deliveries()
    await story.github.user("alice").comment(pull, "/forge review")
    head = await push(bob, pull, EVIL)
    story.github.release_deliveries(reverse=first == "push")
    await story.settle()
    [answer] = story.answers(pull)
    assert f"The head moved to `{head[:7]}` after you wrote this." in answer.body
    assert_waits_for_ok(story, head)
    assert model.calls == []


async def test_t_f3_the_head_is_exchanged_right_before_a_label(story: Story, model: ScriptedModel) -> None:
    """A label lies on no head: it is the ok only for one that was being looked at before."""
    _, bob, pull = await open_from_fork(story, {"billing/pay.py": PAY})
    await story.settle()
    story.clock.move(seconds=1)
    story.github.hold_deliveries()
    head = await push(bob, pull, EVIL)
    await story.github.user("alice").label(pull, "forge")
    story.github.release_deliveries()
    await story.settle()
    assert_waits_for_ok(story, head)
    assert model.calls == []


async def test_a_label_is_the_ok_for_a_head_that_was_there(story: Story, model: ScriptedModel) -> None:
    _, _, pull = await open_from_fork(story, {"billing/pay.py": PAY})
    await story.settle()
    story.clock.move(seconds=1)
    await story.github.user("alice").label(pull, "forge")
    await story.settle()
    assert model.calls
    assert story.gate_outcomes(pull) == snapshot(["human_review: Void: there is nothing left to decide"])
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_t_f3_the_head_is_exchanged_when_the_ok_took_effect(story: Story, model: ScriptedModel) -> None:
    """If it is exchanged while the approved head is being reviewed, the new one is not shown to the model."""
    _, bob, pull = await open_from_fork(story, {"billing/pay.py": PAY})
    await story.settle()

    async def exchange() -> None:
        await push(bob, pull, EVIL)

    act_after_write(story, exchange, "/check-runs$")
    story.clock.move(seconds=1)
    await story.github.user("alice").comment(pull, "/forge review")
    await story.settle()
    await story.settle()
    assert "This also allows checks of this head, and only of this one" in story.answers(pull)[0].body
    assert_waits_for_ok(story, pull.head_sha)
    assert all("evil" not in call.content for call in model.calls)


async def test_t_f4_the_fork_is_deleted_while_it_is_reviewed(story: Story, model: ScriptedModel) -> None:
    """GitHub closes the pull request with its fork: the run ends, and says why."""
    repository, _, pull = await open_from_fork(story, {"billing/pay.py": BROKEN})
    head, fork = pull.head_sha, pull.head_repository
    assert fork is not None

    async def delete() -> None:
        story.github.delete(fork)

    act_after_write(story, delete, said="in_progress")
    await story.settle()
    await story.settle()
    [run] = await story.runs()
    assert (run.state, run.reason) == ("cancelled", "closed")
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("cancelled", "Pull request closed")
    assert model.calls == []


async def test_t_f4_the_fork_becomes_private_while_it_is_reviewed(story: Story, model: ScriptedModel) -> None:
    """The pull request stays open without a repository of its head: it is reviewed, and is still a stranger's."""
    repository, _, pull = await open_from_fork(story, {"billing/pay.py": BROKEN})
    fork = pull.head_repository
    assert fork is not None

    async def hide() -> None:
        fork.private, pull.head_repository = True, None

    act_after_write(story, hide, "/check-runs$")
    await story.settle()
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    assert_waits_for_ok(story, pull.head_sha)
    assert [comment.line for comment in story.comments(pull)] == [121]
    assert model.calls == []


@pytest.mark.parametrize(
    "name",
    [
        "--upload-pack=x",
        "-delete",
        "$(id)",
        "`id`",
        "a;touch${IFS}owned",
        "%2e%2e/%2e%2e/x",
        "refs/heads/main",
        "main\u2044main",
        "feature|x&y>z'\"",
    ],
)
async def test_t_f5_a_branch_is_no_argument(story: Story, tmp_path: Path, name: str) -> None:
    """Whatever the branches are called, as far as git allows it, the pull request is reviewed as any other."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    base = await alice.push(repository, f"{name}-base", {"base.md": "x\n"}, base="main")
    head = await alice.push(repository, name, {"app.py": "print(missing)\n"}, base="main")
    before = set(tmp_path.rglob("*owned*"))
    pull = await alice.open_pull_request(repository, name, base=f"{name}-base")
    await story.settle()
    assert (pull.base_sha, pull.head_sha) == (base, head)
    assert [comment.path for comment in story.comments(pull)] == ["app.py"]
    [check] = story.github.check_runs(repository, head)
    assert check.name.startswith(f"{review_texts.CHECK_NAME}: ")
    assert check.conclusion == "failure"
    assert name not in (check.summary or "")
    assert set(tmp_path.rglob("*owned*")) == before


async def test_t_p14_a_maintainer_pushes_to_a_fork_before_others_propose_it(story: Story) -> None:
    """GitHub tells nobody who pushed to a fork, so two people look at what it links with nobody there."""
    repository, _ = story.repository({"README.md": "# Shop\n", CI: WORKFLOW})
    mia, carol, rex = (story.github.user(name) for name in ("mia", "carol", "rex"))
    for who in (mia, carol):
        story.github.grant(repository, who, "maintain")
    fork = await rex.fork(repository)
    story.github.grant(fork, mia, "write")
    theirs = Commit("Change", CHANGED, author="Somebody <somebody@nowhere.example>")
    await mia.push_commits(fork, "feature", [theirs], "main")
    pull = await rex.open_pull_request(repository, "feature", base="main", head_repo=fork)
    await story.settle()
    outcomes: list[list[str]] = []
    for who, words in ((mia, "review"), (mia, "approve protected_paths"), (carol, "approve protected_paths")):
        story.clock.move(seconds=5)
        await who.comment(pull, f"/forge {words}")
        await story.settle()
        outcomes.append(list(story.gate_outcomes(pull)))
    assert outcomes[:2] == [[], []]
    assert "protected_paths: Approved by mia and carol" in outcomes[-1][-1]
    story.pass_over(pull)
