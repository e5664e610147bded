"""How agents recovered from giving up in disguise, so that attempts are counted across restarts and later runs"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0028"
down_revision: str | None = "0027"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    texts = (sa.Column(name, sa.String(), nullable=False) for name in ("work", "tried", "said", "outcome"))
    op.create_table(
        "recovery_attempts",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        *texts,
        sa.Column("trouble", sa.JSON(), nullable=False),
        sa.Column("strategy", sa.String(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("run_id", "tried", name="one_recovery_per_try"),
    )
    op.create_index("recoveries_of_issue", "recovery_attempts", ["repository_id", "number"])
    op.create_index("recoveries_by_time", "recovery_attempts", ["time"])


def downgrade() -> None:
    op.drop_table("recovery_attempts")
