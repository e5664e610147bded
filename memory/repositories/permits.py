"""Keeps which repositories are paused, and which heads of strangers somebody approved for review."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, update

from domain.commands import Sender
from domain.errors import Halted, Superseded
from domain.events import EventType
from domain.runs.run import RepositoryRef, Run, Trigger
from memory.db.engine import Database, insert_new, upsert
from memory.db.tables.repositories import OkRow, PauseRow
from memory.db.tables.runs import PullRequestRow
from memory.ledger import ledger


async def pause(database: Database, repository: RepositoryRef, sender: Sender, now: datetime) -> None:
    """Stop everything in a repository; a repeated call changes nothing."""
    values = {"repository_id": repository.id, "by_login": sender.login, "since": now}
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, PauseRow, values))
        await ledger.record_person_action(session, repository, None, EventType.paused, sender, now)


async def unpause(database: Database, repository: RepositoryRef, sender: Sender, now: datetime) -> None:
    """End a pause."""
    async with database.transaction() as session:
        await session.execute(delete(PauseRow).where(PauseRow.repository_id == repository.id))
        await ledger.record_person_action(session, repository, None, EventType.unpaused, sender, now)


async def find_pauser(database: Database, repository: RepositoryRef) -> str | None:
    """The login of the person who paused the repository; None if nobody did."""
    async with database.transaction() as session:
        row = await session.get(PauseRow, repository.id)
        return None if row is None else row.by_login


async def leave_alone(
    database: Database, repository: RepositoryRef, number: int, sender: Sender, now: datetime
) -> None:
    """Do nothing more unasked on a pull request or issue."""
    key = {"repository_id": repository.id, "number": number}
    async with database.transaction() as session:
        values = {**key, "fence": 0, "left_alone_by": sender.login}
        await session.execute(upsert(database.dialect, PullRequestRow, values, {"fence": PullRequestRow.fence}))
        await ledger.record_person_action(session, repository, number, EventType.paused, sender, now)


async def look_after(database: Database, repository: RepositoryRef, number: int, sender: Sender, now: datetime) -> None:
    """Take that back."""
    here = PullRequestRow.repository_id == repository.id, PullRequestRow.number == number
    async with database.transaction() as session:
        await session.execute(update(PullRequestRow).where(*here).values(left_alone_by=None))
        await ledger.record_person_action(session, repository, number, EventType.unpaused, sender, now)


async def find_left_alone_by(database: Database, repository: RepositoryRef, number: int) -> str | None:
    """The login of the person who told Forge to leave a pull request or issue alone; None if nobody did."""
    async with database.transaction() as session:
        row = await session.get(PullRequestRow, (repository.id, number))
        return None if row is None else row.left_alone_by


class RunPermit(NamedTuple):
    """Whether a run may call a model now.

    :param fence: the fencing token of its pull request; None if it is not known.
    """

    halted: bool
    paused: bool
    fence: int | None


def require(standing: RunPermit, run: Run) -> None:
    """Call this before every model call.

    :raises Halted: if the operator halted Forge.
    :raises Superseded: if the repository is paused, or another run owns the pull request by now.
    """
    if standing.halted:
        raise Halted
    is_replaced = standing.fence != run.fence and run.trigger is not Trigger.question  # that one writes nothing
    if standing.paused or is_replaced:
        raise Superseded(f"Run {run.id} may not call a model any more.")


async def give_ok(
    database: Database, repository: RepositoryRef, number: int, head_sha: str, sender: Sender, now: datetime
) -> None:
    """Allow all checks on exactly this head of a stranger."""
    values = {
        "repository_id": repository.id,
        "number": number,
        "head_sha": head_sha,
        "by_id": sender.id,
        "by_login": sender.login,
        "given_at": now,
    }
    async with database.transaction() as session:
        given = insert_new(database.dialect, OkRow, values).returning(OkRow.head_sha)
        if (await session.execute(given)).first() is not None:
            await ledger.record_person_action(
                session, repository, number, EventType.ok_given, sender, now, head=head_sha
            )


async def has_ok(database: Database, repository: RepositoryRef, number: int, head_sha: str) -> bool:
    """Whether somebody gave their ok for this head."""
    async with database.transaction() as session:
        return await session.get(OkRow, (repository.id, number, head_sha)) is not None
