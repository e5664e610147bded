"""Where a dismissed finding of a model stands, so that other words for it are known again

The new column has a default, so that code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("dismissals") as dismissals:
        dismissals.add_column(sa.Column("place", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("dismissals") as dismissals:
        dismissals.drop_column("place")
