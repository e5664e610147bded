"""Keeps the budget extensions that people granted, and the error-rate breaker of each provider in a repository."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.money import BudgetExtension
from domain.runs.run import Phase, Run
from memory import ledger
from memory.db.engine import Connection, Database, insert_new, upsert
from memory.db.tables.runs import BudgetRow, CircuitRow
from safety.breakers import Circuit


async def extend_budget(
    database: Database, run: Run, phase: Phase, slice_: BudgetExtension, now: datetime, cause: str
) -> None:
    """Extend the limits of a phase of a run as a person granted, once per cause and slice.

    :param cause: the delivery. Lines of one comment differ by what they grant, so equal ones count once.
    """
    scope = f"granted by:{run.id}/{cause}:{slice_.amount}:{slice_.calls}"
    async with database.transaction() as session:
        taken = insert_new(database.dialect, BudgetRow, {"scope": scope, "granted": slice_.amount})
        if (await session.execute(taken.returning(BudgetRow.scope))).first() is None:
            return
        await extend_within(session, database.dialect, run.id, phase, slice_, now)


async def extend_within(
    session: AsyncSession, dialect: str, run_id: str, phase: Phase, slice_: BudgetExtension, now: datetime
) -> None:
    """Grant a slice within a transaction."""
    granted = {amount_scope(run_id, phase): slice_.amount, calls_scope(run_id, phase): slice_.calls}
    for scope, amount in granted.items():
        if amount:
            await session.execute(insert_new(dialect, BudgetRow, {"scope": scope, "granted": 0}))
            await session.execute(
                update(BudgetRow).where(BudgetRow.scope == scope).values(granted=BudgetRow.granted + amount)
            )
    facts = {"amount": slice_.amount, "calls": slice_.calls}
    ledger.record(session, run_id, EventType.budget_granted, now, source="purse", phase=phase, payload=facts)


def amount_scope(run_id: str, phase: Phase) -> str:
    """The key of the money that people granted a phase."""
    return f"run:{run_id}/{phase.value}"


def calls_scope(run_id: str, phase: Phase) -> str:
    """The key of the calls that people granted a phase."""
    return f"calls:{run_id}/{phase.value}"


def load_circuit(connection: Connection, repository_id: int, provider: str) -> Circuit:
    """The stored circuit; a closed one if none is stored."""
    query = select(CircuitRow.circuit).where(CircuitRow.repository_id == repository_id, CircuitRow.provider == provider)
    stored = connection.scalar(query)
    return Circuit() if stored is None else Circuit.model_validate(stored)


def store_circuit(connection: Connection, repository_id: int, provider: str, circuit: Circuit) -> None:
    """Store a circuit in the transaction that read it."""
    values = {"repository_id": repository_id, "provider": provider, "circuit": circuit.model_dump(mode="json")}
    connection.execute(upsert(connection.dialect.name, CircuitRow, values, {}))


async def list_circuits(database: Database, repository_id: int) -> Mapping[str, Circuit]:
    """The stored circuits of a repository, by provider; one that was always closed is not stored."""
    query = select(CircuitRow.provider, CircuitRow.circuit).where(CircuitRow.repository_id == repository_id)
    rows = await database.rows(query.order_by(CircuitRow.provider))
    return {row[0]: Circuit.model_validate(row[1]) for row in rows}
