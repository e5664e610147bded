"""Keeps the error-rate breaker of each repository and provider."""

from sqlalchemy.ext.asyncio import AsyncSession

from memory.tables import CircuitRow
from safety.breakers import Circuit


async def load(session: AsyncSession, repository_id: int, provider: str) -> Circuit:
    """The circuit as it was stored; closed if nothing ever was."""
    row = await session.get(CircuitRow, (repository_id, provider))
    return Circuit() if row is None else Circuit.model_validate(row.circuit)


async def store(session: AsyncSession, repository_id: int, provider: str, circuit: Circuit) -> None:
    """Store a circuit with the transaction that read it."""
    values = circuit.model_dump(mode="json")
    await session.merge(CircuitRow(repository_id=repository_id, provider=provider, circuit=values))
