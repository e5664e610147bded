"""Keeps the vectors of memories, and measures how similar those of a scope are to the vector of a query.

A memory whose text changes loses its vector and gets a new one. Reading all vectors of a scope takes far longer than
comparing them. So each has, for its first numbers, a bit that says whether the number is above their mean: similar
vectors agree in most bits. Those that agree in the most are compared in full (binary quantisation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, and_, delete, func, select, type_coerce, update
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.ext.asyncio import AsyncSession

from domain.memories import CANDIDATES, Memory
from domain.runs.run import RepositoryRef
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.repositories import MemoryRow, MemoryVectorRow
from memory.learned.memories import from_row, is_shared_with

# Both columns: without the repository, the vector of each memory would be searched for among all vectors.
_OF_MEMORY = and_(MemoryVectorRow.repository_id == MemoryRow.repository_id, MemoryVectorRow.memory_id == MemoryRow.id)

_COMPARED = 2 * CANDIDATES  # vectors of a scope that are compared in full
_SIGNS = 256  # numbers of a vector that have a bit; those of 10,000 vectors are read in a few ms


@dataclass(frozen=True)
class Vector:
    """A model's embedding of a text.

    :param model: its name; vectors of different models, or of different lengths, are never compared.
    """

    model: str
    values: Sequence[float]


async def keep(database: Database, memories: Sequence[Memory], vectors: Sequence[Vector]) -> None:
    """Store the vectors of memories, one for each. A stored vector stays.

    Stores none for a memory that is archived or has another text by now.

    :raises ValueError: if a vector has no direction: only zeros, or a value that is not a finite number.
    """
    pairs = [(memory, vector, _encode(vector.values)) for memory, vector in zip(memories, vectors, strict=True)]
    ids = [each.id for each in memories]
    # An update that changes nothing locks on SQLite, too: nobody changes a memory before its vector is stored.
    locked = update(MemoryRow).where(MemoryRow.id.in_(ids), MemoryRow.archived_at.is_(None))
    texts = locked.values(id=MemoryRow.id).returning(MemoryRow.id, MemoryRow.content, MemoryRow.context)
    async with database.transaction() as session:
        known = {row.id: (row.content, row.context) for row in await session.execute(texts)}
        rows = [
            {
                "repository_id": memory.repository_id,
                "memory_id": memory.id,
                "model": vector.model,
                "vector": stored,
                "dimensions": len(vector.values),
                "signs": _compute_signs(stored, database.dialect),
            }
            for memory, vector, stored in pairs
            if known.get(memory.id) == (memory.content, memory.context)
        ]
        if rows:
            await session.execute(insert_new(database.dialect, MemoryVectorRow).values(rows))


async def drop(session: AsyncSession, memory: Memory) -> None:
    """Delete the vectors of a memory, within the transaction that changes its text."""
    mine = MemoryVectorRow.repository_id == memory.repository_id, MemoryVectorRow.memory_id == memory.id
    await session.execute(delete(MemoryVectorRow).where(*mine))


async def list_missing(database: Database, repository_id: int, model: str, most: int = 100) -> Sequence[Memory]:
    """Live memories of a repository that have no vector by this model; newest first."""
    query = (
        select(MemoryRow)
        .outerjoin(MemoryVectorRow, and_(_OF_MEMORY, MemoryVectorRow.model == model))
        .where(MemoryRow.repository_id == repository_id, MemoryRow.archived_at.is_(None))
        .where(MemoryVectorRow.memory_id.is_(None))
        .order_by(MemoryRow.id.desc())
        .limit(most)
    )
    return [from_row(row) for row in await database.scalars(query)]


def compute_similarity(
    connection: Connection, repository: RepositoryRef, vector: Vector, *, organisation: bool
) -> Mapping[str, float]:
    """How similar memories are to a query, by id: the likely ones of the live memories that a repository may see.

    :param organisation: whether it takes part in what its organisation learned.
    :return: the cosine, from -1 to 1.
    """
    import numpy  # takes a tenth of a second, so commands without vectors leave it out

    asked, is_sqlite = _encode(vector.values), connection.dialect.name == "sqlite"
    signs, question = _compute_signs(asked, connection.dialect.name), numpy.frombuffer(asked, "<f4")
    comparable = MemoryVectorRow.model == vector.model, MemoryVectorRow.dimensions == len(question)
    every = select().select_from(MemoryVectorRow).where(*comparable)
    scopes = [every.where(MemoryVectorRow.repository_id == repository.id)]
    if organisation:
        scopes.append(every.join(MemoryRow, _OF_MEMORY).where(is_shared_with(repository)))
    near: dict[str, float] = {}
    for scope in scopes:
        ids = _find_likely_sqlite(connection, scope, signs) if is_sqlite else _select_likely(scope, signs)
        stored = scope.with_only_columns(MemoryVectorRow.memory_id, MemoryVectorRow.vector)
        rows = connection.execute(stored.where(MemoryVectorRow.memory_id.in_(ids))).all()
        numbers = numpy.frombuffer(b"".join(each for _, each in rows), "<f4").reshape(-1, len(question))
        near |= zip((memory_id for memory_id, _ in rows), (numbers @ question).tolist(), strict=True)
    return near


def _select_likely(scope: Select[()], signs: str) -> Select[str]:
    """The ids of a scope's memories whose signs agree in the most bits; among equals, the newest."""
    differing = func.bit_count(type_coerce(MemoryVectorRow.signs, BIT(varying=True)).bitwise_xor(signs))
    ids = scope.with_only_columns(MemoryVectorRow.memory_id)
    return ids.order_by(differing, MemoryVectorRow.memory_id.desc()).limit(_COMPARED)


def _find_likely_sqlite(connection: Connection, scope: Select[()], signs: str) -> Sequence[str]:
    """The same for SQLite, which cannot count bits; reading all signs in one row is faster than a row for each."""
    import numpy

    every = func.aggregate_strings(MemoryVectorRow.memory_id, " "), func.aggregate_strings(MemoryVectorRow.signs, "")
    together, known = connection.execute(scope.with_only_columns(*every)).one()
    if not together:
        return ()
    ids: list[str] = together.split()
    bits, asked = (numpy.frombuffer(bytes.fromhex(each), "u1") for each in (known, signs))
    differing = numpy.bitwise_count(bits.reshape(len(ids), -1) ^ asked).sum(axis=1)
    # The index has the newest last.
    order: list[int] = numpy.lexsort((numpy.arange(len(ids), 0, -1), differing)).tolist()
    return [ids[place] for place in order[:_COMPARED]]


def _encode(values: Sequence[float]) -> bytes:
    """A vector of length one, as little-endian floats of four bytes."""
    import numpy

    given = numpy.asarray(values, dtype="<f8")
    length = float(numpy.linalg.norm(given))
    if not 0 < length < float("inf"):
        raise ValueError("A vector needs numbers, and one that is not zero.")
    return (given / length).astype("<f4").tobytes()


def _compute_signs(stored: bytes, dialect: str) -> str:
    """A bit for each of a vector's first numbers, set if it is above their mean.

    Their mean and not zero, because all numbers of a vector may be above zero.

    :return: in hexadecimal on SQLite, which has no type for bits.
    """
    import numpy

    numbers = numpy.frombuffer(stored, "<f4")[:_SIGNS]
    bits = numpy.packbits(numbers > numbers.mean()).tobytes()
    return bits.hex() if dialect == "sqlite" else "".join(f"{each:08b}" for each in bits)
