"""What monitoring systems send in their own words: a problem may be over, and a token knows what they do not say"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0042"
down_revision: str | None = "0041"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("problems", sa.Column("resolved_at", sa.DateTime(timezone=True)))
    op.add_column("feedback_tokens", sa.Column("environment", sa.String()))
    op.add_column("feedback_tokens", sa.Column("signing_secret", sa.String()))


def downgrade() -> None:
    op.drop_column("feedback_tokens", "signing_secret")
    op.drop_column("feedback_tokens", "environment")
    op.drop_column("problems", "resolved_at")
