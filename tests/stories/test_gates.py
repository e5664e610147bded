"""People are asked, answer, and the run goes on; nobody's silence and no mistake ever does."""

from simulator import User
from simulator.state import CheckRun, IssueComment, PullRequest, Repository
from tests.stories.driver import Story

UNSAFE = "import subprocess\n\n\ndef run(command: str) -> None:\n    subprocess.call(command, shell=True)\n"
WORKFLOW = "name: ci\non: push\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: make\n"


async def _opened(told: Story) -> tuple[Repository, User, User, PullRequest, str]:
    """A pull request of alice's that changes a protected path; carol maintains."""
    repository, alice = told.repository({"README.md": "# Shop\n", ".github/workflows/ci.yml": WORKFLOW})
    carol = told.github.user("carol")
    told.github.grant(repository, carol, "maintain")
    changed = WORKFLOW.replace("make", "make test")
    head = await alice.push(repository, "feature", {".github/workflows/ci.yml": changed}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await told.rest()
    return repository, alice, carol, pull, head


def gate(told: Story, repository: Repository, sha: str, name: str) -> CheckRun:
    """The newest check of a gate on a head."""
    return max(told.github.check_runs(repository, sha, f"Forge / gate: {name}"), key=lambda check: check.id)


def said(told: Story, pull: PullRequest, words: str) -> IssueComment:
    """The one comment of Forge below the pull request that holds these words."""
    [found] = [each for each in told.answers(pull) if words in each.body]
    return found


async def test_protected_path_waits_for_a_maintainer(told: Story) -> None:
    repository, _, carol, pull, head = await _opened(told)
    check = gate(told, repository, head, "protected_paths")
    assert (check.status, check.conclusion) == ("completed", "action_required")
    assert [action["label"] for action in check.actions] == ["Approve", "Reject", "View"]
    assert told.check(repository, head).conclusion == "action_required"
    assert ".github/workflows/ci.yml" in said(told, pull, "Forge asks").body
    [run] = await told.runs()
    assert (run.state, run.reason) == ("waiting", "gate")

    told.clock.move(seconds=5)
    await carol.comment(pull, "/forge approve with: tell operations first")
    await told.rest()
    assert "The conditions go with it." in said(told, pull, "is approved").body
    assert gate(told, repository, head, "protected_paths").conclusion == "success"
    review = told.check(repository, head)
    assert review.conclusion == "success"
    assert "tell operations first" in (review.summary or "")
    [run] = await told.runs()
    assert run.state == "completed"
