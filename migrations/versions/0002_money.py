"""What calls of models were reserved for and cost

Only new tables: code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "spend",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("reserved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("spend_by_run", "spend", ["run_id", "phase", "step"], unique=False)
    op.create_index("spend_by_repository", "spend", ["repository_id", "day"], unique=False)
    op.create_index("spend_by_installation", "spend", ["installation_id", "day"], unique=False)
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("granted", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope"),
    )


def downgrade() -> None:
    op.drop_table("budgets")
    op.drop_index("spend_by_installation", table_name="spend")
    op.drop_index("spend_by_repository", table_name="spend")
    op.drop_index("spend_by_run", table_name="spend")
    op.drop_table("spend")
