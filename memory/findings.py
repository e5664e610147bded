"""Keeps the findings of each pull request, with their ids, and which were posted.

It counts how often each detector of giving up was right, as the people of a repository, or of all, see it.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Label, Select, String, cast, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.events import EventType
from domain.review.avoidance import RULE, DetectorRecord
from domain.review.feedback import Word
from domain.review.findings import CREDENTIAL, Finding
from domain.review.review import Remark, UptakeRecord, split_topics
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.value import make_finding_id, new_id
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow, is_dismissal
from memory.db.tables.runs import RunRow


async def name_all(session: AsyncSession, run: Run, findings: Sequence[Finding], now: datetime) -> tuple[Finding, ...]:
    """Give each finding its id within the pull request, and store it as it is now, in the caller's transaction."""
    if not findings:
        return ()
    found = await session.execute(
        select(FindingRow.fingerprint, FindingRow.id, FindingRow.name).where(*_in_pull_request(run))
    )
    known = {row.fingerprint: row for row in found}
    taken = {row.name for row in known.values()}
    named: list[Finding] = []
    again: list[dict[str, Any]] = []
    new: list[dict[str, Any]] = []
    for finding in findings:
        row = known.get(finding.fingerprint)
        name = row.name if row else make_finding_id(finding.fingerprint, taken)
        named.append(finding.model_copy(update={"id": name}))
        content = named[-1].model_dump(mode="json")
        if row is not None:
            again.append({"id": row.id, "last_run": run.id, "content": content})
            continue
        taken.add(name)
        new.append(_row(run, named[-1], content, now))
        ledger.record(
            session,
            run.id,
            EventType.finding_detected,
            now,
            phase=Phase.review,
            payload={"finding": name, "rule": finding.rule, "severity": finding.severity, "path": finding.path},
        )
    if again:
        await session.execute(update(FindingRow), again)
    if new:
        await session.execute(insert(FindingRow), new)
    return tuple(named)


async def load_posted_before(database: Database, run: Run) -> set[str]:
    """Fingerprints of the findings in the review of an *earlier* run of this pull request."""
    found = await database.scalars(
        select(FindingRow.fingerprint).where(
            FindingRow.repository_id == run.repository.id,
            FindingRow.number == run.number,
            FindingRow.posted_by.is_not(None),
            FindingRow.posted_by != run.id,
        )
    )
    return set(found)


async def mark_posted(database: Database, run: Run, fingerprints: Collection[str]) -> None:
    """Record that this run's review contains these findings."""
    await database.execute(
        update(FindingRow)
        .where(
            FindingRow.repository_id == run.repository.id,
            FindingRow.number == run.number,
            FindingRow.fingerprint.in_(fingerprints),
            FindingRow.posted_by.is_(None),
        )
        .values(posted_by=run.id)
    )


async def load_credentials(database: Database, repository_id: int, number: int) -> list[Finding]:
    """The credentials that were found in a pull request so far, oldest first."""
    rule = FindingRow.content["rule"].as_string()
    query = _select_in(repository_id, number).where(rule.startswith(CREDENTIAL)).order_by(FindingRow.id)
    return [Finding.model_validate(row.content) for row in await database.scalars(query)]


async def load_all(database: Database, repository_id: int, number: int) -> Sequence[Finding]:
    """All findings of a pull request so far, each as it was found last; oldest first."""
    rows = await database.scalars(_select_in(repository_id, number).order_by(FindingRow.id))
    return [Finding.model_validate(row.content | {"fingerprint": row.fingerprint}) for row in rows]


async def find_by_name(database: Database, repository_id: int, number: int, name: str) -> Finding | None:
    """The finding with this id in a pull request."""
    row = await database.scalar(_select_in(repository_id, number).where(FindingRow.name == name.upper()))
    return None if row is None else Finding.model_validate(row.content)


async def load_by_fingerprint(
    database: Database, repository_id: int, number: int, fingerprints: Collection[str]
) -> Sequence[Finding]:
    """These findings of a pull request, the gravest first."""
    query = _select_in(repository_id, number).where(FindingRow.fingerprint.in_(set(fingerprints)))
    found = [Finding.model_validate(row.content) for row in await database.scalars(query)]
    return sorted(found, key=lambda each: each.sort_key)


async def list_names(database: Database, repository_id: int, number: int) -> Sequence[str]:
    """The ids of the findings of a pull request."""
    query = _select_in(repository_id, number).with_only_columns(FindingRow.name)
    return list(await database.scalars(query))


async def load_posted(database: Database, repository_id: int, number: int) -> set[str]:
    """Fingerprints of the findings in the reviews of a pull request."""
    query = _select_in(repository_id, number).where(FindingRow.posted_by.is_not(None))
    return {row.fingerprint for row in await database.scalars(query)}


async def load_by_comment(database: Database, repository_id: int, number: int) -> dict[int, Remark]:
    """The findings in comments: id of a thread's first comment → its findings, the gravest first."""
    query = _select_in(repository_id, number).where(FindingRow.comment_id.is_not(None))
    carried: dict[int, list[Finding]] = {}
    for row in await database.scalars(query):
        carried.setdefault(row.comment_id or 0, []).append(Finding.model_validate(row.content))
    return {comment: tuple(sorted(found, key=lambda each: each.sort_key)) for comment, found in carried.items()}


async def load_subjects(database: Database, repository_id: int, number: int) -> dict[int, Finding]:
    """What comments are about that say one rule only: id of the comment → its gravest finding."""
    carried = await load_by_comment(database, repository_id, number)
    return {comment: remark[0] for comment, remark in carried.items() if len(split_topics(remark)) == 1}


async def has_unplaced(database: Database, repository_id: int, number: int) -> bool:
    """Whether the comment of a posted finding is not known: GitHub may not show it yet."""
    query = _select_in(repository_id, number).with_only_columns(FindingRow.id)
    query = query.where(FindingRow.posted_by.is_not(None), FindingRow.comment_id.is_(None))
    return await database.scalar(query.limit(1)) is not None


async def note_comments(database: Database, run: Run, comments: Mapping[str, int]) -> None:
    """Record which comment contains which finding.

    :param comments: id of the finding → id of the comment.
    """
    carried: dict[int, list[str]] = {}
    for name, comment_id in comments.items():
        carried.setdefault(comment_id, []).append(name)
    async with database.transaction() as session:
        for comment_id, of_comment in carried.items():
            await session.execute(
                update(FindingRow)
                .where(*_in_pull_request(run), FindingRow.name.in_(of_comment))
                .values(comment_id=comment_id)
            )


IS_DISMISSED = (
    select(FeedbackRow.id)
    .where(
        FeedbackRow.repository_id == FindingRow.repository_id,
        FeedbackRow.number == FindingRow.number,
        FeedbackRow.fingerprint == FindingRow.fingerprint,
        is_dismissal(),
    )
    .exists()
)
"""For queries about findings: the finding is dismissed in its own pull request."""


async def find_resolved(database: Database, repository_id: int, rules: Collection[str]) -> Sequence[UptakeRecord]:
    """Findings of these rules that were posted and that a later, reviewed head does not have any more.

    It is not known who changed the line, and whether because of the comment. A finding that was ever dismissed does not
    count.
    """
    last, later = aliased(RunRow), aliased(RunRow)
    found_gone = select(later.id).where(
        later.repository_id == FindingRow.repository_id,
        later.number == FindingRow.number,
        later.state == RunState.completed.value,
        later.reason == ReasonCode.none.value,
        later.id > FindingRow.last_run,
        later.head_sha != last.head_sha,
    )
    dismissed = (
        select(FeedbackRow.id)
        .where(
            FeedbackRow.repository_id == FindingRow.repository_id,
            FeedbackRow.fingerprint == FindingRow.fingerprint,
            FeedbackRow.word == Word.dismissed.value,
        )
        .exists()
    )
    query = (
        select(FindingRow.content["rule"].as_string(), FindingRow.content["path"].as_string())
        .join(last, last.id == FindingRow.last_run)
        .where(
            FindingRow.repository_id == repository_id,
            FindingRow.content["rule"].as_string().in_(rules),
            FindingRow.posted_by.is_not(None),
            found_gone.exists(),
            ~dismissed,
        )
    )
    return [UptakeRecord(rule, path) for rule, path in await database.rows(query)]


async def find_runs(database: Database, repository_id: int, number: int, name: str) -> tuple[str, str] | None:
    """The ids of the first and the last run that found a finding."""
    row = await database.scalar(_select_in(repository_id, number).where(FindingRow.name == name))
    return None if row is None else (row.first_run, row.last_run)


def _select_in(repository_id: int, number: int) -> Select[FindingRow]:
    return select(FindingRow).where(FindingRow.repository_id == repository_id, FindingRow.number == number)


def _in_pull_request(run: Run) -> Sequence[ColumnElement[bool]]:
    return FindingRow.repository_id == run.repository.id, FindingRow.number == run.number


def _row(run: Run, finding: Finding, content: dict[str, Any], now: datetime) -> dict[str, Any]:
    return {
        "id": new_id(),
        "repository_id": run.repository.id,
        "number": run.number,
        "name": finding.id,
        "fingerprint": finding.fingerprint,
        "trail": finding.trail,
        "content": content,
        "first_run": run.id,
        "last_run": run.id,
        "created_at": now,
    }


async def load_detector_records(
    database: Database, repository_id: int | None, since: datetime
) -> Mapping[str, DetectorRecord]:
    """Rule → in how many pull requests it found something since a moment, and in how many people dismissed or
    confirmed that: what is said about one change is one word, however many findings it has.

    :param repository_id: None: in all repositories.
    """
    rule = FindingRow.content["rule"].as_string()
    found = (
        select(rule.label("rule"), _count_pulls(FindingRow))
        .where(*_is_of(FindingRow, repository_id), FindingRow.created_at >= since, rule.startswith(RULE))
        .group_by(rule)
    )
    said = (
        select(FeedbackRow.rule, FeedbackRow.word, _count_pulls(FeedbackRow))
        .where(
            *_is_of(FeedbackRow, repository_id),
            FeedbackRow.created_at >= since,
            FeedbackRow.undone_at.is_(None),
            FeedbackRow.rule.startswith(RULE),
        )
        .group_by(FeedbackRow.rule, FeedbackRow.word)
    )
    async with database.transaction() as session:
        words = {(each.rule, each.word): each.number for each in await session.execute(said)}
        return {
            each.rule: DetectorRecord(
                each.number,
                *(min(each.number, words.get((each.rule, word), 0)) for word in (Word.dismissed, Word.confirmed)),
            )
            for each in await session.execute(found)
        }


def _is_of(table: type[FindingRow | FeedbackRow], repository_id: int | None) -> tuple[ColumnElement[bool], ...]:
    return () if repository_id is None else (table.repository_id == repository_id,)


def _count_pulls(table: type[FindingRow | FeedbackRow]) -> Label[int]:
    place = cast(table.repository_id, String) + " " + cast(table.number, String)
    return func.count(place.distinct()).label("number")
