"""Keeps the present address of a repository in its rows."""

from sqlalchemy import or_, update

from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.gates import GateRow
from memory.db.tables.runs import RunRow


async def update_address(database: Database, repository: RepositoryRef) -> int:
    """Store the present name, owner and installation of a repository in its runs and gates; returns how many changed.

    A run may use this address months later, and another repository may have the old one by then.
    """
    at, owner, name = repository.installation_id, repository.owner, repository.name
    runs_there = or_(RunRow.owner != owner, RunRow.name != name, RunRow.installation_id != at)
    gates_there = or_(GateRow.owner != owner, GateRow.repository_name != name, GateRow.installation_id != at)
    of_runs = update(RunRow).where(RunRow.repository_id == repository.id, runs_there)
    of_gates = update(GateRow).where(GateRow.repository_id == repository.id, gates_there)
    async with database.transaction() as session:
        moved = await session.execute(of_runs.values(owner=owner, name=name, installation_id=at).returning(RunRow.id))
        values = {"owner": owner, "repository_name": name, "installation_id": at}
        asked = await session.execute(of_gates.values(**values).returning(GateRow.id))
        return len(moved.all()) + len(asked.all())
