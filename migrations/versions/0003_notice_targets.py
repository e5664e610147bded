"""Notices are durable work: only how their targets are has a table. What waited for a target is not told any more."""

from collections.abc import Sequence

from alembic import op
from sqlalchemy import BigInteger, Column, DateTime, String, Text

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None
works_from = "0003"

_TIME = DateTime(timezone=True)


def upgrade() -> None:
    op.drop_table("notices")
    op.drop_table("notice_targets")
    op.create_table(
        "notice_targets",
        Column("id", String, primary_key=True),
        Column("name", String, nullable=False),
        Column("repository_id", BigInteger, nullable=False),
        Column("at", _TIME, nullable=False, index=True),
        Column("rest_until", _TIME, nullable=False),
        Column("hour", _TIME, nullable=False),
        Column("told", BigInteger, nullable=False),
        Column("failures", BigInteger, nullable=False),
        Column("problem", Text, nullable=False),
    )
