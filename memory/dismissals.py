"""Keeps the findings that people dismissed, and the memory each dismissal taught (DESIGN §6, SPEC M7)."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select, update

from domain.commands import Sender
from domain.events import EventType
from domain.findings import Finding
from domain.ids import new_id
from domain.memories import Archived, Kind, Memory, Origin
from domain.replies import Dismissal
from domain.runs import RepositoryRef
from memory import ledger, memories
from memory.database import Database
from memory.tables import DismissalRow


async def add(
    database: Database,
    repository: RepositoryRef,
    number: int,
    finding: Finding,
    sender: Sender,
    reason: str,
    now: datetime,
) -> str:
    """Dismiss a finding and remember why; the memory's id. A finding that is dismissed already stays as it is."""
    async with database.transaction() as session:
        known = await session.scalar(
            update(DismissalRow)
            .where(
                DismissalRow.repository_id == repository.id,
                DismissalRow.number == number,
                DismissalRow.fingerprint == finding.fingerprint,
                DismissalRow.undone_at.is_(None),
            )
            .values(reason=DismissalRow.reason)
            .returning(DismissalRow.memory_id)
        )
        if known is not None:
            return known
        memory = Memory(
            id=new_id(),
            installation_id=repository.installation_id,
            repository_id=repository.id,
            kind=Kind.semantic,
            content=f"{finding.rule} in {finding.path} was dismissed: {reason or 'no reason given'}",
            context=f"reviewing {finding.category.value} in {finding.path}: {finding.message}",
            tags=(finding.rule, finding.category.value, finding.path),
            confidence=Origin.person.confidence,
            origin=Origin.person,
            source=f"dismissal of {finding.id} in #{number} by {sender.login}",
            created_at=now,
            used_at=now,
        )
        session.add(memories.row_of(memory))
        session.add(_row(repository, number, finding, sender, reason, memory.id, now))
        facts = {"finding": finding.id, "rule": finding.rule, "description": reason}
        await ledger.tell_of(session, repository, number, EventType.feedback_dismissed, sender, now, **facts)
        return memory.id


async def undo(
    database: Database, repository: RepositoryRef, number: int, finding: Finding, sender: Sender, now: datetime
) -> bool:
    """Take the dismissal of a finding back, with the memory it taught; whether there was one."""
    async with database.transaction() as session:
        taught = (
            await session.scalars(
                update(DismissalRow)
                .where(
                    DismissalRow.repository_id == repository.id,
                    DismissalRow.fingerprint == finding.fingerprint,
                    DismissalRow.undone_at.is_(None),
                )
                .values(undone_at=now)
                .returning(DismissalRow.memory_id)
            )
        ).all()
        await memories.archive_within(session, taught, Archived.forgotten, now)
        if taught:
            facts = {"finding": finding.id, "rule": finding.rule}
            await ledger.tell_of(session, repository, number, EventType.feedback_undismissed, sender, now, **facts)
        return bool(taught)


async def among(database: Database, repository: RepositoryRef, fingerprints: Collection[str]) -> dict[str, Dismissal]:
    """Which of these findings were dismissed in this repository, in this pull request or an earlier one."""
    async with database.transaction() as session:
        rows = await session.scalars(
            select(DismissalRow)
            .where(
                DismissalRow.repository_id == repository.id,
                DismissalRow.fingerprint.in_(fingerprints),
                DismissalRow.undone_at.is_(None),
            )
            .order_by(DismissalRow.id)
        )
        return {row.fingerprint: Dismissal(row.by_login, row.created_at, row.reason) for row in rows}


def _row(
    repository: RepositoryRef,
    number: int,
    finding: Finding,
    sender: Sender,
    reason: str,
    memory_id: str,
    now: datetime,
) -> DismissalRow:
    return DismissalRow(
        id=new_id(),
        repository_id=repository.id,
        number=number,
        name=finding.id,
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        path=finding.path,
        by_id=sender.id,
        by_login=sender.login,
        reason=reason,
        memory_id=memory_id,
        created_at=now,
        undone_at=None,
    )
