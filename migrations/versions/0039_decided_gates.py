"""Gates by when they were decided, for the metrics"""

from collections.abc import Sequence

from alembic import op

revision: str = "0039"
down_revision: str | None = "0038"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("gates_by_decision", "gates", ["repository_id", "decided_at"])


def downgrade() -> None:
    op.drop_index("gates_by_decision", "gates")
