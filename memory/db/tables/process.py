"""The tables of Forge's processes: their leases, and GitHub's rate limits."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class ExecutorRow(TableRow):
    """The lease of a process on its executor id; when it lapses, another process recovers its workflows.

    A process that only takes webhooks has one, too, so that whoever works has GitHub repeat what it missed.
    """

    __tablename__ = "executors"

    id: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int]
    lease_until: Mapped[datetime]


class SchemaReachRow(TableRow):
    """The oldest schema whose version of Forge works with the present one; one row."""

    __tablename__ = "schema_reach"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    oldest: Mapped[str]


class LimitRow(TableRow):
    """Until when Forge sends nothing to GitHub for an installation (0: the App itself), or only no writes."""

    __tablename__ = "github_limits"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    until: Mapped[datetime | None]  # as GitHub asked; None: it asks for nothing
    reason: Mapped[str] = mapped_column(server_default="")
    streak: Mapped[int] = mapped_column(server_default="0")
    writes: Mapped[datetime | None]  # until then they have used up their rate
    content: Mapped[datetime | None]  # the same for writes that create content
