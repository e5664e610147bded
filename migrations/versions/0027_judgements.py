"""What people say about findings of giving up in disguise, what may pass for a time, and false alarms to learn from"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0027"
down_revision: str | None = "0026"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def _finding() -> list[sa.Column[Any]]:
    """The columns by which a row says which finding it is about."""
    numbers = [sa.Column(name, sa.BigInteger(), nullable=False) for name in ("repository_id", "number")]
    texts = [sa.Column(name, sa.String(), nullable=False) for name in ("fingerprint", "rule", "path")]
    return [sa.Column("id", sa.String(), primary_key=True), *numbers, *texts]


def _person() -> list[sa.Column[Any]]:
    return [
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "judgements",
        *_finding(),
        *_person(),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("judgement", "by_role", "head_sha", "shown")),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("cause", "fingerprint", name="one_judgement_per_command"),
    )
    op.create_index("judgements_by_fingerprint", "judgements", ["repository_id", "fingerprint"])
    op.create_table(
        "whitelists",
        *_finding(),
        *_person(),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.String(), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("cause", name="one_whitelist_per_command"),
    )
    op.create_index("whitelists_of_repository", "whitelists", ["repository_id", "rule"])
    op.create_table(
        "false_alarms",
        *_finding(),
        sa.Column("old_path", sa.String(), nullable=False),
        sa.Column("before", sa.LargeBinary(), nullable=True),
        sa.Column("after", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tried", sa.BigInteger(), nullable=False),
        sa.Column("is_found", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("repository_id", "number", "fingerprint", name="one_false_alarm_per_finding"),
    )


def downgrade() -> None:
    for table in ("false_alarms", "whitelists", "judgements"):
        op.drop_table(table)
