"""What an agent had changed at moments of its work, so that people can take it back and a restart loses little"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0025"
down_revision: str | None = "0024"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    texts = (sa.Column(name, sa.String(), nullable=False) for name in ("run_id", "work", "base"))
    op.create_table(
        "work_checkpoints",
        sa.Column("id", sa.String(), primary_key=True),
        *texts,
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("run_id", "work", "base", "number", name="one_chain_per_work"),
    )
    op.create_index("work_checkpoints_by_time", "work_checkpoints", ["time"])


def downgrade() -> None:
    op.drop_table("work_checkpoints")
