"""Who is signed in to the dashboard, and what finds the runs that its pages show"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0032"
down_revision: str | None = "0030"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_OF_RUNS = {
    "runs_by_repository": ["repository_id", "id"],
    "runs_by_repository_and_state": ["repository_id", "state", "id"],
    "runs_by_number": ["repository_id", "number", "id"],
    "runs_by_name": ["owner", "name", "id"],
}


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(), primary_key=True),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("candidates", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("sessions_by_account", "sessions", ["account_id", "created_at"])
    op.create_index("sessions_by_start", "sessions", ["created_at"])
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("sign_ins_by_time", "sign_ins", ["at"])
    op.drop_index("runs_by_head", "runs")
    op.create_index("runs_by_head", "runs", ["repository_id", "head_sha", "id"])
    for name, columns in _OF_RUNS.items():
        op.create_index(name, "runs", columns)


def downgrade() -> None:
    for name in _OF_RUNS:
        op.drop_index(name, "runs")
    op.drop_index("runs_by_head", "runs")
    op.create_index("runs_by_head", "runs", ["repository_id", "head_sha"])
    op.drop_table("sign_ins")
    op.drop_table("sessions")
