"""Counts the present state of all repositories: breakers, waiting gates, levels, the operator's halt."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import func, select

from domain.gates import GateState
from domain.verdicts import BreakerState
from memory.db.engine import Database
from memory.db.tables.findings import GateRow
from memory.db.tables.money import CircuitRow
from memory.db.tables.repositories import EVERYWHERE, RepositoryRow


@dataclass(frozen=True)
class SystemSnapshot:
    """How many there are of each.

    :param circuits: error-rate breakers by state; one that was always closed is not stored.
    :param waiting: gates by name.
    :param levels: repositories by level, only those that left level 1 at least once.
    """

    circuits: Counter[str]
    waiting: Counter[str]
    levels: Counter[int]
    is_halted: bool


async def load_snapshot(database: Database) -> SystemSnapshot:
    """The present counts."""
    state = CircuitRow.circuit["state"].as_string()
    waiting = select(GateRow.name, func.count()).where(GateRow.state == GateState.waiting.value).group_by(GateRow.name)
    async with database.transaction() as session:
        circuits = (await session.execute(select(state, func.count()).group_by(state))).all()
        gates = (await session.execute(waiting)).all()
        levels = (await session.execute(select(RepositoryRow.level, func.count()).group_by(RepositoryRow.level))).all()
        everywhere = await session.get(RepositoryRow, EVERYWHERE)
        return SystemSnapshot(
            circuits=Counter({str(name or BreakerState.closed.value): count for name, count in circuits}),
            waiting=Counter({row[0]: row[1] for row in gates}),
            levels=Counter({level: count for level, count in levels if level is not None}),
            is_halted=everywhere is not None and everywhere.paused_since is not None,
        )
