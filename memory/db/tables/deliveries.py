"""The tables of deliveries: stored ones, missed ones, and what is counted by sender."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON
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
