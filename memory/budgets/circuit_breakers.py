"""Keeps the error-rate breaker of each repository and provider."""

from sqlalchemy import select

from memory.db.engine import Connection, upsert
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
