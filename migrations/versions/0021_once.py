"""What a delivery is known by beside its GUID, which GitHub does not sign: a signed body that is sent again acts once

The new column may be empty, so that code of the version before runs on this schema.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0021"
down_revision: str | None = "0020"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("deliveries") as deliveries:
        deliveries.add_column(sa.Column("acts_once", sa.String(), nullable=True))
        deliveries.create_unique_constraint("deliveries_acts_once_key", ["acts_once"])


def downgrade() -> None:
    with op.batch_alter_table("deliveries") as deliveries:
        deliveries.drop_constraint("deliveries_acts_once_key")
        deliveries.drop_column("acts_once")
