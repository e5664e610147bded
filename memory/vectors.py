"""Keeps the vectors that a model made of memories, and tells how near those of a scope are to a question's (SPEC M2).

One that says something else from now on loses its vector, and gets another. To read all vectors of a scope takes far
longer than to compare them, so beside each is, for each of its numbers, whether it is above zero: vectors that point
the same way agree in most of these. Those that agree in the most are compared in full (binary quantisation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, and_, delete, func, select, type_coerce
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.ext.asyncio import AsyncSession

from domain.memories import Memory
from domain.ranking import CANDIDATES
from domain.runs import RepositoryRef
from memory.database import Connection, Database, replace
from memory.memories import of_row, within
from memory.tables import MemoryRow, MemoryVectorRow

# Both columns: without the repository, each memory's vector would be looked for among all there are.
_OF_MEMORY = and_(MemoryVectorRow.repository_id == MemoryRow.repository_id, MemoryVectorRow.memory_id == MemoryRow.id)

_COMPARED = 2 * CANDIDATES  # vectors that are compared in full
_SIGNS = 4096  # numbers of a vector whose signs are kept: no more fit into an entry of an index


@dataclass(frozen=True)
class Vector:
    """What a model made of a text.

    :param model: its name; vectors of different models, or of different lengths, are never compared.
    """

    model: str
    values: Sequence[float]


async def keep(database: Database, memories: Sequence[Memory], vectors: Sequence[Vector]) -> None:
    """Keep the vectors of memories, one for each of a model.

    None is kept of a memory that counts no more, or says something else by now.

    :raises ValueError: if one has no direction: nothing but zeros, or a number that is none.
    """
    pairs = [(memory, vector, _stored(vector.values)) for memory, vector in zip(memories, vectors, strict=True)]
    query = select(MemoryRow).where(MemoryRow.id.in_([each.id for each in memories]), MemoryRow.archived_at.is_(None))
    async with database.transaction() as session:
        known = {row.id: (row.content, row.context) for row in await session.scalars(query.with_for_update())}
        rows = [
            {
                "repository_id": memory.repository_id,
                "memory_id": memory.id,
                "model": vector.model,
                "vector": stored,
                "signs": _signs(stored, database.dialect),
            }
            for memory, vector, stored in pairs
            if known.get(memory.id) == (memory.content, memory.context)
        ]
        if rows:
            await session.execute(replace(database.dialect, MemoryVectorRow, rows))


async def drop(session: AsyncSession, memory: Memory) -> None:
    """Forget the vectors of a memory, within the transaction that changes what it says."""
    mine = MemoryVectorRow.repository_id == memory.repository_id, MemoryVectorRow.memory_id == memory.id
    await session.execute(delete(MemoryVectorRow).where(*mine))


async def missing(database: Database, repository_id: int, model: str, most: int = 100) -> Sequence[Memory]:
    """Live memories of a repository whose vectors by this model are not known, or not by their signs; newest first."""
    query = (
        select(MemoryRow)
        .outerjoin(MemoryVectorRow, and_(_OF_MEMORY, MemoryVectorRow.model == model, MemoryVectorRow.signs != ""))
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
    """How near the likely ones of the live memories that a repository may see are to a question, by their ids.

    :param organisation: whether it takes part in what its organisation learned.
    :return: the cosine, from -1 to 1.
    """
    import numpy  # a tenth of a second that commands without vectors need not wait

    asked = _stored(vector.values)
    of_model = select().select_from(MemoryVectorRow).where(MemoryVectorRow.model == vector.model)
    scopes = [of_model.where(MemoryVectorRow.repository_id == repository.id)]
    if organisation:
        others = within(repository, organisation=True), MemoryRow.repository_id != repository.id
        scopes.append(of_model.join(MemoryRow, _OF_MEMORY).where(*others))
    signs, is_sqlite = _signs(asked, connection.dialect.name), connection.dialect.name == "sqlite"
    question = numpy.frombuffer(asked, "<f4")
    near: dict[str, float] = {}
    for scope in scopes:
        ids = _likely_in_sqlite(connection, scope, signs) if is_sqlite else _likely(scope, signs)
        stored = scope.with_only_columns(MemoryVectorRow.memory_id, MemoryVectorRow.vector)
        rows = connection.execute(stored.where(MemoryVectorRow.memory_id.in_(ids))).all()
        full = {memory_id: each for memory_id, each in rows if len(each) == len(asked)}
        numbers = numpy.frombuffer(b"".join(full.values()), "<f4").reshape(-1, len(question))
        near |= zip(full, (numbers @ question).tolist(), strict=True)
    return near


def _likely(scope: Select[()], signs: str) -> Select[str]:
    """The ids of those of a scope whose signs agree in the most numbers."""
    differing = func.bit_count(type_coerce(MemoryVectorRow.signs, BIT(varying=True)).bitwise_xor(signs))
    ids = scope.with_only_columns(MemoryVectorRow.memory_id).where(func.length(MemoryVectorRow.signs) == len(signs))
    return ids.order_by(differing).limit(_COMPARED)


def _likely_in_sqlite(connection: Connection, scope: Select[()], signs: str) -> Sequence[str]:
    """The same on SQLite, counted here: SQLite counts no bits, and a row for each would take longer than all in one."""
    import numpy

    every = func.aggregate_strings(MemoryVectorRow.memory_id, " "), func.aggregate_strings(MemoryVectorRow.signs, "")
    alike = scope.with_only_columns(*every).where(func.length(MemoryVectorRow.signs) == len(signs))
    together, known = connection.execute(alike).one()
    if not together:
        return ()
    ids: list[str] = together.split()
    bits, asked = (numpy.frombuffer(bytes.fromhex(each), "u1") for each in (known, signs))
    differing = numpy.bitwise_count(bits.reshape(len(ids), -1) ^ asked).sum(axis=1)
    order: list[int] = numpy.argsort(differing, kind="stable").tolist()
    return [ids[place] for place in order[:_COMPARED]]


def _stored(values: Sequence[float]) -> bytes:
    """A vector of length one, as little-endian floats of four bytes."""
    import numpy

    given = numpy.asarray(values, dtype="<f8")
    length = float(numpy.linalg.norm(given))
    if not 0 < length < float("inf"):
        raise ValueError("A vector needs numbers, and one that is not zero.")
    return (given / length).astype("<f4").tobytes()


def _signs(stored: bytes, dialect: str) -> str:
    """A bit for each number of a vector, set if it is above zero; on SQLite, which has no such type, in hexadecimal."""
    import numpy

    bits = numpy.packbits(numpy.frombuffer(stored, "<f4")[:_SIGNS] > 0).tobytes()
    return bits.hex() if dialect == "sqlite" else "".join(f"{each:08b}" for each in bits)
