"""Beside each vector, for its first numbers, whether they are above their mean: by that the likely ones are found

Code of the version before may still add vectors without; their memories are given new ones. On SQLite the table had no
row ids, and so room for a thousand bytes of a row: the rest of each vector was a page of its own.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_KEY = ("repository_id", "memory_id", "model")
_BITS = sa.String().with_variant(postgresql.BIT(varying=True), "postgresql")
_SIGNS = 256  # numbers of a vector that have a sign
_VECTORS = sa.table(
    "memory_vectors", *map(sa.column, (*_KEY, "vector", "dimensions")), sa.column("signs", _BITS)
)  # as they are from now on


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        # Not renamed: SQLite would look through the triggers that name the table, and miss it.
        connection.exec_driver_sql("CREATE TABLE memory_vectors_before AS SELECT * FROM memory_vectors")
        op.drop_table("memory_vectors")
        op.create_table(
            "memory_vectors",
            sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
            sa.Column("memory_id", sa.String(), primary_key=True),
            sa.Column("model", sa.String(), primary_key=True),
            sa.Column("vector", sa.LargeBinary(), nullable=False),
            *_added(),
        )
        _fill(connection, "memory_vectors_before", sa.insert(_VECTORS))
        op.drop_table("memory_vectors_before")
    else:
        for each in _added():
            op.add_column("memory_vectors", each)
        same = [_VECTORS.c[each] == sa.bindparam(f"of_{each}") for each in _KEY]
        changed = {each: sa.bindparam(each, type_=_VECTORS.c[each].type) for each in ("dimensions", "signs")}
        _fill(connection, "memory_vectors", sa.update(_VECTORS).where(*same).values(changed))
    op.create_index(
        "memory_vectors_by_signs", "memory_vectors", ["repository_id", "model", "dimensions", "memory_id", "signs"]
    )


def downgrade() -> None:
    op.drop_index("memory_vectors_by_signs", "memory_vectors")
    op.drop_column("memory_vectors", "signs")
    op.drop_column("memory_vectors", "dimensions")


def _added() -> Sequence[sa.Column[Any]]:
    return (
        sa.Column("dimensions", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("signs", _BITS, nullable=False, server_default=""),
    )


def _fill(connection: sa.Connection, before: str, write: sa.Insert | sa.Update) -> None:
    """Give the vectors of a table their signs, a thousand at a time."""
    read = sa.select(*map(sa.column, (*_KEY, "vector"))).select_from(sa.table(before))
    stored = connection.execute(read, execution_options={"yield_per": 1_000})
    for rows in stored.mappings().partitions():
        connection.execute(write, [_row(dict(each), connection.dialect.name) for each in rows])


def _row(row: dict[Any, Any], dialect: str) -> dict[Any, Any]:
    import numpy  # a tenth of a second that commands without a migration need not wait

    numbers = numpy.frombuffer(row["vector"], "<f4")
    first = numbers[:_SIGNS]
    bits = numpy.packbits(first > first.mean()).tobytes()
    signs = bits.hex() if dialect == "sqlite" else "".join(f"{each:08b}" for each in bits)
    known = {"dimensions": len(numbers), "signs": signs}
    return {**row, **known} if dialect == "sqlite" else {f"of_{each}": row[each] for each in _KEY} | known
