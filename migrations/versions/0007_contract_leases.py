"""Leases on contracts, so that two runs never change the same one at once

Only a new table: code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "contract_leases",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("contract", sa.String(), primary_key=True),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("contract_leases_by_end", "contract_leases", ["until"])


def downgrade() -> None:
    op.drop_table("contract_leases")
