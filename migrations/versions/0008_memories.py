"""What became of memories: where they hold, who taught them, how they were used, and when they were recalled

New columns have defaults, so that code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_MOMENT = sa.DateTime(timezone=True)
_INSTALLATION = sa.text(
    "UPDATE memories SET installation_id = coalesce("
    "(SELECT max(runs.installation_id) FROM runs WHERE runs.repository_id = memories.repository_id), 0)"
)


def upgrade() -> None:
    with op.batch_alter_table("memories") as memories:
        memories.add_column(sa.Column("installation_id", sa.BigInteger(), nullable=False, server_default="0"))
        memories.add_column(sa.Column("scope", sa.String(), nullable=False, server_default="repository"))
        memories.add_column(sa.Column("origin", sa.String(), nullable=False, server_default="person"))
        memories.add_column(sa.Column("pinned", sa.Boolean(), nullable=False, server_default=sa.false()))
        memories.add_column(sa.Column("used_at", _MOMENT, nullable=True))
        memories.add_column(sa.Column("archived_why", sa.String(), nullable=False, server_default=""))
    op.execute(_INSTALLATION)
    op.execute(sa.text("UPDATE memories SET used_at = created_at"))
    op.execute(sa.text("UPDATE memories SET archived_why = 'forgotten' WHERE archived_at IS NOT NULL"))
    op.create_index("memories_by_installation", "memories", ["installation_id", "scope", "archived_at"])
    op.create_table(
        "memory_uses",
        sa.Column("memory_id", sa.String(), primary_key=True),
        sa.Column("use", sa.String(), primary_key=True),
        sa.Column("cause", sa.String(), primary_key=True),
        sa.Column("at", _MOMENT, nullable=False),
    )
    op.create_table(
        "recalls",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("task", sa.String(), primary_key=True),
        sa.Column("memory_id", sa.String(), primary_key=True),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("outcome", sa.String(), nullable=False, server_default=""),
    )
    op.create_index("recalls_by_memory", "recalls", ["memory_id"])


def downgrade() -> None:
    op.drop_table("recalls")
    op.drop_table("memory_uses")
    op.drop_index("memories_by_installation", "memories")
    with op.batch_alter_table("memories") as memories:
        for column in ("archived_why", "used_at", "pinned", "origin", "scope", "installation_id"):
            memories.drop_column(column)
