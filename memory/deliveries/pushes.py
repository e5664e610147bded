"""Keeps who pushed to a pull request, and which of its heads somebody else accepted at a gate."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select

from domain.commands import Sender
from domain.gates import GateState
from domain.runs.run import RepositoryRef
from memory.db.engine import Database, upsert
from memory.db.tables.deliveries import PushRow
from memory.gates import gates
from safety.authorization import Authorship, HeadApproval, Push


async def note(
    database: Database, repository: RepositoryRef, number: int, head_sha: str, sender: Sender, at: datetime
) -> None:
    """Record that a person pushed a head; the newest time counts. Apps are left out, because they never decide.

    :param at: the time by GitHub, so that a late event does not count as a newer push.
    """
    if sender.is_app:
        return
    values = {
        "repository_id": repository.id,
        "number": number,
        "head_sha": head_sha,
        "by_id": sender.id,
        "at": at,
    }
    key = (repository.id, number, head_sha, sender.id)
    async with database.transaction() as session:
        known = await session.get(PushRow, key)
        if known is None or known.at < at:
            await session.execute(upsert(database.dialect, PushRow, values, {"at": at}))


async def is_by(database: Database, repository: RepositoryRef, number: int, account_id: int) -> bool:
    """Whether an account pushed to a pull request, or had Forge push there."""
    query = select(PushRow.number).where(
        PushRow.repository_id == repository.id, PushRow.number == number, PushRow.by_id == account_id
    )
    async with database.transaction() as session:
        return await session.scalar(query.limit(1)) is not None


async def load_authorship(
    database: Database, repository: RepositoryRef, number: int, opener: int, accepting: Collection[str]
) -> Authorship:
    """Who wrote a pull request, and which of its heads others accepted.

    :param opener: id of the account that opened it.
    :param accepting: names of the gates whose approval means that somebody else looked at what was pushed before.
    """
    query = select(PushRow).where(PushRow.repository_id == repository.id, PushRow.number == number)
    async with database.transaction() as session:
        pushed = [Push(row.head_sha, row.by_id, row.at) for row in await session.scalars(query.order_by(PushRow.at))]
    if not pushed:
        return Authorship(opener)
    asked = await gates.list_for_pull_request(database, repository.id, number)
    accepted = [
        HeadApproval(gate.head_sha, gate.decision.by_id)
        for gate in asked
        if gate.name in accepting and gate.state is GateState.approved
        if gate.decision is not None and gate.decision.by_id is not None and not gate.decision.waived
    ]
    return Authorship(opener, tuple(pushed), tuple(accepted))
