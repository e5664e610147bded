"""Gates and their decisions, kept answers, circuits, the halt, the automation ladder

Only new tables: code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "answers",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("question", sa.String(), primary_key=True),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("time", _MOMENT, nullable=False),
    )
    op.create_table(
        "gates",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("repository_name", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("asked_at", _MOMENT, nullable=False),
        sa.Column("until", _MOMENT, nullable=False),
        sa.Column("decision", sa.JSON(), nullable=True),
        sa.Column("decided_at", _MOMENT, nullable=True),
        sa.Column("delegate", sa.String(), nullable=True),
        sa.Column("check_id", sa.BigInteger(), nullable=True),
        sa.Column("comment_id", sa.BigInteger(), nullable=True),
        sa.UniqueConstraint("run_id", "name", "subject", name="gate_identity"),
    )
    op.create_index("gates_of_pull_request", "gates", ["repository_id", "number", "state"])
    op.create_index("gates_by_deadline", "gates", ["state", "until"])
    op.create_table(
        "circuits",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("provider", sa.String(), primary_key=True),
        sa.Column("circuit", sa.JSON(), nullable=False),
    )
    op.create_table(
        "halts",
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("since", _MOMENT, nullable=False),
    )
    op.create_table(
        "ladders",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("level", sa.BigInteger(), nullable=False),
        sa.Column("since", _MOMENT, nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
    )
    op.create_table(
        "missed",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False, unique=True),
        sa.Column("time", _MOMENT, nullable=False),
    )
    op.create_index("missed_by_repository", "missed", ["repository_id", "time"])


def downgrade() -> None:
    for table in ("missed", "ladders", "halts", "circuits", "gates", "answers"):
        op.drop_table(table)
