"""All tables of Forge, as the code describes them until the first release writes them out here."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from memory.db.engine import TableRow

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("alembic_version", sa.Column("oldest", sa.String()))  # the schema whose code works with this one
    TableRow.metadata.create_all(op.get_bind(), checkfirst=False)
