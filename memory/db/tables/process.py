"""The tables of Forge's processes: their leases, doors that are open, the operator's halt, and GitHub's rate limits."""

from datetime import datetime

from sqlalchemy import Text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class ExecutorRow(TableRow):
    """The lease of a process on its executor id; when it lapses, another process recovers its workflows."""

    __tablename__ = "executors"

    id: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int]
    lease_until: Mapped[datetime]


class DoorRow(TableRow):
    """A process that only takes webhooks, and until when it counts as there. Whoever works has GitHub repeat for it."""

    __tablename__ = "doors"

    id: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    open_until: Mapped[datetime]


class SchemaReachRow(TableRow):
    """The oldest schema whose version of Forge works with the present one; one row."""

    __tablename__ = "schema_reach"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    oldest: Mapped[str]


class LimitRow(TableRow):
    """Until when Forge sends nothing to GitHub for an installation (0: the App itself), as GitHub asked."""

    __tablename__ = "github_limits"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    until: Mapped[datetime]
    reason: Mapped[str]
    streak: Mapped[int]


class WriteBudgetRow(TableRow):
    """Until when the writes of an installation (0: the App itself) have used up its rate."""

    __tablename__ = "write_budgets"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    writes: Mapped[datetime]
    content: Mapped[datetime]  # the same for writes that create content


class HaltRow(TableRow):
    """The operator's halt of every process; there is one row, or none."""

    __tablename__ = "halts"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    why: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime]
