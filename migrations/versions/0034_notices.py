"""Notices: events that somebody is to be told of, what is sent to whom, and how the targets are"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0034"
down_revision: str | None = "0033"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def _moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _text(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.String(), nullable=False)


def _count(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def upgrade() -> None:
    op.create_table("noticed_events", sa.Column("id", sa.String(), primary_key=True))
    op.create_table(
        "notices",
        sa.Column("id", sa.String(), primary_key=True),
        *map(_text, ("cause", "target", "type", "state")),
        *map(_count, ("repository_id", "attempts")),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("content", "more")),
        sa.Column("problem", sa.Text(), nullable=False),
        *map(_moment, ("created_at", "due_at")),
        _moment("ended_at", nullable=True),
        sa.UniqueConstraint("cause", "target", name="one_notice_per_cause"),
    )
    op.create_index("notices_by_state", "notices", ["state", "target", "id"])
    op.create_index("notices_of_target", "notices", ["target", "repository_id", "created_at"])
    op.create_index("notices_by_end", "notices", ["ended_at"])
    op.create_table(
        "notice_targets",
        sa.Column("target", sa.String(), primary_key=True),
        *map(_count, ("repository_id", "failures")),
        _text("holder"),
        sa.Column("problem", sa.Text(), nullable=False),
        *map(_moment, ("retry_at", "lease_until")),
        *(_moment(name, nullable=True) for name in ("failing_since", "gone_at", "sent_at")),
    )


def downgrade() -> None:
    op.drop_table("notice_targets")
    op.drop_table("notices")
    op.drop_table("noticed_events")
