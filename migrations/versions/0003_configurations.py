"""The last valid version of each configuration file

Only a new table: code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "configurations",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("scope"),
    )
    op.create_index(op.f("ix_configurations_installation_id"), "configurations", ["installation_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_configurations_installation_id"), table_name="configurations")
    op.drop_table("configurations")
