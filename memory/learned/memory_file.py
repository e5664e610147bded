"""Updates the memories of a repository from its ``.github/forge-memory.md``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.memories import Archived, Memory, MemoryKind, Origin, create_memory, make_content_key
from domain.runs.run import RepositoryRef
from domain.text.memory_file import PATH, MemoryFileEntry
from memory import ledger
from memory.db.engine import Database, insert_new
from memory.db.tables.repositories import ConfigurationRow, MemoryRow
from memory.learned import memories
from messages import memory_file as texts
from safety.memory_consolidation import MOST_LIVE


@dataclass(frozen=True)
class FileState:
    """The state of the file when it was last read.

    :param revision: grows with each reading, so that an older one never replaces a newer one.
    :param commit: commit of the last valid version; empty if there never was one.
    :param keys: keys of its entries.
    :param problem: what is wrong with the file as it is now, or which entries are not remembered, in sentences for
        people; empty if all is well.
    """

    revision: int = 0
    commit: str = ""
    keys: frozenset[str] = frozenset()
    problem: str = ""


@dataclass(frozen=True)
class FileChanges:
    """What a version of the file changed.

    :param left_out: entries for which there was no room; they are tried again when the file changes.
    """

    added: Sequence[Memory] = field(default=())
    archived: Sequence[str] = ()
    kept: int = 0
    left_out: int = 0


async def load_state(database: Database, repository: RepositoryRef) -> FileState | None:
    """The last state; None if the file was never read."""
    row = await database.get(ConfigurationRow, _name(repository.id))
    return None if row is None else _parse_state(row.content)


async def list_memories(database: Database, repository_id: int) -> Sequence[Memory]:
    """The live memories from the file."""
    async with database.transaction() as session:
        return await _load_memories(session, repository_id)


async def import_entries(
    database: Database,
    repository: RepositoryRef,
    entries: Sequence[MemoryFileEntry],
    commit: str,
    revision: int,
    cause: str,
    now: datetime,
    most: int = MOST_LIVE,
) -> FileChanges | None:
    """Store the file's new entries and archive the removed ones; None if it was read again meanwhile.

    A memory that people archived stays archived although the file still has it. Known memories are not stored twice.

    :param entries: entries of a valid version; none if there is no file.
    :param revision: the revision before the file was read.
    :param cause: trace of the event.
    :param most: live memories that the repository may have.
    """
    async with database.transaction() as session:
        await memories.lock_repository(session, database.dialect, repository.id)
        before = await _lock_state(session, database.dialect, repository)
        if before.revision != revision:
            return None
        old = {entry_key(each): each for each in await _load_memories(session, repository.id)}
        known, elsewhere = old.keys() | before.keys, await _load_other_keys(session, repository.id)
        new = [each for each in entries if each.key not in known and make_content_key(each.content) not in elsewhere]
        keys = frozenset(entry.key for entry in entries)
        gone = [memory.id for name, memory in old.items() if name not in keys]
        archived = await memories.archive_within(session, gone, Archived.forgotten, now)
        made = [_memory(repository, entry, commit, now) for entry in new]
        added = await memories.make_room(session, repository.id, made, most, cause, now)
        left_out = frozenset(map(entry_key, made)) - frozenset(map(entry_key, added))
        problem = texts.no_room(len(left_out), most) if left_out else ""
        await _save_state(session, repository, FileState(revision + 1, commit, keys - left_out, problem))
        if added or archived:
            facts = {"repository": repository.id, "commit": commit, "added": len(added), "archived": [*archived]}
            ledger.record(session, cause, EventType.memory_imported, now, source=PATH, payload=facts)
        return FileChanges(added, archived, len(old) - len(gone), len(left_out))


async def mark_broken(database: Database, repository: RepositoryRef, problem: str, revision: int) -> bool:
    """Record that the file is broken; earlier memories stay. False if it was read again meanwhile."""
    async with database.transaction() as session:
        before = await _lock_state(session, database.dialect, repository)
        if before.revision != revision:
            return False
        await _save_state(session, repository, FileState(revision + 1, before.commit, before.keys, problem))
        return True


async def purge(database: Database, installation_id: int, repository_ids: Sequence[int] | None = None) -> None:
    """Delete the files' states: the App was uninstalled, or lost some repositories."""
    lost = delete(ConfigurationRow).where(
        ConfigurationRow.installation_id == installation_id, ConfigurationRow.scope.startswith(_PREFIX)
    )
    if repository_ids is not None:
        lost = lost.where(ConfigurationRow.scope.in_(map(_name, repository_ids)))
    await database.execute(lost)


_PREFIX = "memory file "


def _name(repository_id: int) -> str:
    return f"{_PREFIX}{repository_id}"


def is_from_file(memory: Memory) -> bool:
    """Whether a memory is from the file."""
    return memory.source.startswith(f"{PATH} ")


async def _lock_state(session: AsyncSession, dialect: str, repository: RepositoryRef) -> FileState:
    """The last state, locked until the end of the transaction. It writes first, so that two transactions take turns."""
    name = _name(repository.id)
    new: dict[str, Any] = {"scope": name, "installation_id": repository.installation_id, "sha": "", "content": {}}
    await session.execute(insert_new(dialect, ConfigurationRow, new))
    row = await session.get_one(ConfigurationRow, name, with_for_update=True)
    return _parse_state(row.content)


async def _save_state(session: AsyncSession, repository: RepositoryRef, now: FileState) -> None:
    row = await session.get_one(ConfigurationRow, _name(repository.id))
    row.sha = now.commit
    row.content = {
        "revision": now.revision,
        "commit": now.commit,
        "keys": sorted(now.keys),
        "problem": now.problem,
    }


def _parse_state(content: Mapping[str, Any]) -> FileState:
    return FileState(
        int(content.get("revision", 0)),
        str(content.get("commit", "")),
        frozenset(content.get("keys", ())),
        str(content.get("problem", "")),
    )


async def _load_memories(session: AsyncSession, repository_id: int) -> Sequence[Memory]:
    rows = await session.scalars(
        select(MemoryRow)
        .where(
            MemoryRow.repository_id == repository_id,
            MemoryRow.archived_at.is_(None),
            MemoryRow.source.startswith(f"{PATH} ", autoescape=True),
        )
        .order_by(MemoryRow.id)
    )
    return [memories.from_row(row) for row in rows]


async def _load_other_keys(session: AsyncSession, repository_id: int) -> frozenset[str]:
    """Keys of the texts that people had Forge remember in other ways than by the file."""
    rows = await session.scalars(
        select(MemoryRow.content).where(
            MemoryRow.repository_id == repository_id,
            MemoryRow.archived_at.is_(None),
            MemoryRow.pinned,
            MemoryRow.source.not_like(f"{PATH} %"),
        )
    )
    return frozenset(map(make_content_key, rows))


def entry_key(memory: Memory) -> str:
    """The key that identifies an entry of the file."""
    return make_content_key(memory.content, memory.context, memory.tags)


def _memory(repository: RepositoryRef, entry: MemoryFileEntry, commit: str, now: datetime) -> Memory:
    source = f"{PATH} at {commit[:7]}, line {entry.line}"
    return create_memory(
        repository,
        Origin.person,
        MemoryKind.semantic,
        entry.content,
        source,
        now,
        context=entry.context,
        tags=entry.tags,
        pinned=True,
    )
