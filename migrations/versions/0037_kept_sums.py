"""What makes the pages of costs, metrics and the audit quick: sums of days, and indexes that answer alone"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0037"
down_revision: str | None = "0036"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_SPEND = (
    "repository_id",
    "day",
    "phase",
    "model",
    "run_id",
    "state",
    "amount",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)
_IS_AUDITED = sa.text(
    "(type LIKE 'gate.%' OR type LIKE 'breaker.%' OR type LIKE 'guard.%' OR type LIKE 'ladder.%' "
    "OR type LIKE 'safety.%' OR type LIKE 'feedback.%' OR type LIKE 'checkpoint.%' "
    "OR type IN ('budget.granted', 'budget.refused', 'permission.refused', 'memory.stored', 'memory.edited', "
    "'memory.archived', 'memory.imported'))"
)
_IS_BESIDE_RUNS = sa.text("length(trace) <> 26")


def upgrade() -> None:
    op.create_table(
        "metric_days",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("stamp", sa.String(), nullable=False),
        sa.Column("sums", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "day"),
    )
    op.create_index("spend_of_days", "spend", list(_SPEND))
    op.drop_index("spend_by_repository", "spend")
    op.create_index(
        "events_of_audit",
        "events",
        ["time", "id", "trace", "type"],
        sqlite_where=_IS_AUDITED,
        postgresql_where=_IS_AUDITED,
    )
    op.create_index(
        "events_beside_runs", "events", ["time"], sqlite_where=_IS_BESIDE_RUNS, postgresql_where=_IS_BESIDE_RUNS
    )


def downgrade() -> None:
    op.drop_index("events_beside_runs", "events")
    op.drop_index("events_of_audit", "events")
    op.create_index("spend_by_repository", "spend", ["repository_id", "day"])
    op.drop_index("spend_of_days", "spend")
    op.drop_table("metric_days")
