"""The branch a run's pull request goes into, and the name of the run's check, which depends on that

The new columns have defaults, so that code of the version before runs on this schema; of runs of before, the branch is
not known, and their check has the name it had.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("runs") as runs:
        runs.add_column(sa.Column("base_ref", sa.String(), nullable=False, server_default=""))
        runs.add_column(sa.Column("check_name", sa.String(), nullable=False, server_default="Forge / review"))


def downgrade() -> None:
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("check_name")
        runs.drop_column("base_ref")
