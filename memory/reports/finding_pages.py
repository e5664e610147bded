"""Loads what the dashboard's pages about findings show: which there are, and what became of each; paged by key."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.review.avoidance import RULE
from domain.review.feedback import FindingFeedback
from domain.review.findings import Finding
from domain.review.review import SuppressedFinding
from domain.runs.run import Phase, ReasonCode, RunState
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow, is_dismissal
from memory.db.tables.runs import CheckpointRow, RunRow
from memory.findings import IS_DISMISSED, is_gone, match_reviewed
from memory.learned import feedback
from memory.reports.pages import KeyedPage, PageKey, load_page

LOOKED = 5_000
"""How many findings are looked at for one page of those with an outcome."""
_LATEST = 200  # findings without a comment that are looked at for what a memory mutes


class FindingOutcome(StrEnum):
    """What became of a finding."""

    open = "open"
    fixed = "fixed"  # a later review of its pull request did not find it
    dismissed = "dismissed"  # in its own pull request
    muted = "muted"  # because of what was dismissed elsewhere


@dataclass(frozen=True)
class FindingFilter:
    """Which findings are listed; None: all.

    :param number: of the pull request.
    """

    outcome: FindingOutcome | None = None
    number: int | None = None


@dataclass(frozen=True)
class ListedFinding:
    """A finding of a pull request, and what became of it.

    :param id: of its row, for paging.
    :param by: the dismissal that counts; None: nobody dismissed this finding.
    :param held: how dismissals of similar findings mute it; None: they do not.
    :param posted_by: the run whose review contains it; empty: none.
    :param comment_id: of the first comment of its thread.
    """

    id: str
    number: int
    finding: Finding
    outcome: FindingOutcome
    raised_at: datetime
    first_run: str
    last_run: str
    by: FindingFeedback | None = None
    held: SuppressedFinding | None = None
    posted_by: str = ""
    comment_id: int | None = None


async def list_findings(
    database: Database, repository_id: int, wanted: FindingFilter, key: PageKey, limit: int
) -> KeyedPage[ListedFinding]:
    """A page of the findings of a repository, newest first.

    A page of those with an outcome may be shorter than ``limit``, even empty, though there is an older one: at most
    ``LOOKED`` findings are looked at for it, and which of them similar dismissals mute is known only from the reviews.

    :param key: ids of rows.
    """
    where = [FindingRow.repository_id == repository_id]
    if wanted.number is not None:
        where.append(FindingRow.number == wanted.number)
    async with database.transaction() as session:
        far = "" if wanted.outcome is None else await _find_far_end(session, where, key)
        if wanted.outcome is not None:
            where.append(_NEAR[wanted.outcome])
        if far:
            where.append(FindingRow.id <= far if key.after else FindingRow.id >= far)
        rows, newer, older = await load_page(session, FindingRow, where, key, limit)
        found = await _classify(session, repository_id, rows)
    items = [each for each in found if wanted.outcome in (None, each.outcome)]
    if key.after:
        return KeyedPage(items, newer or far, older or far)
    return KeyedPage(items, newer or ("" if rows else key.before), older or far)


async def _find_far_end(session: AsyncSession, where: Sequence[ColumnElement[bool]], key: PageKey) -> str:
    """The last finding that is looked at for a page; empty: there are not so many."""
    ids = select(FindingRow.id).where(*where).offset(LOOKED - 1).limit(1)
    if key.after:
        return await session.scalar(ids.where(FindingRow.id > key.after).order_by(FindingRow.id)) or ""
    falling = ids.where(FindingRow.id < key.before) if key.before else ids
    return await session.scalar(falling.order_by(FindingRow.id.desc())) or ""


async def find_one(database: Database, repository_id: int, number: int, name: str) -> ListedFinding | None:
    """The finding with this id in a pull request."""
    query = select(FindingRow).where(
        FindingRow.repository_id == repository_id, FindingRow.number == number, FindingRow.name == name.upper()
    )
    async with database.transaction() as session:
        found = await _classify(session, repository_id, (await session.scalars(query)).all())
        return found[0] if found else None


async def list_muted_by(database: Database, repository_id: int, memory_id: str, limit: int) -> Sequence[ListedFinding]:
    """The findings that a memory mutes, newest first: those that taught it, their like, and the latest held by it.

    :param memory_id: the whole id.
    """
    taught = select(FeedbackRow.fingerprint).where(
        FeedbackRow.memory_id == memory_id, FeedbackRow.repository_id == repository_id
    )
    of_repository = select(FindingRow).where(FindingRow.repository_id == repository_id)
    same = of_repository.where(FindingRow.fingerprint.in_(taught))
    silent = of_repository.where(FindingRow.posted_by.is_(None))
    async with database.transaction() as session:
        rows = {row.id: row for row in await session.scalars(same.order_by(FindingRow.id.desc()).limit(limit))}
        latest = await session.scalars(silent.order_by(FindingRow.id.desc()).limit(_LATEST))
        rows |= {row.id: row for row in latest}
        found = await _classify(session, repository_id, [rows[each] for each in sorted(rows, reverse=True)])
    return [each for each in found if is_muted_by(each, memory_id)][:limit]


def is_muted_by(listed: ListedFinding, memory_id: str) -> bool:
    """Whether a memory, given by its whole id, mutes a finding."""
    if listed.by is not None and listed.by.memory_id == memory_id:
        return True
    return listed.held is not None and any(memory_id.endswith(each.removeprefix("M-")) for each in listed.held.memories)


@dataclass(frozen=True)
class FindingStep:
    """Something that happened to a finding.

    :param what: found | dismissed | disputed | confirmed | restored | seen | gone.
    :param memory_id: what it taught; empty: nothing.
    """

    at: datetime
    what: str
    by: str = ""
    words: str = ""
    run_id: str = ""
    memory_id: str = ""


async def load_steps(database: Database, repository_id: int, listed: ListedFinding) -> Sequence[FindingStep]:
    """What happened to a finding in its pull request, in order."""
    fingerprint, number = listed.finding.fingerprint, listed.number
    steps = [FindingStep(listed.raised_at, "found", run_id=listed.first_run)]
    said = select(FeedbackRow).where(
        FeedbackRow.repository_id == repository_id,
        FeedbackRow.fingerprint == fingerprint,
        FeedbackRow.number == number,
    )
    async with database.transaction() as session:
        for row in await session.scalars(said):
            steps.append(FindingStep(row.created_at, row.word, row.by_login, row.reason, memory_id=row.memory_id))
            if row.undone_at is not None:
                steps.append(FindingStep(row.undone_at, "restored"))
        last = await session.get(RunRow, listed.last_run)
        if last is not None and listed.last_run != listed.first_run:
            steps.append(FindingStep(last.created_at, "seen", run_id=last.id))
        gone = await session.scalar(
            select(RunRow)
            .where(*match_reviewed(RunRow, repository_id, number), RunRow.id > listed.last_run)
            .order_by(RunRow.id)
            .limit(1)
        )
        if gone is not None:
            steps.append(FindingStep(gone.created_at, "gone", run_id=gone.id))
    return sorted(steps, key=lambda each: each.at)


_later, _elsewhere = aliased(RunRow), aliased(FeedbackRow)


_IS_GONE = is_gone(_later)
_IS_DISMISSED_ELSEWHERE = (
    select(_elsewhere.id)
    .where(
        _elsewhere.repository_id == FindingRow.repository_id,
        _elsewhere.fingerprint == FindingRow.fingerprint,
        is_dismissal(_elsewhere),
        _elsewhere.number != FindingRow.number,
        ~_elsewhere.rule.startswith(RULE),
    )
    .exists()
)
_NEAR: Mapping[FindingOutcome, ColumnElement[bool]] = {
    FindingOutcome.dismissed: IS_DISMISSED,
    FindingOutcome.fixed: and_(~IS_DISMISSED, _IS_GONE),
    FindingOutcome.muted: and_(~IS_DISMISSED, ~_IS_GONE, or_(_IS_DISMISSED_ELSEWHERE, FindingRow.posted_by.is_(None))),
    FindingOutcome.open: and_(~IS_DISMISSED, ~_IS_GONE, ~_IS_DISMISSED_ELSEWHERE),
}
"""What a finding with an outcome meets at least, as far as tables tell."""


async def _classify(session: AsyncSession, repository_id: int, rows: Sequence[FindingRow]) -> Sequence[ListedFinding]:
    """What became of findings, in the same order."""
    mutings = await _load_mutings(session, repository_id, {row.fingerprint for row in rows})
    newest = await _load_newest_reviews(session, repository_id, {row.number for row in rows})
    held = await _load_held(session, {row.last_run for row in rows})
    return [_list(row, mutings, newest.get(row.number, ""), held) for row in rows]


def _list(
    row: FindingRow,
    mutings: Mapping[str, Mapping[int, FindingFeedback]],
    newest: str,
    held: Mapping[tuple[str, str], SuppressedFinding],
) -> ListedFinding:
    finding = Finding.model_validate(row.content)
    by_number = mutings.get(row.fingerprint, {})
    own, similar = by_number.get(row.number), held.get((row.last_run, row.fingerprint))
    elsewhere = None if finding.rule.startswith(RULE) else next(iter(by_number.values()), None)
    if own is not None:
        outcome = FindingOutcome.dismissed
    elif newest > row.last_run:
        outcome = FindingOutcome.fixed
    elif elsewhere is not None or similar is not None:
        outcome = FindingOutcome.muted
    else:
        outcome = FindingOutcome.open
    return ListedFinding(
        id=row.id,
        number=row.number,
        finding=finding,
        outcome=outcome,
        raised_at=row.created_at,
        first_run=row.first_run,
        last_run=row.last_run,
        by=own or elsewhere,
        held=similar if own is None and elsewhere is None else None,
        posted_by=row.posted_by or "",
        comment_id=row.comment_id,
    )


async def _load_mutings(
    session: AsyncSession, repository_id: int, fingerprints: Collection[str]
) -> Mapping[str, Mapping[int, FindingFeedback]]:
    """The dismissals that count: fingerprint → number of the pull request → dismissal."""
    query = select(FeedbackRow).where(
        FeedbackRow.repository_id == repository_id,
        FeedbackRow.fingerprint.in_(fingerprints),
        is_dismissal(),
    )
    found: dict[str, dict[int, FindingFeedback]] = {}
    for row in await session.scalars(query.order_by(FeedbackRow.id)):
        found.setdefault(row.fingerprint, {}).setdefault(row.number, feedback.from_row(row))
    return found


async def _load_newest_reviews(
    session: AsyncSession, repository_id: int, numbers: Collection[int]
) -> Mapping[int, str]:
    """The newest run of each pull request that came to a verdict."""
    query = select(RunRow.number, func.max(RunRow.id)).where(
        RunRow.repository_id == repository_id,
        RunRow.number.in_(numbers),
        RunRow.state == RunState.completed.value,
        RunRow.reason == ReasonCode.none.value,
    )
    found = await session.execute(query.group_by(RunRow.number))
    return {row[0]: row[1] for row in found}


async def _load_held(session: AsyncSession, run_ids: Collection[str]) -> Mapping[tuple[str, str], SuppressedFinding]:
    """The findings that similar dismissals mute in these runs' reviews: (run, fingerprint) → why."""
    query = select(CheckpointRow.run_id, CheckpointRow.output["held"]).where(
        CheckpointRow.run_id.in_(run_ids), CheckpointRow.phase == Phase.review.value
    )
    found: dict[tuple[str, str], SuppressedFinding] = {}
    for run_id, held in await session.execute(query):
        for each in map(SuppressedFinding.model_validate, held or ()):
            found[run_id, each.finding.fingerprint] = each
    return found
