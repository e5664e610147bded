"""Loads what people asked for, by which a change may take away what else it would have to leave."""

from agents.coding.planner import PlanningTask
from domain.errors import NotFound
from domain.github.pull_requests import PullRequest
from domain.runs.run import Run
from memory.budgets import model_answers
from memory.db.engine import Database
from memory.gates import gates
from memory.runs import outbox, runs
from pipeline.context import Services
from pipeline.gates.actor import load_authorship
from safety.authorization import refuse_role


async def load_request(database: Database, run: Run) -> str:
    """The issue of a run, what those who may write to the repository said there, and on what terms they approved.

    Empty if the run has no issue.
    """
    kept = await model_answers.find(database, run, model_answers.TASK)
    if kept is None:
        return ""
    known = await gates.list_for_run(database, run.id)
    return "\n".join(
        [PlanningTask.model_validate(kept).request, *(gate.conditions for gate in known if gate.conditions)]
    )


async def load_request_of_pull_request(database: Database, repository_id: int, number: int) -> str:
    """The same of the run that opened a pull request; empty if none did."""
    proposing = await outbox.find_proposing_run(database, repository_id, number)
    run = None if proposing is None else await runs.get(database, proposing)
    return "" if run is None else await load_request(database, run)


async def load_linked_request(services: Services, run: Run, pull_request: PullRequest) -> str:
    """The issues that a pull request of people closes, if somebody wrote them who may write to the repository and did
    not write the change; else its author could ask for what they take away."""
    if not pull_request.closes:
        return ""
    wrote = await load_authorship(services, run.repository, pull_request, set())
    asked: list[str] = []
    for number in pull_request.closes:
        try:
            issue = await services.host.issue(run.repository, number)
        except NotFound:
            continue
        author = issue.author_id
        if issue.is_pull_request or author is None or wrote.includes(author):
            continue
        role = await services.host.permission(run.repository, issue.author_login, author)
        if refuse_role(role, "write") is None:
            asked += [issue.title, issue.body]
    return "\n".join(asked)
