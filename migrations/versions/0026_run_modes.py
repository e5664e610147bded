"""The mode that somebody asked for when a run began

Code of the version before leaves it empty, which stands for the configuration's mode, as for the runs before.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0026"
down_revision: str | None = "0025"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("mode", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "mode")
