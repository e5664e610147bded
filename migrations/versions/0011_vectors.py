"""Vectors of live memories, for those who have a model make them

They lie in the order of repositories, so that a recall reads those of one in a row. A trigger lets them go with their
memory; a later migration that makes ``memories`` anew on SQLite must make it again, as those of 0009.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_DELETE = "DELETE FROM memory_vectors WHERE repository_id = old.repository_id AND memory_id = old.id;"
_SQLITE = f"""
    CREATE TRIGGER memory_vectors_archived AFTER UPDATE OF archived_at ON memories WHEN new.archived_at IS NOT NULL
    BEGIN {_DELETE} END
"""
_SQLITE_REMOVED = f"CREATE TRIGGER memory_vectors_removed AFTER DELETE ON memories BEGIN {_DELETE} END"
_POSTGRESQL = f"""
    CREATE FUNCTION memory_vectors_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' OR new.archived_at IS NOT NULL THEN
            {_DELETE}
        END IF;
        RETURN NULL;
    END
    $$
"""
_POSTGRESQL_KEPT = """
    CREATE TRIGGER memory_vectors_kept AFTER DELETE OR UPDATE OF archived_at ON memories
    FOR EACH ROW EXECUTE FUNCTION memory_vectors_keep()
"""


def upgrade() -> None:
    op.create_table(
        "memory_vectors",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("memory_id", sa.String(), primary_key=True),
        sa.Column("model", sa.String(), primary_key=True),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sqlite_with_rowid=False,
    )
    for statement in (_SQLITE, _SQLITE_REMOVED) if _is_sqlite() else (_POSTGRESQL, _POSTGRESQL_KEPT):
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    if _is_sqlite():
        op.execute("DROP TRIGGER memory_vectors_archived")
        op.execute("DROP TRIGGER memory_vectors_removed")
    else:
        op.execute("DROP TRIGGER memory_vectors_kept ON memories")
        op.execute("DROP FUNCTION memory_vectors_keep()")
    op.drop_table("memory_vectors")


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
