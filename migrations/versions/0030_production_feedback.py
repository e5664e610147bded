"""What monitoring tells of production, and the tokens with which it may"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0030"
down_revision: str | None = "0029"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def _moment(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "feedback_tokens",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        _moment("created_at", nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        _moment("revoked_at"),
        _moment("used_at"),
        sa.Column("allowance", sa.Float(), nullable=False),
        _moment("allowed_at", nullable=False),
    )
    op.create_index("ix_feedback_tokens_repository_id", "feedback_tokens", ["repository_id"])
    counters = ("repository_id", "reports", "occurrences", "affected_users", "opened")
    op.create_table(
        "problems",
        sa.Column("id", sa.String(), primary_key=True),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in counters),
        *(sa.Column(name, sa.BigInteger(), nullable=True) for name in ("issue", "earlier_issue", "learned_from")),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("fingerprint", "kind")),
        *(sa.Column(name, sa.String(), nullable=True) for name in ("deployment_id", "held_deployment_id")),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("report", "environments", "suspects")),
        sa.Column("said", sa.Text(), nullable=False),
        *(_moment(name, nullable=False) for name in ("first_seen", "last_seen")),
        *(_moment(name) for name in ("opened_at", "shown_at", "closed_at", "queued_at")),
        sa.UniqueConstraint("repository_id", "fingerprint", name="problems_by_fingerprint"),
    )
    op.create_index("problems_by_issue", "problems", ["repository_id", "issue"])


def downgrade() -> None:
    op.drop_table("problems")
    op.drop_table("feedback_tokens")
