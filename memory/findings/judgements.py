"""Keeps what people say about findings of giving up: right, a false alarm, or to be looked at by others."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import select, update

from domain.commands import Sender
from domain.events import EventType
from domain.ids import new_id
from domain.review.judgements import FindingJudgement, JudgementKind
from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from memory.db.engine import Database, insert_new
from memory.db.tables.findings import JudgementRow
from memory.ledger import ledger


async def add(database: Database, repository: RepositoryRef, said: FindingJudgement, cause: str) -> bool:
    """Keep a judgement; whether it is new.

    :param cause: the command behind it, which is kept once for each finding.
    """
    words = redact_outgoing(said.words)
    values = said.model_dump(exclude={"at", "role", "kind", "words"}) | {
        "id": new_id(),
        "repository_id": repository.id,
        "judgement": said.kind.value,
        "words": words,
        "by_role": said.role,
        "cause": cause,
        "created_at": said.at,
        "undone_at": None,
    }
    async with database.transaction() as session:
        added = await session.execute(insert_new(database.dialect, JudgementRow, values).returning(JudgementRow.id))
        if added.first() is None:
            return False
        facts = {"finding": said.name, "rule": said.rule, "judgement": said.kind.value, "description": words}
        sender = Sender(id=said.by_id, login=said.by_login)
        seen = {"head": said.head_sha, "shown": said.shown}
        await ledger.record_person_action(
            session, repository, said.number, EventType.feedback_judged, sender, said.at, **facts, **seen
        )
        return True


async def load_standing(
    database: Database, repository_id: int, number: int, fingerprints: Collection[str]
) -> Mapping[str, FindingJudgement]:
    """Fingerprint → what was said last about a finding of a pull request, and not taken back."""
    if not fingerprints:
        return {}
    query = (
        select(JudgementRow)
        .where(
            JudgementRow.repository_id == repository_id,
            JudgementRow.number == number,
            JudgementRow.fingerprint.in_(set(fingerprints)),
            JudgementRow.undone_at.is_(None),
        )
        .order_by(JudgementRow.id)
    )
    async with database.transaction() as session:
        return {row.fingerprint: _from_row(row) for row in await session.scalars(query)}


async def is_kept(database: Database, repository_id: int, number: int, fingerprint: str, cause: str) -> bool:
    """Whether a command kept what it says about a finding."""
    query = select(JudgementRow.id).where(
        JudgementRow.repository_id == repository_id,
        JudgementRow.number == number,
        JudgementRow.fingerprint == fingerprint,
        JudgementRow.cause == cause,
    )
    async with database.transaction() as session:
        return await session.scalar(query) is not None


async def list_of_file(
    database: Database, repository_id: int, rule: str, path: str, most: int
) -> Sequence[FindingJudgement]:
    """The newest judgements about findings of a rule in a file, oldest first."""
    query = select(JudgementRow).where(
        JudgementRow.repository_id == repository_id,
        JudgementRow.rule == rule,
        JudgementRow.path == path,
        JudgementRow.undone_at.is_(None),
    )
    async with database.transaction() as session:
        rows = (await session.scalars(query.order_by(JudgementRow.id.desc()).limit(most))).all()
        return [_from_row(row) for row in reversed(rows)]


async def undo(database: Database, repository_id: int, number: int, fingerprint: str, now: datetime) -> bool:
    """Take back all that was said about a finding; whether there was anything."""
    async with database.transaction() as session:
        undone = await session.execute(
            update(JudgementRow)
            .where(
                JudgementRow.repository_id == repository_id,
                JudgementRow.number == number,
                JudgementRow.fingerprint == fingerprint,
                JudgementRow.undone_at.is_(None),
            )
            .values(undone_at=now)
            .returning(JudgementRow.id)
        )
        return undone.first() is not None


def _from_row(row: JudgementRow) -> FindingJudgement:
    return FindingJudgement(
        number=row.number,
        name=row.name,
        fingerprint=row.fingerprint,
        rule=row.rule,
        path=row.path,
        kind=JudgementKind(row.judgement),
        words=row.words,
        by_id=row.by_id,
        by_login=row.by_login,
        role=row.by_role,
        head_sha=row.head_sha,
        shown=row.shown,
        asked_at=row.asked_at,
        at=row.created_at,
    )
