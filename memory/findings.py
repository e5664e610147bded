"""Keeps the findings of each pull request: their names, and which were already posted."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.findings import Finding
from domain.ids import finding_id, new_id
from domain.runs import Phase, Run
from memory import ledger
from memory.database import Database
from memory.tables import FindingRow


async def name_all(session: AsyncSession, run: Run, findings: Sequence[Finding], now: datetime) -> tuple[Finding, ...]:
    """Give each finding its name within the pull request and remember it, within the caller's transaction."""
    known = {
        row.fingerprint: row
        for row in await session.scalars(
            select(FindingRow).where(FindingRow.repository_id == run.repository.id, FindingRow.number == run.number)
        )
    }
    taken = {row.name for row in known.values()}
    named: list[Finding] = []
    for finding in findings:
        row = known.get(finding.fingerprint)
        name = row.name if row else finding_id(finding.fingerprint, taken)
        named.append(finding.model_copy(update={"id": name}))
        if row is not None:
            row.last_run = run.id
            continue
        taken.add(name)
        session.add(_row(run, named[-1], now))
        ledger.tell(
            session,
            run.id,
            EventType.finding_detected,
            now,
            phase=Phase.review,
            payload={"finding": name, "rule": finding.rule, "severity": finding.severity, "path": finding.path},
        )
    return tuple(named)


async def posted_before(database: Database, run: Run) -> set[str]:
    """Fingerprints of findings that a review of an *earlier* run of this pull request carries."""
    async with database.transaction() as session:
        found = await session.scalars(
            select(FindingRow.fingerprint).where(
                FindingRow.repository_id == run.repository.id,
                FindingRow.number == run.number,
                FindingRow.posted_by.is_not(None),
                FindingRow.posted_by != run.id,
            )
        )
        return set(found)


async def mark_posted(database: Database, run: Run, fingerprints: Collection[str]) -> None:
    """Remember that this run's review carries these findings."""
    async with database.transaction() as session:
        await session.execute(
            update(FindingRow)
            .where(
                FindingRow.repository_id == run.repository.id,
                FindingRow.number == run.number,
                FindingRow.fingerprint.in_(fingerprints),
                FindingRow.posted_by.is_(None),
            )
            .values(posted_by=run.id)
        )


def _row(run: Run, finding: Finding, now: datetime) -> FindingRow:
    return FindingRow(
        id=new_id(),
        repository_id=run.repository.id,
        number=run.number,
        name=finding.id,
        fingerprint=finding.fingerprint,
        trail=finding.trail,
        content=finding.model_dump(mode="json"),
        first_run=run.id,
        last_run=run.id,
        posted_by=None,
        created_at=now,
    )
