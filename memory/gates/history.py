"""Lists the latest gates, waiting ones first, and counts how they were answered and how fast."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import select

from domain.gates import Gate, GateState
from memory.db.engine import Database
from memory.db.tables.gates import GateRow
from memory.gates import gates

_ANSWERED = {GateState.approved.value, GateState.rejected.value}


@dataclass(frozen=True)
class GateStatistics:
    """How the gates of one name were answered.

    :param median_seconds: from question to answer, of the gates that people answered; None if there are none.
    """

    name: str
    counts: Counter[str]
    median_seconds: float | None

    @property
    def total(self) -> int:
        return self.counts.total()


async def list_waiting_first(database: Database, limit: int, state: GateState | None = None) -> Sequence[Gate]:
    """The newest gates, waiting ones first."""
    if state is not None:
        return await gates.list_latest(database, limit, state)
    waiting = await gates.list_latest(database, limit, GateState.waiting)
    rest = [gate for gate in await gates.list_latest(database, limit) if not gate.is_waiting]
    return [*waiting, *rest][:limit]


async def load_statistics(database: Database) -> Sequence[GateStatistics]:
    """The statistics of all gates, by name."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    rows = await database.rows(select(GateRow.name, GateRow.state, GateRow.asked_at, GateRow.decided_at))
    for name, state, asked_at, decided_at in rows:
        counts[name][state] += 1
        if state in _ANSWERED and decided_at is not None:
            seconds[name].append(max(0.0, (decided_at - asked_at).total_seconds()))
    return [
        GateStatistics(name, counts[name], median(seconds[name]) if seconds[name] else None) for name in sorted(counts)
    ]
