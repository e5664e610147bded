"""Dismissals and the memories they teach, pauses, oks for strangers' heads, and the comment of a finding"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("findings", sa.Column("comment_id", sa.BigInteger(), nullable=True))
    op.create_table(
        "dismissals",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.String(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("undone_at", _MOMENT, nullable=True),
    )
    op.create_index("dismissals_by_fingerprint", "dismissals", ["repository_id", "fingerprint"])
    op.create_table(
        "memories",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("last_accessed", _MOMENT, nullable=False),
        sa.Column("access_count", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", _MOMENT, nullable=True),
    )
    op.create_index("memories_by_repository", "memories", ["repository_id", "archived_at"])
    op.create_table(
        "pauses",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("since", _MOMENT, nullable=False),
    )
    op.create_table(
        "oks",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("head_sha", sa.String(), primary_key=True),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("given_at", _MOMENT, nullable=False),
    )


def downgrade() -> None:
    for table in ("oks", "pauses", "memories", "dismissals"):
        op.drop_table(table)
    with op.batch_alter_table("findings") as findings:
        findings.drop_column("comment_id")
