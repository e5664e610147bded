"""Which commits of its own Forge had GitHub make anew and sign"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0044"
down_revision: str | None = "0043"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "signed_commits",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("made_sha", sa.String(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "made_sha"),
    )
    op.create_index("ix_signed_commits_sha", "signed_commits", ["sha"])
    op.create_index("ix_signed_commits_at", "signed_commits", ["at"])


def downgrade() -> None:
    op.drop_table("signed_commits")
