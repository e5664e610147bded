"""The tables of memories: their text, uses, vectors and recalls."""

from datetime import datetime

from sqlalchemy import JSON, Index, String, Text, false
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class MemoryRow(TableRow):
    """Something Forge learned; see :class:`domain.memories.Memory`.

    ``last_accessed`` and ``access_count`` are about its recalls, ``used_at`` is about its uses. ``used_at`` is None if
    an older version stored the memory; then ``created_at`` counts.
    """

    __tablename__ = "memories"
    __table_args__ = (
        Index("memories_by_repository", "repository_id", "archived_at"),
        Index("memories_in_order", "repository_id", "id"),
        Index("memories_by_installation", "installation_id", "scope", "archived_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    installation_id: Mapped[int] = mapped_column(server_default="0")
    repository_id: Mapped[int]
    scope: Mapped[str] = mapped_column(server_default="repository")
    kind: Mapped[str]
    content: Mapped[str] = mapped_column(Text)
    context: Mapped[str] = mapped_column(Text)
    tags: Mapped[list[str]] = mapped_column(JSON)
    confidence: Mapped[float]
    source: Mapped[str]
    created_at: Mapped[datetime]
    origin: Mapped[str] = mapped_column(server_default="person")
    pinned: Mapped[bool] = mapped_column(server_default=false())
    taught_by: Mapped[int] = mapped_column(server_default="0")
    last_accessed: Mapped[datetime]
    access_count: Mapped[int]
    used_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]
    archived_why: Mapped[str] = mapped_column(server_default="")


class MemoryUseRow(TableRow):
    """A use of a memory, once for each cause: a run, a finding or a delivery."""

    __tablename__ = "memory_uses"

    memory_id: Mapped[str] = mapped_column(primary_key=True)
    use: Mapped[str] = mapped_column(primary_key=True)
    cause: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


class MemoryVectorRow(TableRow):
    """A model's embedding of a live memory, in numbers of four bytes, to find memories of similar meaning.

    ``dimensions`` counts the numbers; it is 0 if an older version stored the vector without ``signs``. ``signs`` has a
    bit for each of the first numbers, in hexadecimal on SQLite; see :mod:`memory.learned.vectors`.
    """

    __tablename__ = "memory_vectors"
    __table_args__ = (Index("memory_vectors_by_signs", "repository_id", "model", "dimensions", "memory_id", "signs"),)

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_id: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes]
    dimensions: Mapped[int] = mapped_column(server_default="0")
    signs: Mapped[str] = mapped_column(String().with_variant(BIT(varying=True), "postgresql"), server_default="")


class RecallRow(TableRow):
    """A memory in the prompt of an agent, and its outcome: none yet, ``helped`` or ``ignored``."""

    __tablename__ = "recalls"
    __table_args__ = (Index("recalls_by_memory", "memory_id"),)

    run_id: Mapped[str] = mapped_column(primary_key=True)
    task: Mapped[str] = mapped_column(primary_key=True)
    memory_id: Mapped[str] = mapped_column(primary_key=True)
    phase: Mapped[str]
    rank: Mapped[int]
    at: Mapped[datetime]
    outcome: Mapped[str] = mapped_column(server_default="")
