"""Keeps as which commit GitHub signed each of Forge's own, so that each is made there once."""

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import select

from memory.db.engine import Database, insert_new
from memory.db.tables.deliveries import SignedCommitRow

_BATCH = 500  # commits in one statement


async def keep(database: Database, repository_id: int, made_sha: str, sha: str, now: datetime) -> None:
    """Keep that GitHub made a commit anew; the first one that is kept counts."""
    values = {"repository_id": repository_id, "made_sha": made_sha, "sha": sha, "at": now}
    await database.execute(insert_new(database.dialect, SignedCommitRow, values))


async def find(database: Database, repository_id: int, made: Collection[str]) -> Mapping[str, str]:
    """Commit as Forge made it → as GitHub signed it; only those that it signed."""
    table, ordered, found = SignedCommitRow, sorted(made), dict[str, str]()
    async with database.transaction() as session:
        for start in range(0, len(ordered), _BATCH):
            some = ordered[start : start + _BATCH]
            query = select(table).where(table.repository_id == repository_id, table.made_sha.in_(some))
            found.update({row.made_sha: row.sha for row in await session.scalars(query)})
    return found
