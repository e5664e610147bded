"""Which role who dismissed a finding had, so that a rule that blocks is not muted by one writer alone

The new column has a default, so that code of the version before runs on this schema; of what was dismissed before, the
role is not known.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("dismissals") as dismissals:
        dismissals.add_column(sa.Column("by_role", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("dismissals") as dismissals:
        dismissals.drop_column("by_role")
