"""Keeps the vectors that a model made of memories, and tells how near those of a scope are to a question's (SPEC M2).

One that says something else from now on loses its vector, and gets another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import and_, delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.memories import Memory
from domain.runs import RepositoryRef
from memory.database import Connection, Database, insert_new
from memory.memories import of_row, within
from memory.tables import MemoryRow, MemoryVectorRow

# Both columns: without the repository, each memory's vector would be looked for among all there are.
_OF_MEMORY = and_(MemoryVectorRow.repository_id == MemoryRow.repository_id, MemoryVectorRow.memory_id == MemoryRow.id)


@dataclass(frozen=True)
class Vector:
    """What a model made of a text.

    :param model: its name; vectors of different models, or of different lengths, are never compared.
    """

    model: str
    values: Sequence[float]


async def keep(database: Database, memories: Sequence[Memory], vectors: Sequence[Vector]) -> None:
    """Keep the vectors of memories, one for each. One that is known stays.

    None is kept of a memory that counts no more, or says something else by now.

    :raises ValueError: if one has no direction: nothing but zeros, or a number that is none.
    """
    pairs = [(memory, vector, _stored(vector.values)) for memory, vector in zip(memories, vectors, strict=True)]
    query = select(MemoryRow).where(MemoryRow.id.in_([each.id for each in memories]), MemoryRow.archived_at.is_(None))
    async with database.transaction() as session:
        known = {row.id: (row.content, row.context) for row in await session.scalars(query.with_for_update())}
        rows = [
            {"repository_id": memory.repository_id, "memory_id": memory.id, "model": vector.model, "vector": stored}
            for memory, vector, stored in pairs
            if known.get(memory.id) == (memory.content, memory.context)
        ]
        if rows:
            await session.execute(insert_new(database.dialect, MemoryVectorRow).values(rows))


async def drop(session: AsyncSession, memory: Memory) -> None:
    """Forget the vectors of a memory, within the transaction that changes what it says."""
    mine = MemoryVectorRow.repository_id == memory.repository_id, MemoryVectorRow.memory_id == memory.id
    await session.execute(delete(MemoryVectorRow).where(*mine))


async def missing(database: Database, repository_id: int, model: str, most: int = 100) -> Sequence[Memory]:
    """Live memories of a repository of which this model made no vector yet, the newest first."""
    query = (
        select(MemoryRow)
        .outerjoin(MemoryVectorRow, and_(_OF_MEMORY, MemoryVectorRow.model == model))
        .where(MemoryRow.repository_id == repository_id, MemoryRow.archived_at.is_(None))
        .where(MemoryVectorRow.memory_id.is_(None))
        .order_by(MemoryRow.id.desc())
        .limit(most)
    )
    async with database.transaction() as session:
        return [of_row(row) for row in await session.scalars(query)]


def nearness(
    connection: Connection, repository: RepositoryRef, vector: Vector, *, organisation: bool
) -> Mapping[str, float]:
    """How near the live memories that a repository may see are to a question, by their ids: the cosine, from -1 to 1.

    :param organisation: whether it takes part in what its organisation learned.
    """
    import numpy  # a tenth of a second that commands without vectors need not wait

    stored = select(MemoryVectorRow.memory_id, MemoryVectorRow.vector).where(MemoryVectorRow.model == vector.model)
    rows = connection.execute(stored.where(MemoryVectorRow.repository_id == repository.id)).all()
    if organisation:
        others = within(repository, organisation=True), MemoryRow.repository_id != repository.id
        rows = [*rows, *connection.execute(stored.join(MemoryRow, _OF_MEMORY).where(*others)).all()]
    asked = _stored(vector.values)
    found = [(memory_id, each) for memory_id, each in rows if len(each) == len(asked)]
    read = partial(numpy.frombuffer, dtype="<f4")
    near = read(b"".join(each for _, each in found)).reshape(len(found), -1) @ read(asked) if found else ()
    return {memory_id: float(each) for (memory_id, _), each in zip(found, near, strict=True)}


def _stored(values: Sequence[float]) -> bytes:
    """A vector of length one, as little-endian floats of four bytes."""
    import numpy

    given = numpy.asarray(values, dtype="<f8")
    length = float(numpy.linalg.norm(given))
    if not 0 < length < float("inf"):
        raise ValueError("A vector needs numbers, and one that is not zero.")
    return (given / length).astype("<f4").tobytes()
