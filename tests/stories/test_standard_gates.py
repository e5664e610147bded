"""Every standard gate is asked through the one way to ask, shown, and decided by who may."""

import pytest

from domain.config.configuration import Configuration
from domain.config.gates import GateSettings
from domain.gates import STANDARD_GATES, GateState
from domain.runs.run import Phase, Run, Trigger
from domain.verdicts import Reason
from memory.db.tables.runs import PullRequestRow
from memory.gates import gates
from pipeline.gates.ask import open_gate
from safety.avoidance_gates import build_request
from simulator import User
from simulator.state import Issue, PullRequest, Repository, Role
from tests.stories.driver import Story

_ELSEWHERE = {"human_review", "security_findings", "protected_paths", "false_positive"}  # other stories are theirs
OTHERS = [name for name in STANDARD_GATES if name not in _ELSEWHERE]


async def start_waiting_run(story: Story) -> tuple[Repository, PullRequest, Run]:
    """A run that waits for people, so that it still owns its pull request."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    await alice.push(repository, "feature", {"CODEOWNERS": "* @alice\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    assert story.gates(pull) == ["protected_paths"]
    [row] = await story.runs()
    return repository, pull, row.as_run()


def add_user(story: Story, repository: Repository, role: Role) -> User:
    person = story.github.user(f"{role}er")
    story.github.grant(repository, person, role)
    return person


@pytest.mark.parametrize("name", OTHERS)
async def test_a_standard_gate(story: Story, name: str) -> None:
    repository, pull, run = await start_waiting_run(story)
    services = story.forge.services
    role: Role = "maintain" if STANDARD_GATES[name].role == "maintain" else "write"
    reason = Reason(code="test", text="something happened", value=3, threshold=2)
    asked = await open_gate(
        services, run, build_request(name, Phase.testing, "s", "What now?", [reason], Configuration())
    )
    assert set(story.gates(pull)) == {"protected_paths", name}
    [check] = story.github.check_runs(repository, run.head_sha, f"Forge / gate: {name}")
    assert (check.conclusion, len(check.actions)) == ("action_required", 3)
    assert "something happened" in (check.summary or "")

    below = add_user(story, repository, "write" if role == "maintain" else "triage")
    story.clock.move(seconds=2)
    await below.comment(pull, f"/forge approve {name}")
    await story.settle()
    assert "needs the role" in story.answers(pull)[-1].body

    await add_user(story, repository, role).comment(pull, f"/forge reject {name} not like this")
    await story.settle()
    assert any(each.startswith(f"{name}: Rejected by ") for each in story.gate_outcomes(pull))
    decided = await gates.get(services.database, asked.id)
    assert decided is not None
    assert decided.state is GateState.rejected


async def test_who_asked_for_a_deployment_does_not_approve_it(story: Story) -> None:
    _, pull, run = await start_waiting_run(story)
    repository = pull.repository
    asker = story.github.user("alice")
    story.github.grant(repository, asker, "maintain")
    add_user(story, repository, "maintain")
    wanted = build_request("production_deploy", Phase.deployment, "s", "Deploy?", [], Configuration())
    await open_gate(story.forge.services, run, wanted)
    assert "production_deploy" in story.gates(pull)
    story.clock.move(seconds=2)
    await asker.comment(pull, "/forge approve production_deploy")
    await story.settle()
    assert "cannot be decided by the requester" in story.answers(pull)[-1].body


async def test_without_a_pull_request_the_comment_asks_alone(story: Story) -> None:
    repository, pull, run = await start_waiting_run(story)
    alice = story.github.user("alice")
    issue: Issue = await alice.open_issue(repository, "Add a cart", "Please.")
    on_issue = run.model_copy(update={"number": issue.number, "trigger": Trigger.issue})
    configured = Configuration(
        gates={"architecture_approval": GateSettings(timeout="2h", escalate=("octo-org/architects",))}
    )
    wanted = build_request("architecture_approval", Phase.planning, "plan", "Is this the way?", [], configured)
    await _own(story, on_issue)
    gate = await open_gate(story.forge.services, on_issue, wanted)
    [comment] = [each for each in story.github.comments(issue) if each.user is story.github.app.bot]
    assert comment.body.startswith("**Forge asks: architecture_approval**")
    assert story.github.check_runs(repository, run.head_sha, "Forge / gate: architecture_approval") == []

    story.clock.move(seconds=2)
    await alice.comment(issue, "/forge approve with: keep it small")
    await story.settle()
    decided = await gates.get(story.forge.services.database, gate.id)
    assert decided is not None
    assert (decided.state, decided.conditions) == (GateState.approved, "keep it small")
    assert story.gates(pull) == ["protected_paths"]
    assert story.answers(issue)
    assert story.questions(issue)


async def _own(story: Story, run: Run) -> None:
    """Let the run own the issue, as a run of the pipeline will."""
    async with story.forge.services.database.transaction() as session:
        session.add(PullRequestRow(repository_id=run.repository.id, number=run.number, fence=run.fence))
