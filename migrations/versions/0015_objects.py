"""Which write made a pull request is looked for by its number, at every push to one

An index changes nothing for code of the version before.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("writes_by_object", "outbox", ["kind", "remote_id"])


def downgrade() -> None:
    op.drop_index("writes_by_object", "outbox")
