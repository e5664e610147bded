"""The tables of findings, dismissals, judgements and whitelists."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class FindingRow(TableRow):
    """A finding of a pull request; the fingerprint keeps it the same from push to push."""

    __tablename__ = "findings"
    __table_args__ = (
        UniqueConstraint("repository_id", "number", "fingerprint", name="finding_identity"),
        UniqueConstraint("repository_id", "number", "name", name="finding_name"),
        Index("findings_by_repository", "repository_id", "id"),
        Index("findings_by_review", "repository_id", "posted_by", "id"),
        Index("findings_by_fingerprint", "repository_id", "fingerprint", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    name: Mapped[str]
    fingerprint: Mapped[str]
    trail: Mapped[str]
    content: Mapped[dict[str, Any]] = mapped_column(JSON)
    first_run: Mapped[str]
    last_run: Mapped[str]
    posted_by: Mapped[str | None]  # the run whose review contains it
    comment_id: Mapped[int | None]  # the first inline comment of its thread
    created_at: Mapped[datetime]


class _AboutFinding:
    """The columns by which a row says which finding it is about."""

    repository_id: Mapped[int]
    number: Mapped[int]
    fingerprint: Mapped[str]
    rule: Mapped[str]
    path: Mapped[str]


class DismissalRow(_AboutFinding, TableRow):
    """A dismissal of a finding by a person with write access. It lasts until it is undone."""

    __tablename__ = "dismissals"
    __table_args__ = (
        Index("dismissals_by_fingerprint", "repository_id", "fingerprint"),
        Index("dismissals_by_memory", "memory_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    place: Mapped[str] = mapped_column(server_default="")  # where a finding in other words is the same one
    by_id: Mapped[int]
    by_login: Mapped[str]
    by_role: Mapped[str] = mapped_column(server_default="")  # at that time; empty if it is not known
    reason: Mapped[str] = mapped_column(Text)
    memory_id: Mapped[str]  # empty if nothing was learned
    created_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class JudgementRow(_AboutFinding, TableRow):
    """What a person said about a finding of giving up in disguise; see :mod:`domain.review.judgements`."""

    __tablename__ = "judgements"
    __table_args__ = (
        UniqueConstraint("cause", "fingerprint", name="one_judgement_per_command"),
        Index("judgements_by_fingerprint", "repository_id", "fingerprint"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    judgement: Mapped[str]
    words: Mapped[str] = mapped_column(Text)
    by_id: Mapped[int]
    by_login: Mapped[str]
    by_role: Mapped[str]
    head_sha: Mapped[str]
    shown: Mapped[str]
    cause: Mapped[str]
    asked_at: Mapped[datetime]
    created_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class WhitelistRow(_AboutFinding, TableRow):
    """What may pass for a time in a repository, which ``path`` leaves empty, or in one file of it."""

    __tablename__ = "whitelists"
    __table_args__ = (
        UniqueConstraint("cause", name="one_whitelist_per_command"),
        Index("whitelists_of_repository", "repository_id", "rule"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    version: Mapped[int]
    words: Mapped[str] = mapped_column(Text)
    by_id: Mapped[int]
    by_login: Mapped[str]
    cause: Mapped[str]
    created_at: Mapped[datetime]
    until: Mapped[datetime]
    ended: Mapped[str | None]
    ended_at: Mapped[datetime | None]
