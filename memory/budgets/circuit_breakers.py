"""Keeps the error-rate breaker of each repository and provider."""

from collections.abc import Mapping

from sqlalchemy import select

from memory.db.engine import Connection, Database, upsert
from memory.db.tables.money import CircuitRow
from safety.breakers import Circuit


def load(connection: Connection, repository_id: int, provider: str) -> Circuit:
    """The stored circuit; a closed one if none is stored."""
    query = select(CircuitRow.circuit).where(CircuitRow.repository_id == repository_id, CircuitRow.provider == provider)
    stored = connection.scalar(query)
    return Circuit() if stored is None else Circuit.model_validate(stored)


def store(connection: Connection, repository_id: int, provider: str, circuit: Circuit) -> None:
    """Store a circuit in the transaction that read it."""
    values = {"repository_id": repository_id, "provider": provider, "circuit": circuit.model_dump(mode="json")}
    connection.execute(upsert(connection.dialect.name, CircuitRow, values, {}))


async def list_of_repository(database: Database, repository_id: int) -> Mapping[str, Circuit]:
    """The stored circuits of a repository, by provider; one that was always closed is not stored."""
    query = select(CircuitRow.provider, CircuitRow.circuit).where(CircuitRow.repository_id == repository_id)
    rows = await database.rows(query.order_by(CircuitRow.provider))
    return {row[0]: Circuit.model_validate(row[1]) for row in rows}
