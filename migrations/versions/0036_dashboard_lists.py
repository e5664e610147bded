"""What finds the findings, memories and costs that the dashboard lists"""

from collections.abc import Sequence

from alembic import op

revision: str = "0036"
down_revision: str | None = "0035"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_INDEXES = {
    "findings_by_repository": ("findings", ["repository_id", "id"]),
    "findings_by_review": ("findings", ["repository_id", "posted_by", "id"]),
    "findings_by_fingerprint": ("findings", ["repository_id", "fingerprint", "id"]),
    "dismissals_by_memory": ("dismissals", ["memory_id"]),
    "memories_in_order": ("memories", ["repository_id", "id"]),
}


def upgrade() -> None:
    for name, (table, columns) in _INDEXES.items():
        op.create_index(name, table, columns)


def downgrade() -> None:
    for name, (table, _) in _INDEXES.items():
        op.drop_index(name, table)
