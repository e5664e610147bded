"""Loads what people asked for, by which a change may take away what else it would have to leave."""

from agents.coding.planner import PlanningTask
from domain.runs.run import Run
from memory.budgets import model_answers
from memory.db.engine import Database
from memory.gates import gates
from memory.runs import outbox, runs


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
