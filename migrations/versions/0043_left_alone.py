"""Which pull requests a person told Forge to leave alone"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0043"
down_revision: str | None = "0042"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("pull_requests", sa.Column("left_alone_by", sa.String()))


def downgrade() -> None:
    op.drop_column("pull_requests", "left_alone_by")
