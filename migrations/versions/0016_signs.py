"""Beside each vector, for each of its numbers, whether it is above zero: by that the likely ones are found

Code of the version before may still add vectors, without signs; their memories are given new ones. On SQLite the table
was one without row ids, which has room for a thousand bytes of a row: the rest of each vector was a page of its own.
"""

from collections.abc import Sequence

import numpy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_SIGNS = 4096  # numbers of a vector whose signs are kept
_VECTORS = sa.table("memory_vectors", *map(sa.column, ("repository_id", "memory_id", "model", "vector", "signs")))
_SAME = [_VECTORS.c[key] == sa.bindparam(f"of_{key}") for key in ("repository_id", "memory_id", "model")]


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _give_rows_ids(connection)
    bits = sa.String().with_variant(postgresql.BIT(varying=True), "postgresql")
    op.add_column("memory_vectors", sa.Column("signs", bits, nullable=False, server_default=""))
    stored = connection.execute(sa.select(_VECTORS), execution_options={"yield_per": 1_000})
    signs = [
        {"of_repository_id": row.repository_id, "of_memory_id": row.memory_id, "of_model": row.model}
        | {"made": _signs(row.vector, connection.dialect.name)}
        for row in stored
    ]
    if signs:
        connection.execute(sa.update(_VECTORS).where(*_SAME).values(signs=sa.bindparam("made", type_=bits)), signs)
    op.create_index("memory_vectors_by_signs", "memory_vectors", ["repository_id", "model", "memory_id", "signs"])


def downgrade() -> None:
    op.drop_index("memory_vectors_by_signs", "memory_vectors")
    op.drop_column("memory_vectors", "signs")


def _give_rows_ids(connection: sa.Connection) -> None:
    """Without a renaming: SQLite would look through the triggers that name the table, and miss it."""
    connection.exec_driver_sql("CREATE TEMP TABLE kept AS SELECT * FROM memory_vectors")
    op.drop_table("memory_vectors")
    op.create_table(
        "memory_vectors",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("memory_id", sa.String(), primary_key=True),
        sa.Column("model", sa.String(), primary_key=True),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
    )
    connection.exec_driver_sql(
        "INSERT INTO memory_vectors (repository_id, memory_id, model, vector) SELECT * FROM kept"
    )
    connection.exec_driver_sql("DROP TABLE kept")


def _signs(vector: bytes, dialect: str) -> str:
    bits = numpy.packbits(numpy.frombuffer(vector, "<f4")[:_SIGNS] > 0).tobytes()
    return bits.hex() if dialect == "sqlite" else "".join(f"{each:08b}" for each in bits)
