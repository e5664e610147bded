"""How much of its rate of writes each installation has used, counted for all processes together"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "write_budgets",
        sa.Column("installation_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("writes", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("write_budgets")
