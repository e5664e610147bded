"""Every standard gate is asked through the one way to ask, shown, and decided by who may."""

import pytest

from domain.config.configuration import Configuration
from domain.gates import STANDARD_GATES, GateState
from domain.runs.run import Phase, Run
from domain.verdicts import Reason
from memory import gates
from pipeline.gates.ask import open_gate
from safety.gate_requests import build_request
from simulator import User
from simulator.state import PullRequest, Repository, Role
from tests.stories.driver import Story

_ELSEWHERE = {"human_review", "security_findings", "protected_paths", "false_positive"}  # other stories are theirs
OTHERS = [name for name in STANDARD_GATES if name not in _ELSEWHERE]


async def start_waiting_run(story: Story) -> tuple[Repository, PullRequest, Run]:
    """A run that waits for people, so that it still owns its pull request."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    pull, _ = await story.propose(repository, alice, {"CODEOWNERS": "* @alice\n"})
    assert story.gates(pull) == ["protected_paths"]
    [row] = await story.runs()
    return repository, pull, row.as_run()


def add_user(story: Story, repository: Repository, role: Role) -> User:
    return story.member(repository, f"{role}er", role)


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
    await story.after(below.comment(pull, f"/forge approve {name}"))
    assert "needs the role" in story.answers(pull)[-1].body

    await story.after(add_user(story, repository, role).comment(pull, f"/forge reject {name} not like this"))
    assert any(each.startswith(f"{name}: Rejected by ") for each in story.gate_outcomes(pull))
    decided = await gates.get(services.database, asked.id)
    assert decided is not None
    assert decided.state is GateState.rejected
