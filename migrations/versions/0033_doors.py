"""Which processes only take webhooks, and which older versions work with the schema."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0033"
down_revision: str | None = "0032"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "doors",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("open_until", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "schema_reach",
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("oldest", sa.String(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("schema_reach")
    op.drop_table("doors")
