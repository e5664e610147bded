"""Keeps the findings that people dismissed, and the memory each dismissal taught."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.commands import Sender
from domain.events import EventType
from domain.ids import new_id
from domain.memories.memory import Archived, Memory, MemoryKind, Origin, Use, create_memory
from domain.review.anchors import Anchor
from domain.review.avoidance import RULE
from domain.review.findings import Finding, Layer, Severity
from domain.review.suppression import ONLY_DISMISSED, PriorDismissal, parent_folder
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow
from memory.db.tables.runs import RunRow
from memory.learned import capacity, memories
from memory.ledger import ledger
from messages.commands import Dismissal
from safety.memory_eviction import MOST_LIVE

IS_ABOUT = and_(
    FindingRow.repository_id == DismissalRow.repository_id,
    FindingRow.number == DismissalRow.number,
    FindingRow.fingerprint == DismissalRow.fingerprint,
)
"""For queries: a dismissal is about a finding."""


async def add(
    database: Database,
    repository: RepositoryRef,
    number: int,
    found: Sequence[Finding],
    sender: Sender,
    reason: str,
    now: datetime,
    *,
    role: str = "",
    is_waived: bool = False,
    learns: bool = True,
    most: int = MOST_LIVE,
) -> Mapping[str, Finding]:
    """Dismiss findings, all at once, and remember why.

    Findings that are dismissed already stay so. Findings of one rule in one folder teach one memory, because they are
    one decision. The memories that led to a finding are doubted from then on. Where learning is off or there is no
    room, the findings are dismissed without a memory.

    :param role: the role of the person on GitHub now.
    :param is_waived: the person wrote the change, and may only because nobody else has the role; the audit says so.
    :param learns: whether Forge may learn here.
    :param most: live memories that the repository may have.
    :returns: the ids of the memories, each with the first finding that taught it.
    """
    reason = redact_outgoing(reason)
    async with database.transaction() as session:
        await capacity.lock_repository(session, database.dialect, repository.id)
        standing = await _find_active(session, repository, number, found)
        new = [finding for finding in found if finding.fingerprint not in standing]
        memory_of: dict[tuple[str, str], Memory] = {}
        for finding in new if learns else ():
            # A credential that was revoked was found rightly, so that teaches nothing.
            if _lesson_key(finding) not in memory_of and not finding.is_credential:
                memory_of[_lesson_key(finding)] = _build_memory(repository, number, finding, sender, reason, now)
        trace = await ledger.find_trace(session, repository, number)
        kept = await capacity.keep(session, repository.id, [*memory_of.values()], most, trace, now)
        taught = {lesson: memory.id for lesson, memory in memory_of.items() if memory in kept}
        for finding in new:
            memory_id = taught.get(_lesson_key(finding), "")
            session.add(_row(repository, number, finding, sender, role, reason, memory_id, now))
            if learns:
                cause = _cause(finding.fingerprint)
                await memories.record_use_within(session, database.dialect, finding.memories, Use.dismissed, cause, now)
            facts: dict[str, object] = {"finding": finding.id, "rule": finding.rule, "description": reason}
            facts |= {"waived": True} if is_waived else {}
            await ledger.record_person_action(
                session, repository, number, EventType.feedback_dismissed, sender, now, **facts
            )
    of = {each.fingerprint: standing.get(each.fingerprint, taught.get(_lesson_key(each), "")) for each in found}
    return {of[each.fingerprint]: each for each in reversed(found) if of[each.fingerprint]}


async def _find_active(
    session: AsyncSession, repository: RepositoryRef, number: int, found: Sequence[Finding]
) -> Mapping[str, str]:
    """Which of these findings are dismissed in their pull request: fingerprint → id of the memory."""
    known = await session.execute(
        select(DismissalRow.fingerprint, DismissalRow.memory_id).where(
            DismissalRow.repository_id == repository.id,
            DismissalRow.number == number,
            DismissalRow.fingerprint.in_([finding.fingerprint for finding in found]),
            DismissalRow.undone_at.is_(None),
        )
    )
    return {row.fingerprint: row.memory_id for row in known}


def _lesson_key(finding: Finding) -> tuple[str, str]:
    return finding.rule, parent_folder(finding.path)


async def undo(
    database: Database, repository: RepositoryRef, number: int, finding: Finding, sender: Sender, now: datetime
) -> bool:
    """Undo the dismissal of a finding and archive the memory it taught; returns whether there was one."""
    same = DismissalRow.fingerprint == finding.fingerprint
    return bool(await _undo(database, repository, number, same, sender, now))


async def undo_all(
    database: Database, repository: RepositoryRef, number: int, ids: Collection[str], sender: Sender, now: datetime
) -> Sequence[PriorDismissal]:
    """Undo these dismissals and archive the memories they taught; returns those that applied until now."""
    return await _undo(database, repository, number, DismissalRow.id.in_(ids), sender, now)


async def undo_by_memory(
    database: Database, repository: RepositoryRef, number: int | None, memory_id: str, sender: Sender, now: datetime
) -> Sequence[PriorDismissal]:
    """Undo the dismissals that taught a memory, and archive it; returns none if no dismissal taught it."""
    return await _undo(database, repository, number, DismissalRow.memory_id == memory_id, sender, now)


async def find_pull_requests(database: Database, repository: RepositoryRef, memory_id: str) -> Collection[int]:
    """The pull requests in which a dismissal taught a memory, even one that was undone since."""
    async with database.transaction() as session:
        numbers = await session.scalars(
            select(DismissalRow.number).where(
                DismissalRow.repository_id == repository.id, DismissalRow.memory_id == memory_id
            )
        )
        return set(numbers)


async def _undo(
    database: Database,
    repository: RepositoryRef,
    number: int | None,
    which: ColumnElement[bool],
    sender: Sender,
    now: datetime,
) -> Sequence[PriorDismissal]:
    async with database.transaction() as session:
        rows = await session.scalars(
            update(DismissalRow)
            .where(DismissalRow.repository_id == repository.id, DismissalRow.undone_at.is_(None), which)
            .values(undone_at=now)
            .returning(DismissalRow)
        )
        undone = [_from_row(row) for row in rows]
        taught = {past.memory_id for past in undone}
        others = select(DismissalRow.memory_id).where(
            DismissalRow.repository_id == repository.id,
            DismissalRow.undone_at.is_(None),
            DismissalRow.memory_id.in_(taught),
        )
        taught -= set(await session.scalars(others))  # findings that stay dismissed still teach it
        await memories.archive_within(session, taught, Archived.forgotten, now)
        for past in undone:
            await memories.undo_use_within(session, Use.dismissed, _cause(past.fingerprint), now)
            facts = {"finding": past.name, "rule": past.rule}
            await ledger.record_person_action(
                session, repository, number, EventType.feedback_undismissed, sender, now, **facts
            )
        return undone


def _cause(fingerprint: str) -> str:
    """The cause of doubt in the memories behind a finding, the same however often it is dismissed."""
    return f"dismissal of {fingerprint}"


async def has_changed_during(database: Database, run: Run) -> bool:
    """Whether a finding of its pull request was dismissed, or a dismissal undone, since the run was admitted."""
    began = select(RunRow.created_at).where(RunRow.id == run.id).scalar_subquery()
    query = select(DismissalRow.id).where(
        DismissalRow.repository_id == run.repository.id,
        DismissalRow.number == run.number,
        or_(DismissalRow.created_at >= began, DismissalRow.undone_at >= began),
    )
    async with database.transaction() as session:
        return await session.scalar(query.limit(1)) is not None


async def find_by_fingerprint(
    database: Database, repository: RepositoryRef, number: int, fingerprints: Collection[str]
) -> dict[str, Dismissal]:
    """Which of these findings were dismissed in this repository, in this pull request or an earlier one.

    Those of giving up only in this one: what was right to go in one change is not in the next.
    """
    async with database.transaction() as session:
        rows = await session.scalars(
            select(DismissalRow)
            .where(
                DismissalRow.repository_id == repository.id,
                DismissalRow.fingerprint.in_(fingerprints),
                DismissalRow.undone_at.is_(None),
                or_(DismissalRow.number == number, ~DismissalRow.rule.startswith(RULE)),
            )
            .order_by(DismissalRow.id)
        )
        return {row.fingerprint: Dismissal(row.by_login, row.created_at, row.reason) for row in rows}


async def find_related(
    database: Database,
    repository: RepositoryRef,
    rules: Collection[str],
    places: Collection[str] = (),
    paths: Collection[str] = (),
) -> Sequence[PriorDismissal]:
    """The dismissals that apply in this repository to one of these rules, places or paths; oldest first.

    :param rules: rules of any finding.
    :param places: places of model findings.
    :param paths: files of model findings.
    """
    there = {place for place in places if place}
    is_said = and_(DismissalRow.path.in_(set(paths)), DismissalRow.place != "")
    query = (
        select(DismissalRow, FindingRow.content)
        .outerjoin(
            FindingRow,
            and_(
                FindingRow.repository_id == DismissalRow.repository_id,
                FindingRow.number == DismissalRow.number,
                FindingRow.fingerprint == DismissalRow.fingerprint,
            ),
        )
        .where(
            DismissalRow.repository_id == repository.id,
            DismissalRow.undone_at.is_(None),
            or_(DismissalRow.rule.in_(set(rules)), DismissalRow.place.in_(there), is_said),
        )
        .order_by(DismissalRow.id)
    )
    async with database.transaction() as session:
        return [_from_row(row, content) for row, content in await session.execute(query)]


def _from_row(row: DismissalRow, content: Mapping[str, Any] | None = None) -> PriorDismissal:
    """The dismissal of a row.

    :param content: content of the finding, if it is known.
    """
    finding = content or {}
    spot = finding.get("spot")
    return PriorDismissal(
        id=row.id,
        number=row.number,
        name=row.name,
        rule=row.rule,
        path=row.path,
        fingerprint=row.fingerprint,
        place=row.place,
        memory_id=row.memory_id,
        by=row.by_login,
        by_id=row.by_id,
        reason=row.reason,
        at=row.created_at,
        role=row.by_role,
        severity=Severity(finding.get("severity", Severity.warning)),
        spot=None if spot is None else Anchor.model_validate(spot),
    )


def _build_memory(
    repository: RepositoryRef, number: int, finding: Finding, sender: Sender, reason: str, now: datetime
) -> Memory:
    """What a dismissal teaches. Its text quotes no path and no message, because strangers write them."""
    return create_memory(
        repository,
        Origin.person,
        MemoryKind.semantic,
        f"{finding.rule} was dismissed in #{number}: {reason or 'no reason given'}",
        f"dismissal of {finding.id} in #{number} by {sender.login}",
        now,
        context=ONLY_DISMISSED,
        tags=(finding.rule, finding.category.value, finding.path),
        taught_by=sender.id,
    )


def _row(
    repository: RepositoryRef,
    number: int,
    finding: Finding,
    sender: Sender,
    role: str,
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
        place=finding.place if finding.layer is Layer.model else "",
        by_id=sender.id,
        by_login=sender.login,
        by_role=role,
        reason=reason,
        memory_id=memory_id,
        created_at=now,
        undone_at=None,
    )
