"""No way around a gate: not by dismissing, not by another pull request, not by a filter, not by asking again."""

from domain.events import EventType
from memory.ledger import ledger
from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.stories.gate_scenes import CI, WORKFLOW

SHELL = "import subprocess\n\n\ndef run(command: str) -> None:\n    subprocess.call(command, shell=True)\n"
BOTH = {CI: WORKFLOW.replace("make", "make test"), "run.py": SHELL}


async def _open_pull_request(
    told: Story, files: dict[str, str], configuration: str = ""
) -> tuple[Repository, User, PullRequest, str]:
    base = {"README.md": "# Shop\n", CI: WORKFLOW, **({".github/forge.yml": configuration} if configuration else {})}
    repository, alice = told.repository(base)
    dave = told.github.user("dave")
    told.github.grant(repository, dave, "write")
    head = await alice.push(repository, "feature", dict(files), base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    return repository, dave, pull, head


async def test_dismissing_what_blocks_asks_what_was_not_asked(told: Story) -> None:
    repository, dave, pull, head = await _open_pull_request(told, BOTH)
    assert told.check(repository, head).conclusion == "failure"
    assert told.gates(pull) == []
    names = told.finding_names(pull, "🔴")
    told.clock.move(seconds=2)
    await dave.comment(pull, "\n".join(f"/forge dismiss {name} fine here" for name in names))
    await told.settle()
    told.answers(pull)
    assert told.gates(pull) == ["protected_paths"]
    assert told.check(repository, head).conclusion == "action_required"
    [run] = await told.runs()
    assert (run.state, run.reason) == ("waiting", "gate")

    carol = told.github.user("carol")
    told.github.grant(repository, carol, "maintain")
    await carol.comment(pull, "/forge approve")
    await told.settle()
    told.answers(pull)
    assert told.check(repository, head).conclusion == "success"
    [run] = await told.runs()
    assert run.state == "completed"
    happened = await ledger.count_events(told.forge.services.database, run.id)
    assert happened[EventType.feedback_dismissed] == len(names)  # the audit knows who took away what blocked
    assert happened[EventType.gate_approved] == 1


async def test_what_was_asked_in_vain_is_asked_again(told: Story) -> None:
    """A finding that blocks makes the question void; that it is dismissed once more does not answer it."""
    repository, dave, pull, head = await _open_pull_request(told, BOTH)
    names = told.finding_names(pull, "🔴")
    for verb in ("dismiss", "undismiss", "dismiss"):
        told.clock.move(seconds=2)
        why = " fine here" if verb == "dismiss" else ""
        await dave.comment(pull, "\n".join(f"/forge {verb} {name}{why}" for name in names))
        await told.settle()
        told.answers(pull)
    assert told.check(repository, head).conclusion == "action_required"
    assert told.gates(pull) == ["protected_paths"]
    [run] = await told.runs()
    assert (run.state, run.reason) == ("waiting", "gate")
    carol = told.github.user("carol")
    told.github.grant(repository, carol, "maintain")
    told.clock.move(seconds=2)
    await carol.comment(pull, "/forge approve")
    await told.settle()
    assert "is approved" in told.answers(pull)[-1].body
    assert told.check(repository, head).conclusion == "success"


async def _open_two_branches(told: Story, base: str) -> tuple[Repository, User, PullRequest, str]:
    """A pull request into main that waits for an answer, and a branch that has already what is asked about there."""
    repository, _, pull, first = await _open_pull_request(told, {CI: BOTH[CI]})
    alice = told.github.user("alice")
    await alice.reset_branch(repository, base, first)
    head = await alice.push(repository, "feature", {"note.md": "A note.\n"})
    await told.settle()
    assert told.gates(pull) == ["protected_paths"]
    return repository, alice, pull, head


async def test_another_pull_request_of_this_head_approves_nothing(told: Story) -> None:
    """It is said under another name than the one that the default branch requires."""
    repository, alice, _, head = await _open_two_branches(told, "elsewhere")
    await alice.open_pull_request(repository, "feature", base="elsewhere")
    await told.settle()
    assert told.check(repository, head, "elsewhere").conclusion == "success"
    assert told.check(repository, head).conclusion == "action_required"


async def test_another_pull_request_of_this_head_into_a_branch_that_requires_the_check(told: Story) -> None:
    """There it is said under the same name, so what holds one back holds the other back, too."""
    repository, alice, pull, head = await _open_two_branches(told, "release")
    told.github.protect(repository, "release", [review_texts.CHECK_NAME])
    await alice.open_pull_request(repository, "feature", base="release")
    await told.settle()
    assert told.check(repository, head).conclusion == "action_required"
    assert f"#{pull.number}" in (told.check(repository, head).summary or "")


async def test_a_filter_of_paths_does_not_cover_protected_ones(told: Story) -> None:
    excluding = "review: {paths: {exclude: ['.github/**']}}\n"
    repository, _, pull, head = await _open_pull_request(told, {CI: BOTH[CI]}, excluding)
    assert told.gates(pull) == ["protected_paths"]
    assert told.check(repository, head).conclusion == "action_required"


async def test_a_critical_security_finding_is_not_dismissed_below_its_gate(told: Story) -> None:
    key = 'KEY = "AKIAQ3EGWDPX5VJKLNRT"\n'  # an invented one
    repository, dave, pull, head = await _open_pull_request(told, {"settings.py": key})
    assert told.gates(pull) == ["security_findings"]
    [comment] = told.comments(pull)
    name = comment.body.split("<sub>")[1].split(" ")[0]
    told.clock.move(seconds=2)
    await dave.comment(pull, f"/forge dismiss {name} fine here")
    await told.settle()
    assert "needs the role maintain" in told.answers(pull)[-1].body
    assert told.gates(pull) == ["security_findings"]
    assert told.check(repository, head).conclusion == "failure"
