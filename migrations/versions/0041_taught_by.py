"""Who taught a memory, so that it does not go into the review of what they write"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0041"
down_revision: str | None = "0040"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("memories", sa.Column("taught_by", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("memories", "taught_by")
