"""Keeps what people say about findings, and the memory each dismissal taught."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.commands import Sender
from domain.events import EventType
from domain.gates import digest
from domain.memories import Archived, Memory, MemoryKind, Origin, Use, create_memory
from domain.review.avoidance import RULE, find_version
from domain.review.feedback import SCOPE_TIME, DismissalScope, FeedbackStatement, FindingFeedback, Word
from domain.review.findings import Anchor, Finding, Layer, Severity
from domain.review.review import ONLY_DISMISSED, parent_folder
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from domain.value import new_id
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow, is_dismissal
from memory.db.tables.runs import RunRow
from memory.learned import memories
from safety.memory_consolidation import MOST_LIVE

IS_ABOUT = and_(
    FindingRow.repository_id == FeedbackRow.repository_id,
    FindingRow.number == FeedbackRow.number,
    FindingRow.fingerprint == FeedbackRow.fingerprint,
)
"""For queries: somebody said it about a finding."""

_IS_OF_AVOIDANCE = FeedbackRow.rule.startswith(RULE)


async def dismiss(
    database: Database,
    repository: RepositoryRef,
    number: int,
    found: Sequence[Finding],
    said: FeedbackStatement,
    *,
    learns: bool = True,
    most: int = MOST_LIVE,
) -> Mapping[str, Finding]:
    """Dismiss findings, all at once, and remember why.

    Findings that are dismissed already stay so. Findings of one rule in one folder teach one memory, because they are
    one decision. The memories that led to a finding are doubted from then on. Where learning is off or there is no
    room, the findings are dismissed without a memory.

    :param learns: whether Forge may learn here.
    :param most: live memories that the repository may have.
    :returns: the ids of the memories, each with the first finding that taught it.
    """
    async with database.transaction() as session:
        await memories.lock_repository(session, database.dialect, repository.id)
        standing = await _find_dismissed(session, repository, number, found)
        new = [each for each in found if said.scope not in standing.get(each.fingerprint, {})]
        memory_of: dict[tuple[str, str], Memory] = {}
        for finding in new if learns else ():
            # A credential that was revoked was found rightly, so that teaches nothing.
            is_taught = _lesson_key(finding) in memory_of or finding.fingerprint in standing
            if not is_taught and not finding.is_credential:
                memory_of[_lesson_key(finding)] = _build_memory(repository, number, finding, said)
        trace = await ledger.find_trace(session, repository, number)
        kept = await memories.make_room(session, repository.id, [*memory_of.values()], most, trace, said.at)
        taught = {lesson: memory.id for lesson, memory in memory_of.items() if memory in kept}
        of: dict[str, str] = {}
        for finding in found:
            known = standing.get(finding.fingerprint)
            of[finding.fingerprint] = taught.get(_lesson_key(finding), "") if known is None else max(known.values())
        for finding in new:
            await _keep(session, repository, number, finding, Word.dismissed, said, of[finding.fingerprint])
            if learns:
                cause = _cause(finding.fingerprint)
                await memories.record_use_within(
                    session, database.dialect, finding.memories, Use.dismissed, cause, said.at
                )
    return {of[each.fingerprint]: each for each in reversed(found) if of[each.fingerprint]}


async def keep(
    database: Database,
    repository: RepositoryRef,
    number: int,
    found: Sequence[Finding],
    word: Word,
    said: FeedbackStatement,
) -> None:
    """Keep that somebody disputes or confirms findings. May be repeated."""
    async with database.transaction() as session:
        query = select(FeedbackRow.fingerprint).where(
            *_is_in(repository.id, number, found), FeedbackRow.word == word.value, FeedbackRow.cause == said.cause
        )
        known = set(await session.scalars(query))
        for finding in found:
            if finding.fingerprint not in known:
                await _keep(session, repository, number, finding, word, said)


def _is_in(repository_id: int, number: int, found: Sequence[Finding]) -> Sequence[ColumnElement[bool]]:
    """It is about one of these findings of a pull request, and nobody took it back."""
    return (
        FeedbackRow.repository_id == repository_id,
        FeedbackRow.number == number,
        FeedbackRow.fingerprint.in_([each.fingerprint for each in found]),
        FeedbackRow.undone_at.is_(None),
    )


async def _find_dismissed(
    session: AsyncSession, repository: RepositoryRef, number: int, found: Sequence[Finding]
) -> Mapping[str, Mapping[DismissalScope | None, str]]:
    """How these findings are dismissed in their pull request, as grave as they are by now: fingerprint → scope → id of
    the memory it taught."""
    standing: dict[str, dict[DismissalScope | None, str]] = {}
    ranks = {each.fingerprint: each.severity.rank for each in found}
    for row in await session.scalars(select(FeedbackRow).where(*_is_in(repository.id, number, found), is_dismissal())):
        if from_row(row).severity.rank < ranks[row.fingerprint]:
            continue
        standing.setdefault(row.fingerprint, {})[_read_scope(row)] = row.memory_id
        standing[row.fingerprint].setdefault(None, row.memory_id)  # wherever else it holds, it holds for the finding
    return standing


async def _keep(
    session: AsyncSession,
    repository: RepositoryRef,
    number: int,
    finding: Finding,
    word: Word,
    said: FeedbackStatement,
    memory_id: str = "",
) -> None:
    reason, shown = redact_outgoing(said.reason), digest(finding.model_dump_json())
    session.add(
        FeedbackRow(
            id=new_id(),
            repository_id=repository.id,
            number=number,
            name=finding.id,
            fingerprint=finding.fingerprint,
            rule=finding.rule,
            path=finding.path,
            place=finding.place if finding.layer is Layer.model else "",
            word=word.value,
            scope="" if said.scope is None else said.scope.value,
            until=None if said.scope is None else said.at + SCOPE_TIME,
            version=find_version(finding.rule),
            severity=finding.severity.value,
            reason=reason,
            by_id=said.sender.id,
            by_login=said.sender.login,
            by_role=said.role,
            head_sha=said.head_sha,
            shown=shown,
            cause=said.cause,
            memory_id=memory_id,
            created_at=said.at,
            undone_at=None,
        )
    )
    facts: dict[str, object] = {"finding": finding.id, "rule": finding.rule, "description": reason}
    facts |= {"waived": True} if said.is_waived else {}
    facts |= {} if said.scope is None else {"scope": said.scope.value, "path": finding.path}
    facts |= {} if word is Word.dismissed else {"head": said.head_sha, "shown": shown}
    event = EventType(f"feedback.{word}")
    await ledger.record_person_action(session, repository, number, event, said.sender, said.at, **facts)


def _lesson_key(finding: Finding) -> tuple[str, str]:
    return finding.rule, parent_folder(finding.path)


async def undo(
    database: Database, repository: RepositoryRef, number: int, finding: Finding, sender: Sender, now: datetime
) -> bool:
    """Take back what was said about a finding, with the scopes by which it passes; whether there was anything.

    The memories that its dismissals taught are archived.
    """
    same = and_(FeedbackRow.fingerprint == finding.fingerprint, _counts_in(number))
    is_there = or_(FeedbackRow.scope == DismissalScope.repository.value, FeedbackRow.path == finding.path)
    passes = and_(FeedbackRow.scope != "", FeedbackRow.rule == finding.rule, is_there, FeedbackRow.until > now)
    return bool(await _undo(database, repository, number, or_(same, passes), sender, now))


def _counts_in(number: int) -> ColumnElement[bool]:
    """It counts in a pull request: of findings of giving up, only what was said there.

    What was right to go in one change is not in the next.
    """
    return or_(FeedbackRow.number == number, ~_IS_OF_AVOIDANCE)


async def undo_all(
    database: Database, repository: RepositoryRef, number: int, ids: Collection[str], sender: Sender, now: datetime
) -> Sequence[FindingFeedback]:
    """Undo these dismissals and archive the memories they taught; returns those that applied until now."""
    return await _undo(database, repository, number, FeedbackRow.id.in_(ids), sender, now)


async def undo_by_memory(
    database: Database, repository: RepositoryRef, number: int | None, memory_id: str, sender: Sender, now: datetime
) -> Sequence[FindingFeedback]:
    """Undo the dismissals that taught a memory, and archive it; returns none if no dismissal taught it."""
    return await _undo(database, repository, number, FeedbackRow.memory_id == memory_id, sender, now)


async def find_pull_requests(database: Database, repository: RepositoryRef, memory_id: str) -> Collection[int]:
    """The pull requests in which a dismissal taught a memory, even one that was undone since."""
    numbers = await database.scalars(
        select(FeedbackRow.number).where(FeedbackRow.repository_id == repository.id, FeedbackRow.memory_id == memory_id)
    )
    return set(numbers)


async def _undo(
    database: Database,
    repository: RepositoryRef,
    number: int | None,
    which: ColumnElement[bool],
    sender: Sender,
    now: datetime,
) -> Sequence[FindingFeedback]:
    async with database.transaction() as session:
        rows = await session.scalars(
            update(FeedbackRow)
            .where(FeedbackRow.repository_id == repository.id, FeedbackRow.undone_at.is_(None), which)
            .values(undone_at=now)
            .returning(FeedbackRow)
        )
        undone = [from_row(row) for row in rows]
        taught = {past.memory_id for past in undone}
        others = select(FeedbackRow.memory_id).where(
            FeedbackRow.repository_id == repository.id, is_dismissal(), FeedbackRow.memory_id.in_(taught)
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


async def end_scopes(database: Database, ids: Collection[str], now: datetime) -> None:
    """End scopes before their time; the findings that were dismissed with them stay so."""
    await database.execute(update(FeedbackRow).where(FeedbackRow.id.in_(ids)).values(until=now))


async def has_changed_during(database: Database, run: Run) -> bool:
    """Whether a finding of its pull request was dismissed, or a dismissal undone, since the run was admitted."""
    began = select(RunRow.created_at).where(RunRow.id == run.id).scalar_subquery()
    query = select(FeedbackRow.id).where(
        FeedbackRow.repository_id == run.repository.id,
        FeedbackRow.number == run.number,
        or_(FeedbackRow.created_at >= began, FeedbackRow.undone_at >= began),
    )
    return await database.scalar(query.limit(1)) is not None


async def find_dismissed(
    database: Database, repository: RepositoryRef, number: int, fingerprints: Collection[str]
) -> dict[str, FindingFeedback]:
    """Which of these findings are dismissed: by the first dismissal in the pull request, else the first elsewhere.

    One that was said of the finding when it was graver goes first: it covers more.
    """
    rows = await database.scalars(
        select(FeedbackRow)
        .where(
            FeedbackRow.repository_id == repository.id,
            FeedbackRow.fingerprint.in_(fingerprints),
            is_dismissal(),
            _counts_in(number),
        )
        .order_by(FeedbackRow.number == number, FeedbackRow.id.desc())
    )
    found: dict[str, FindingFeedback] = {}
    for said in map(from_row, rows):  # of equal ones, the last is kept
        known = found.get(said.fingerprint)
        if known is None or said.severity.rank >= known.severity.rank:
            found[said.fingerprint] = said
    return found


async def load_standing(
    database: Database, repository_id: int, number: int, found: Sequence[Finding]
) -> Mapping[str, FindingFeedback]:
    """Fingerprint → what was said last about a finding of giving up in a pull request."""
    query = select(FeedbackRow).where(*_is_in(repository_id, number, found), _IS_OF_AVOIDANCE)
    return {row.fingerprint: from_row(row) for row in await database.scalars(query.order_by(FeedbackRow.id))}


async def list_of_file(
    database: Database, repository_id: int, finding: Finding, most: int
) -> Sequence[FindingFeedback]:
    """What was said last about findings of the same rule in the same file, or in all files, oldest first."""
    query = select(FeedbackRow).where(
        FeedbackRow.repository_id == repository_id,
        FeedbackRow.rule == finding.rule,
        or_(FeedbackRow.path == finding.path, FeedbackRow.scope == DismissalScope.repository.value),
        FeedbackRow.undone_at.is_(None),
    )
    rows = await database.scalars(query.order_by(FeedbackRow.id.desc()).limit(most))
    return [from_row(row) for row in reversed(rows)]


async def list_with_scope(
    database: Database, repository_id: int, rules: Collection[str] | None = None
) -> Sequence[FindingFeedback]:
    """The dismissals by which more than their findings pass, or passed; oldest first.

    :param rules: None: of any.
    """
    query = select(FeedbackRow).where(
        FeedbackRow.repository_id == repository_id, FeedbackRow.scope != "", FeedbackRow.undone_at.is_(None)
    )
    if rules is not None:
        query = query.where(FeedbackRow.rule.in_(rules))
    return [from_row(row) for row in await database.scalars(query.order_by(FeedbackRow.id))]


async def find_related(
    database: Database,
    repository: RepositoryRef,
    rules: Collection[str],
    places: Collection[str] = (),
    paths: Collection[str] = (),
) -> Sequence[FindingFeedback]:
    """The dismissals that apply in this repository to one of these rules, places or paths; oldest first.

    :param rules: rules of any finding.
    :param places: places of model findings.
    :param paths: files of model findings.
    """
    there = {place for place in places if place}
    is_said = and_(FeedbackRow.path.in_(set(paths)), FeedbackRow.place != "")
    query = (
        select(FeedbackRow, FindingRow.content)
        .outerjoin(FindingRow, IS_ABOUT)
        .where(
            FeedbackRow.repository_id == repository.id,
            is_dismissal(),
            or_(FeedbackRow.rule.in_(set(rules)), FeedbackRow.place.in_(there), is_said),
        )
        .order_by(FeedbackRow.id)
    )
    return [from_row(row, content) for row, content in await database.rows(query)]


def _read_scope(row: FeedbackRow) -> DismissalScope | None:
    return DismissalScope(row.scope) if row.scope else None


def from_row(row: FeedbackRow, content: Mapping[str, Any] | None = None) -> FindingFeedback:
    """What somebody said.

    :param content: content of the finding, if it is known.
    """
    finding = content or {}
    spot = finding.get("spot")
    return FindingFeedback(
        id=row.id,
        number=row.number,
        name=row.name,
        rule=row.rule,
        path=row.path,
        fingerprint=row.fingerprint,
        by=row.by_login,
        by_id=row.by_id,
        reason=row.reason,
        at=row.created_at,
        word=Word(row.word),
        role=row.by_role,
        place=row.place,
        memory_id=row.memory_id,
        scope=_read_scope(row),
        until=row.until,
        version=row.version,
        cause=row.cause,
        severity=Severity(row.severity),
        spot=None if spot is None else Anchor.model_validate(spot),
    )


def _build_memory(repository: RepositoryRef, number: int, finding: Finding, said: FeedbackStatement) -> Memory:
    """What a dismissal teaches. Its text quotes no path and no message, because strangers write them."""
    return create_memory(
        repository,
        Origin.person,
        MemoryKind.semantic,
        f"{finding.rule} was dismissed in #{number}: {redact_outgoing(said.reason) or 'no reason given'}",
        f"dismissal of {finding.id} in #{number} by {said.sender.login}",
        said.at,
        context=ONLY_DISMISSED,
        tags=(finding.rule, finding.category.value, finding.path),
        taught_by=said.sender.id,
    )
