"""Where the log of deliveries was read to, and the deliveries that were tried in vain

Only new tables: code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "delivery_log",
        sa.Column("app_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("lease_until", _MOMENT, nullable=False),
        sa.Column("read_at", _MOMENT, nullable=True),
        sa.Column("read_to", _MOMENT, nullable=True),
    )
    op.create_table(
        "doubtful_deliveries",
        sa.Column("guid", sa.String(), primary_key=True),
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("first_at", _MOMENT, nullable=False),
        sa.Column("last_at", _MOMENT, nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("doubtful_deliveries")
    op.drop_table("delivery_log")
