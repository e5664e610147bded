"""The tables of what comes in and goes out: deliveries, pushes, notices; and of what processes share."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class DeliveryRow(TableRow):
    """One webhook delivery that was answered with 202. The command is what it asked for."""

    __tablename__ = "deliveries"

    guid: Mapped[str] = mapped_column(primary_key=True)
    event: Mapped[str]
    action: Mapped[str]
    received_at: Mapped[datetime] = mapped_column(index=True)
    outcome: Mapped[str]  # accepted | ignored
    reason: Mapped[str]  # why it was ignored, or its outcome
    command: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    finished_at: Mapped[datetime | None]
    acts_once: Mapped[str | None] = mapped_column(unique=True)  # the key by which it acts once, beside its GUID


class DeliveryLogRow(TableRow):
    """How far GitHub's own log of deliveries was read, and which process reads it now."""

    __tablename__ = "delivery_log"

    app_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    holder: Mapped[str]
    lease_until: Mapped[datetime]
    read_at: Mapped[datetime | None]  # when it was read last
    read_to: Mapped[datetime | None]  # attempts up to this time were read


class DoubtfulDeliveryRow(TableRow):
    """A delivery that GitHub failed to make and that has not arrived since."""

    __tablename__ = "doubtful_deliveries"

    guid: Mapped[str] = mapped_column(primary_key=True)
    attempt_id: Mapped[int]
    event: Mapped[str]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    asked: Mapped[int]


class CommandCountRow(TableRow):
    """A comment with commands of the last hour; limits how many comments of an account are answered."""

    __tablename__ = "commanded"

    guid: Mapped[str] = mapped_column(primary_key=True)  # of the delivery
    repository_id: Mapped[int]
    account_id: Mapped[int]
    at: Mapped[datetime] = mapped_column(index=True)
    told: Mapped[str]  # the notice that its author got and does not get again: "quota"


class BranchPushRow(TableRow):
    """A push of a head to any branch, so that nobody decides about their own change."""

    __tablename__ = "branch_pushes"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    head_sha: Mapped[str] = mapped_column(primary_key=True)
    by_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # of Forge's for nobody: 0
    pusher: Mapped[str] = mapped_column(primary_key=True)  # a Pusher
    before_sha: Mapped[str]  # where the branch was; empty if it is new
    at: Mapped[datetime] = mapped_column(index=True)  # as GitHub says


class SignedCommitRow(TableRow):
    """A commit of Forge's own that GitHub made anew, and signed, before it was pushed."""

    __tablename__ = "signed_commits"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    made_sha: Mapped[str] = mapped_column(primary_key=True)  # as Forge made it: the same for the same work
    sha: Mapped[str] = mapped_column(index=True)
    at: Mapped[datetime] = mapped_column(index=True)


class NoticedEventRow(TableRow):
    """An event of the ledger of which nobody was told yet; written with it, deleted when its notices are queued."""

    __tablename__ = "noticed_events"

    id: Mapped[str] = mapped_column(primary_key=True)  # of the event


class NoticeTargetRow(TableRow):
    """How a target of notices is, until it got none for a month: a :class:`domain.notices.TargetState`."""

    __tablename__ = "notice_targets"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    repository_id: Mapped[int]  # whose configuration names it; 0: the operator's own
    at: Mapped[datetime] = mapped_column(index=True)
    rest_until: Mapped[datetime]
    hour: Mapped[datetime]
    told: Mapped[int]
    failures: Mapped[int]
    problem: Mapped[str] = mapped_column(Text)


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


class LimitRow(TableRow):
    """Until when Forge sends nothing to GitHub for an installation (0: the App itself), or only no writes."""

    __tablename__ = "github_limits"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    until: Mapped[datetime | None]  # as GitHub asked; None: it asks for nothing
    reason: Mapped[str] = mapped_column(server_default="")
    streak: Mapped[int] = mapped_column(server_default="0")
    writes: Mapped[datetime | None]  # until then they have used up their rate
    content: Mapped[datetime | None]  # the same for writes that create content


class SessionRow(TableRow):
    """A person who is signed in. Only a digest of the random id in their cookie is kept."""

    __tablename__ = "sessions"
    __table_args__ = (
        Index("sessions_by_account", "account_id", "created_at"),
        Index("sessions_by_start", "created_at"),
    )

    digest: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int]
    login: Mapped[str]
    candidates: Mapped[list[Any]] = mapped_column(JSON)  # repositories that GitHub listed at the sign-in
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]


class SignInRow(TableRow):
    """A sign-in that came back from GitHub, so that it counts once, and only so many count in a time."""

    __tablename__ = "sign_ins"
    __table_args__ = (Index("sign_ins_by_time", "at"),)

    digest: Mapped[str] = mapped_column(primary_key=True)  # of its state, or of what a known browser came with
    at: Mapped[datetime]
