"""Memories for tests: by what they say, by how sure they are, or by number; and the repositories they are of."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from ulid import ULID

from domain.memories import Archived, Memory, MemoryKind, Origin, Scope
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import MemoryRow
from memory.learned import memories
from tests.rows import NOON

WEEK = timedelta(weeks=1)
SHOP = RepositoryRef(installation_id=1, id=7, owner="octo-org", name="shop")
SIBLING = RepositoryRef(installation_id=1, id=8, owner="octo-org", name="depot")
STRANGER = RepositoryRef(installation_id=2, id=9, owner="others", name="shop")


def build_memory(
    content: str,
    tags: tuple[str, ...] = (),
    *,
    of: RepositoryRef = SHOP,
    scope: Scope = Scope.repository,
    confidence: float = 0.7,
    pinned: bool = False,
    age: timedelta = timedelta(),
) -> Memory:
    """A memory of a repository, with an id of its own.

    :param age: how long before :data:`~tests.rows.NOON` it was made and last used.
    """
    return Memory(
        id=str(ULID()),
        installation_id=of.installation_id,
        repository_id=of.id,
        scope=scope,
        kind=MemoryKind.semantic,
        content=content,
        tags=tags,
        confidence=confidence,
        origin=Origin.person,
        source="a test",
        pinned=pinned,
        created_at=NOON - age,
        used_at=NOON - age,
    )


def build_rated(confidence: float = 0.7, origin: Origin = Origin.person, *, pinned: bool = False) -> Memory:
    """The one memory that is told apart by its confidence only; its id is always the same."""
    return Memory(
        id="01J0000000000000000MEMORY1",
        installation_id=1,
        repository_id=7,
        kind=MemoryKind.semantic,
        content="Tests use a real database.",
        confidence=confidence,
        origin=origin,
        source="a test",
        pinned=pinned,
        created_at=NOON,
        used_at=NOON,
    )


def build_numbered(number: int, content: str, confidence: float = 0.5, **more: object) -> Memory:
    """A memory that a model proposed, with its number in its id; the higher the number, the younger it is."""
    values: dict[str, object] = {
        "id": f"01J00000000000000000000{number:03}",
        "installation_id": 1,
        "repository_id": 7,
        "kind": MemoryKind.procedural,
        "content": content,
        "confidence": confidence,
        "origin": Origin.model,
        "source": "a test",
        "created_at": NOON + timedelta(minutes=number),
        "used_at": NOON + timedelta(minutes=number),
    }
    return Memory.model_validate(values | more)


async def keep(database: Database, *many: Memory) -> None:
    """Store memories as they are."""
    async with database.transaction() as session:
        session.add_all([memories.to_row(each) for each in many])


async def archive(database: Database, ids: Collection[str], why: Archived, now: datetime) -> Sequence[str]:
    """Archive memories; the ids of those that were live."""
    async with database.transaction() as session:
        return await memories.archive_within(session, ids, why, now)


async def list_all(database: Database, repository_id: int) -> Sequence[Memory]:
    """All memories of a repository, archived ones included, oldest first."""
    query = select(MemoryRow).where(MemoryRow.repository_id == repository_id).order_by(MemoryRow.id)
    return [memories.from_row(row) for row in await database.scalars(query)]
