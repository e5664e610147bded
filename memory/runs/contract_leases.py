"""Keeps which run holds which contract of a repository, by leases with fencing tokens.

The heartbeat of a working run renews its leases. The lease of a run that waits, for people or for the review of its
pull request, does not lapse, because no process could have died. The lease of a run that ended is free, however it
ended. Each holder gets a larger token than the one before, so that the writes of a run that lost its lease without
noticing differ from those of its successor.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.runs.plan import LEASE, HeldContract
from domain.runs.run import RunState
from memory.db.engine import Database, insert_new
from memory.db.tables.runs import ContractLeaseRow, OutboxRow, RunRow
from memory.runs import outbox

NOBODY = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """A run's lease of a contract, or its last one.

    :param holder: the id of the run.
    :param token: larger than that of every holder before.
    :param until: when it lapses unless it is renewed.
    """

    repository_id: int
    contract: str
    holder: str
    token: int
    until: datetime


@dataclass(frozen=True, slots=True)
class AcquireResult:
    """The result of asking for contracts: all of them, or none.

    :param tokens: contract → fencing token, if all were free.
    :param held: otherwise the leases of other runs.
    """

    tokens: Mapping[str, int]
    held: tuple[Lease, ...] = ()

    @property
    def is_ours(self) -> bool:
        return not self.held


async def acquire(
    database: Database, repository_id: int, contracts: Collection[str], holder: str, now: datetime
) -> AcquireResult:
    """Take contracts that are free or lapsed, all at once or none of them, so that no two runs wait for each other.

    Contracts that the run holds already are renewed and keep their tokens, so this may be repeated.
    """
    names = sorted(set(contracts))
    async with database.transaction() as session:
        for name in names:
            fresh = {"repository_id": repository_id, "contract": name, "holder": NOBODY, "token": 0, "until": now}
            await session.execute(insert_new(database.dialect, ContractLeaseRow, fresh))
        rows = await _lock(session, repository_id, names)
        states = await _load_states(session, rows)
        others = [row for row in rows if row.holder != holder]
        if held := tuple(_lease(row) for row in others if _is_held(row, states.get(row.holder), now)):
            return AcquireResult({}, held)
        for row in rows:
            row.token += row.holder != holder
            row.holder, row.until = holder, now + LEASE
        return AcquireResult({row.contract: row.token for row in rows})


async def renew(
    database: Database, repository_id: int, tokens: Mapping[str, int], holder: str, now: datetime
) -> tuple[str, ...]:
    """Renew leases; returns the contracts that are lost, because they went to another run or were released.

    A lease that lapsed and that no other run took still belongs to the run.

    :param tokens: contract → fencing token, as they were acquired.
    """
    prolonged: set[str] = set()
    async with database.transaction() as session:
        for name in sorted(tokens):
            mine = (
                ContractLeaseRow.repository_id == repository_id,
                ContractLeaseRow.contract == name,
                ContractLeaseRow.holder == holder,
                ContractLeaseRow.token == tokens[name],
            )
            done = update(ContractLeaseRow).where(*mine).values(until=now + LEASE).returning(ContractLeaseRow.contract)
            prolonged |= set((await session.scalars(done)).all())
    return tuple(sorted(tokens.keys() - prolonged))


async def load_holdings(database: Database, held: Sequence[Lease]) -> tuple[HeldContract, ...]:
    """The leases for people: the issues of their runs, and the pull requests that these opened."""
    opened = and_(OutboxRow.run_id == RunRow.id, OutboxRow.kind == outbox.PULL_REQUEST)
    query = (
        select(RunRow.id, RunRow.number, OutboxRow.remote_id)
        .join(OutboxRow, opened, isouter=True)
        .where(RunRow.id.in_([lease.holder for lease in held]))
    )
    known = {run: (number, pull_request) for run, number, pull_request in await database.rows(query)}
    return tuple(HeldContract(lease.contract, *known.get(lease.holder, (None, None))) for lease in held)


async def load_newest_tokens(database: Database, repository_id: int) -> dict[str, int]:
    """Contract → the newest fencing token; to be compared right before a push."""
    rows = await database.scalars(select(ContractLeaseRow).where(ContractLeaseRow.repository_id == repository_id))
    return {row.contract: row.token for row in rows}


async def purge(database: Database, repository_ids: Collection[int]) -> None:
    """Delete the contracts of repositories that Forge lost."""
    await database.execute(delete(ContractLeaseRow).where(ContractLeaseRow.repository_id.in_(repository_ids)))


async def _load_states(session: AsyncSession, rows: Sequence[ContractLeaseRow]) -> dict[str, RunState]:
    query = select(RunRow.id, RunRow.state).where(RunRow.id.in_([row.holder for row in rows]))
    return {run: RunState(state) for run, state in await session.execute(query)}


def _is_held(row: ContractLeaseRow, state: RunState | None, now: datetime) -> bool:
    """Whether a run holds a contract now.

    :param state: the state of the run that holds it, or held it last.
    """
    if state is not None and state.is_final:
        return False
    return row.holder != NOBODY and (state is RunState.waiting or row.until > now)


async def _lock(session: AsyncSession, repository_id: int, names: Collection[str]) -> Sequence[ContractLeaseRow]:
    """The rows, always in the same order, locked until the transaction ends.

    On SQLite, the insert before it took the lock.
    """
    wanted = (ContractLeaseRow.repository_id == repository_id, ContractLeaseRow.contract.in_(names))
    rows = select(ContractLeaseRow).where(*wanted).order_by(ContractLeaseRow.contract).with_for_update()
    return (await session.scalars(rows)).all()


def _lease(row: ContractLeaseRow) -> Lease:
    return Lease(row.repository_id, row.contract, row.holder, row.token, row.until)
