"""Which repositories were told what Forge does there"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0035"
down_revision: str | None = "0034"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "welcomes",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("way", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("overview", sa.JSON(), nullable=True),
    )
    op.create_index("ix_welcomes_installation_id", "welcomes", ["installation_id"])


def downgrade() -> None:
    op.drop_table("welcomes")
