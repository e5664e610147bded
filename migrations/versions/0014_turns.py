"""What guards see of a turn beside the answer, so that no large answer is read before each call

The new column may be empty, so that code of the version before runs on this schema; where it is, guards see the answer.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("answers", sa.Column("turn", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("answers") as answers:
        answers.drop_column("turn")
