"""No way around a gate: not by dismissing, not by another pull request, not by a filter, not by asking again."""

import pytest

from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.stories.gate_scenes import CI, WORKFLOW

SHELL = 'import subprocess\n\n\ndef run(command: str) -> None:\n    subprocess.call(f"ls {command}", shell=True)\n'
BOTH = {CI: WORKFLOW.replace("make", "make test"), "run.py": SHELL}


async def _open_pull_request(
    story: Story, files: dict[str, str], configuration: str = ""
) -> tuple[Repository, User, PullRequest, str]:
    base = {"README.md": "# Shop\n", CI: WORKFLOW, **({".github/forge.yml": configuration} if configuration else {})}
    repository, alice = story.repository(base)
    dave = story.member(repository, "dave", "write")
    pull, head = await story.propose(repository, alice, dict(files))
    return repository, dave, pull, head


async def test_what_was_asked_in_vain_is_asked_again(story: Story) -> None:
    """A finding that blocks makes the question void; that it is dismissed once more does not answer it."""
    repository, dave, pull, head = await _open_pull_request(story, BOTH)
    assert (story.check(repository, head).conclusion, story.gates(pull)) == ("failure", [])
    names = story.finding_names(pull, "🔴")
    for verb in ("dismiss", "undismiss", "dismiss"):
        story.clock.move(seconds=2)
        why = " fine here" if verb == "dismiss" else ""
        await story.after(dave.comment(pull, "\n".join(f"/forge {verb} {name}{why}" for name in names)))
        story.pass_over(pull)
    assert story.check(repository, head).conclusion == "action_required"
    assert story.gates(pull) == ["protected_paths"]
    [run] = await story.runs()
    assert (run.state, run.reason) == ("waiting", "gate")
    carol = story.member(repository, "carol", "maintain")
    story.clock.move(seconds=2)
    await story.after(carol.comment(pull, "/forge approve"))
    assert "protected_paths: Approved by carol" in story.gate_outcomes(pull)
    assert story.check(repository, head).conclusion == "success"


async def _open_two_branches(story: Story, base: str) -> tuple[Repository, User, PullRequest, str]:
    """A pull request into main that waits for an answer, and a branch that has already what is asked about there."""
    repository, _, pull, first = await _open_pull_request(story, {CI: BOTH[CI]})
    alice = story.github.user("alice")
    await alice.reset_branch(repository, base, first)
    head = await story.after(alice.push(repository, "feature", {"note.md": "A note.\n"}))
    assert story.gates(pull) == ["protected_paths"]
    return repository, alice, pull, head


async def test_another_pull_request_of_this_head_approves_nothing(story: Story) -> None:
    """It is said under another name than the one that the default branch requires."""
    repository, alice, _, head = await _open_two_branches(story, "elsewhere")
    await story.after(alice.open_pull_request(repository, "feature", base="elsewhere"))
    assert story.check(repository, head, "elsewhere").conclusion == "success"
    assert story.check(repository, head).conclusion == "action_required"


@pytest.mark.tells("protection")  # which checks a branch requires
async def test_another_pull_request_of_this_head_into_a_branch_that_requires_the_check(story: Story) -> None:
    """There it is said under the same name, so what holds one back holds the other back, too."""
    repository, alice, pull, head = await _open_two_branches(story, "release")
    story.github.protect(repository, "release", [review_texts.CHECK_NAME])
    other = await story.after(alice.open_pull_request(repository, "feature", base="release"))
    assert story.gates(other) == ["human_review"]  # release has changes of its own
    carol = story.member(repository, "carol", "maintain")
    story.clock.move(seconds=2)
    await story.after(carol.comment(other, "/forge approve"))
    story.pass_over(other)
    assert story.check(repository, head).conclusion == "action_required"
    assert f"#{pull.number}" in (story.check(repository, head).summary or "")


async def test_a_filter_of_paths_does_not_cover_protected_ones(story: Story) -> None:
    excluding = "review: {paths: {exclude: ['.github/**']}}\n"
    repository, _, pull, head = await _open_pull_request(story, {CI: BOTH[CI]}, excluding)
    assert story.gates(pull) == ["protected_paths"]
    assert story.check(repository, head).conclusion == "action_required"


async def test_a_critical_security_finding_is_not_dismissed_below_its_gate(story: Story) -> None:
    key = 'KEY = "AKIAQ3EGWDPX5VJKLNRT"\n'  # an invented one
    repository, dave, pull, head = await _open_pull_request(story, {"settings.py": key})
    assert story.gates(pull) == ["security_findings"]
    [comment] = story.comments(pull)
    name = comment.body.split("<sub>")[1].split(" ")[0]
    story.clock.move(seconds=2)
    await story.after(dave.comment(pull, f"/forge dismiss {name} fine here"))
    assert "needs the role maintain" in story.answers(pull)[-1].body
    assert story.gates(pull) == ["security_findings"]
    assert story.check(repository, head).conclusion == "failure"
