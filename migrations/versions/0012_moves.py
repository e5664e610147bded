"""An index of when runs worked and waited, which is asked before each call of a model, however much else they did"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    where = sa.text("type LIKE 'run.%'")
    op.create_index("events_of_moves", "events", ["trace", "id"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    op.drop_index("events_of_moves", "events")
