"""Deployments, and who works in which environment; a deployment has a fencing token of its own"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0029"
down_revision: str | None = "0028"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("lane", sa.BigInteger(), nullable=True))
    needed = ("environment", "sha", "previous_sha", "cause", "ordered_by", "state", "detail", "wished_by")
    texts = (sa.Column(name, sa.Text() if name == "detail" else sa.String(), nullable=False) for name in needed)
    op.create_table(
        "deployments",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        *texts,
        sa.Column("is_production", sa.Boolean(), nullable=False),
        sa.Column("risk", sa.String(), nullable=True),
        sa.Column("wish", sa.String(), nullable=True),
        sa.Column("percentage", sa.BigInteger(), nullable=False),
        sa.Column("github_id", sa.BigInteger(), nullable=True),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("kept", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.create_index("deployments_by_environment", "deployments", ["repository_id", "environment", "created_at"])
    op.create_table(
        "environments",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("environment", sa.String(), primary_key=True),
        sa.Column("run_id", sa.String(), nullable=True),
    )


def downgrade() -> None:
    op.drop_table("environments")
    op.drop_table("deployments")
    op.drop_column("runs", "lane")
