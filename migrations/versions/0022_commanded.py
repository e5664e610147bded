"""The comments with commands of the last hour, which are counted by account"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0022"
down_revision: str | None = "0021"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "commanded",
        sa.Column("guid", sa.String(), primary_key=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told", sa.String(), nullable=False),
    )
    op.create_index("ix_commanded_at", "commanded", ["at"])


def downgrade() -> None:
    op.drop_table("commanded")
