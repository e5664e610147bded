"""Who pushed each head of every branch, and what waits for a second person to say it, too"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0040"
down_revision: str | None = "0039"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "branch_pushes",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("pusher", sa.String(), nullable=False),
        sa.Column("before_sha", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "head_sha", "by_id", "pusher"),
    )
    op.create_index("ix_branch_pushes_at", "branch_pushes", ["at"])
    op.create_table(
        "assents",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("said", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "number", "said", "by_id"),
    )
    op.create_index("ix_assents_at", "assents", ["at"])
    _move_pushes()


def _move_pushes() -> None:
    """``pushes`` had who pushed each head; it does not tell which were made on a page, as it does from now on."""
    op.execute(
        "INSERT INTO branch_pushes (repository_id, head_sha, by_id, pusher, before_sha, at)"
        " SELECT repository_id, head_sha, by_id, 'person', '', min(at) FROM pushes"
        " GROUP BY repository_id, head_sha, by_id"
    )
    op.execute("DELETE FROM pushes")


def downgrade() -> None:
    op.drop_table("assents")
    op.drop_table("branch_pushes")
