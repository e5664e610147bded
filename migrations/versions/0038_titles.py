"""What pull requests and issues are called, so that people recognise the runs on them"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0038"
down_revision: str | None = "0037"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("pull_requests") as pull_requests:
        pull_requests.add_column(sa.Column("title", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("pull_requests") as pull_requests:
        pull_requests.drop_column("title")
