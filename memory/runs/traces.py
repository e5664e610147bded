"""Which runs belong together: an issue's run, the reviews of the pull request it opened, and its deployments.

That follows from who opened the pull request, so it is kept nowhere else.
"""

from collections.abc import Sequence

from sqlalchemy import select

from domain.runs.run import Run
from memory.db.engine import Database
from memory.db.tables.runs import RunRow
from memory.runs import outbox, runs


async def list_trace(database: Database, run_id: str) -> Sequence[str]:
    """The ids of the runs that belong to a run, itself among them, oldest first."""
    run = await runs.get(database, run_id)
    if run is None:
        return [run_id]
    first = run_id if run.is_of_issue else await outbox.find_proposing_run(database, run.repository.id, run.number)
    number = None if first is None else await outbox.find_proposal(database, first)
    if first is None or number is None:
        return [run_id]
    query = select(RunRow.id).where(RunRow.repository_id == run.repository.id, RunRow.number == number)
    return sorted({first, *await database.scalars(query)})


async def find_linked_number(database: Database, run: Run) -> int | None:
    """The pull request that an issue's run opened, or the issue that a pull request is for; None if there is none."""
    if run.is_of_issue:
        return await outbox.find_proposal(database, run.id)
    opened_by = await outbox.find_proposing_run(database, run.repository.id, run.number)
    first = None if opened_by is None else await runs.get(database, opened_by)
    return None if first is None else first.number
