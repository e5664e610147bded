"""The index of when runs worked and waited knows their phases, too, since each has a time of its own"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_INDEX = "events_of_moves"


def upgrade() -> None:
    _replace("(type LIKE 'run.%' OR type LIKE 'phase.%')")


def downgrade() -> None:
    _replace("type LIKE 'run.%'")


def _replace(condition: str) -> None:
    op.drop_index(_INDEX, "events")
    where = sa.text(condition)
    op.create_index(_INDEX, "events", ["trace", "id"], sqlite_where=where, postgresql_where=where)
