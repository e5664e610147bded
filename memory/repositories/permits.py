"""Keeps which repositories are paused, which heads of strangers somebody approved for review, and what takes two."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Insert, select, update

from domain.commands import Sender
from domain.errors import Halted, Superseded
from domain.events import EventType
from domain.runs.run import RepositoryRef, Run, Trigger
from memory import ledger
from memory.db.engine import Database, insert_new, upsert
from memory.db.tables.repositories import AssentRow, RepositoryRow, hold
from memory.db.tables.runs import PullRequestRow


async def pause(database: Database, repository: RepositoryRef, sender: Sender, now: datetime) -> None:
    """Stop everything in a repository; a repeated call changes nothing."""
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository.id)
        if row.paused_since is None:
            row.paused_since, row.paused_by = now, sender.login
        await ledger.record_person_action(session, repository, None, EventType.paused, sender, now)


async def unpause(database: Database, repository: RepositoryRef, sender: Sender, now: datetime) -> None:
    """End a pause."""
    async with database.transaction() as session:
        (await hold(session, database.dialect, repository.id)).end_pause()
        await ledger.record_person_action(session, repository, None, EventType.unpaused, sender, now)


async def find_pauser(database: Database, repository: RepositoryRef) -> str | None:
    """The login of the person who paused the repository; None if nobody did."""
    row = await database.get(RepositoryRow, repository.id)
    return None if row is None else row.paused_by


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
    row = await database.get(PullRequestRow, (repository.id, number))
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
    if await has_ok(database, repository, number, head_sha):
        return
    async with database.transaction() as session:
        await session.execute(_insert_assent(database, repository, number, _name_ok(head_sha), sender, now))
        await ledger.record_person_action(session, repository, number, EventType.ok_given, sender, now, head=head_sha)


async def has_ok(database: Database, repository: RepositoryRef, number: int, head_sha: str) -> bool:
    """Whether somebody gave their ok for this head."""
    return bool(await load_assents(database, repository, number, _name_ok(head_sha)))


def _name_ok(head_sha: str) -> str:
    return f"{head_sha} ok"


async def note_assent(
    database: Database, repository: RepositoryRef, number: int, said: str, by: Sender, now: datetime
) -> None:
    """Record what somebody said that takes a second person; may be repeated.

    :param said: as :func:`safety.authorization.name_assent` names it.
    """
    await database.execute(_insert_assent(database, repository, number, said, by, now))


def _insert_assent(
    database: Database, repository: RepositoryRef, number: int, said: str, by: Sender, now: datetime
) -> Insert:
    who = {"by_id": by.id, "by_login": by.login, "at": now}
    values = {"repository_id": repository.id, "number": number, "said": said, **who}
    return insert_new(database.dialect, AssentRow, values)


async def load_assents(database: Database, repository: RepositoryRef, number: int, said: str) -> dict[int, str]:
    """Who said it before: account and login."""
    query = select(AssentRow.by_id, AssentRow.by_login).where(
        AssentRow.repository_id == repository.id, AssentRow.number == number, AssentRow.said == said
    )
    return {row.by_id: row.by_login for row in await database.rows(query)}
