"""Keeps who pushed what, and which commits of Forge's own GitHub made anew and signed."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select

from domain.github.commits import Push, Pusher
from domain.runs.run import RepositoryRef
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.deliveries import BranchPushRow, SignedCommitRow

_BATCH = 500  # in one statement


def build_row(repository_id: int, push: Push) -> dict[str, Any]:
    """The row of a push, by the names of its columns."""
    return {
        "repository_id": repository_id,
        "head_sha": push.after,
        "by_id": push.by_id,
        "pusher": push.by.value,
        "before_sha": push.before,
        "at": push.at,
    }


def store(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows that :func:`build_row` made, in the order of their key."""
    if rows:
        connection.execute(insert_new(connection.dialect.name, BranchPushRow), rows)


async def note(database: Database, repository: RepositoryRef, pushed: Collection[Push]) -> None:
    """Record pushes; the first of a head by an account stays."""
    async with database.transaction() as session:
        for push in pushed:
            await session.execute(insert_new(database.dialect, BranchPushRow, build_row(repository.id, push)))


async def load(database: Database, repository_ids: Collection[int], heads: Sequence[str]) -> list[Push]:
    """The known pushes of these heads, to any branch."""
    found: list[Push] = []
    async with database.transaction() as session:
        for start in range(0, len(heads), _BATCH):
            query = select(BranchPushRow).where(
                BranchPushRow.repository_id.in_(repository_ids),
                BranchPushRow.head_sha.in_(heads[start : start + _BATCH]),
            )
            found += [
                Push(row.head_sha, row.before_sha, row.by_id, Pusher(row.pusher), row.at)
                for row in await session.scalars(query)
            ]
    return found


async def note_merge(
    database: Database, repository: RepositoryRef, merge_sha: str, authors: Collection[int], at: datetime, base: str
) -> None:
    """Record who wrote what the merge of a pull request pushed: a squash and a rebase make other commits of it.

    :param at: before the merge, so that its authors count as the first.
    :param base: what the branch was before, as far as no push tells.
    """
    row = BranchPushRow
    async with database.transaction() as session:
        told = await session.scalar(select(row).where(row.repository_id == repository.id, row.head_sha == merge_sha))
        shas, before = {merge_sha}, base
        if told is not None:
            before = told.before_sha
            same = (row.repository_id == repository.id, row.before_sha == before, row.at == told.at)
            shas |= set(await session.scalars(select(row.head_sha).where(*same)))
        for sha in sorted(shas):
            for account in sorted(authors):
                push = Push(sha, before, account, Pusher.merge, at)
                await session.execute(insert_new(database.dialect, row, build_row(repository.id, push)))


async def keep_signed(database: Database, repository_id: int, made_sha: str, sha: str, now: datetime) -> None:
    """Keep that GitHub made a commit anew; the first one that is kept counts."""
    values = {"repository_id": repository_id, "made_sha": made_sha, "sha": sha, "at": now}
    await database.execute(insert_new(database.dialect, SignedCommitRow, values))


async def find_signed(database: Database, repository_id: int, made: Collection[str]) -> Mapping[str, str]:
    """Commit as Forge made it → as GitHub signed it; only those that it signed."""
    table, ordered, found = SignedCommitRow, sorted(made), dict[str, str]()
    async with database.transaction() as session:
        for start in range(0, len(ordered), _BATCH):
            some = ordered[start : start + _BATCH]
            query = select(table).where(table.repository_id == repository_id, table.made_sha.in_(some))
            found.update({row.made_sha: row.sha for row in await session.scalars(query)})
    return found
