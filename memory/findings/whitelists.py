"""Keeps what may pass for a time, in a file or a repository, because people said that a detector is wrong there."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select, update

from domain.commands import Sender
from domain.events import EventType
from domain.ids import new_id
from domain.review.avoidance import find_version
from domain.review.findings import Finding
from domain.review.judgements import WHITELIST_TIME, Lapse, Whitelisting, WhitelistScope
from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from memory.db.engine import Database, insert_new
from memory.db.tables.findings import WhitelistRow
from memory.ledger import ledger


async def add(
    database: Database,
    repository: RepositoryRef,
    number: int,
    finding: Finding,
    scope: WhitelistScope,
    sender: Sender,
    words: str,
    cause: str,
    now: datetime,
) -> Whitelisting:
    """Let findings like this one pass for a time.

    :param cause: the command behind it, which is executed once.
    """
    path = finding.path if scope is WhitelistScope.file else ""
    values = {
        "id": new_id(),
        "repository_id": repository.id,
        "number": number,
        "name": finding.id,
        "fingerprint": finding.fingerprint,
        "rule": finding.rule,
        "path": path,
        "version": find_version(finding.rule),
        "words": redact_outgoing(words),
        "by_id": sender.id,
        "by_login": sender.login,
        "cause": cause,
        "created_at": now,
        "until": now + WHITELIST_TIME,
        "ended": None,
        "ended_at": None,
    }
    async with database.transaction() as session:
        added = await session.execute(insert_new(database.dialect, WhitelistRow, values).returning(WhitelistRow.id))
        if added.first() is not None:
            facts = {"finding": finding.id, "rule": finding.rule, "path": path, "description": values["words"]}
            await ledger.record_person_action(
                session, repository, number, EventType.feedback_whitelisted, sender, now, **facts
            )
        row = await session.scalar(select(WhitelistRow).where(WhitelistRow.cause == cause))
        assert row is not None
        return _from_row(row)


async def list_for_rules(database: Database, repository_id: int, rules: Collection[str]) -> Sequence[Whitelisting]:
    """Every whitelist of a repository that is about one of these rules, oldest first, also those that ended."""
    if not rules:
        return ()
    query = select(WhitelistRow).where(WhitelistRow.repository_id == repository_id, WhitelistRow.rule.in_(set(rules)))
    async with database.transaction() as session:
        return [_from_row(row) for row in await session.scalars(query.order_by(WhitelistRow.id))]


async def list_all(database: Database, repository_id: int) -> Sequence[Whitelisting]:
    """Every whitelist of a repository, oldest first, also those that ended."""
    query = select(WhitelistRow).where(WhitelistRow.repository_id == repository_id).order_by(WhitelistRow.id)
    async with database.transaction() as session:
        return [_from_row(row) for row in await session.scalars(query)]


async def list_of_files(database: Database, repository_id: int, now: datetime) -> Sequence[Whitelisting]:
    """Those of single files that may still hold."""
    query = select(WhitelistRow).where(
        WhitelistRow.repository_id == repository_id,
        WhitelistRow.path != "",
        WhitelistRow.ended.is_(None),
        WhitelistRow.until > now,
    )
    async with database.transaction() as session:
        return [_from_row(row) for row in await session.scalars(query.order_by(WhitelistRow.id))]


async def end(database: Database, repository: RepositoryRef, ids: Collection[str], why: Lapse, now: datetime) -> None:
    """End whitelists before their time."""
    async with database.transaction() as session:
        ended = await session.scalars(
            update(WhitelistRow)
            .where(WhitelistRow.id.in_(ids), WhitelistRow.ended.is_(None))
            .values(ended=why.value, ended_at=now)
            .returning(WhitelistRow)
        )
        for row in ended.all():
            facts = {"repository": repository.id, "finding": row.name, "rule": row.rule, "path": row.path}
            trace = await ledger.find_trace(session, repository, None)
            ledger.record(
                session,
                trace,
                EventType.feedback_whitelist_ended,
                now,
                source="whitelist",
                payload={**facts, "why": why.value},
            )


async def end_covering(database: Database, repository: RepositoryRef, finding: Finding, now: datetime) -> bool:
    """End all by which a finding passes; whether there were any."""
    known = await list_for_rules(database, repository.id, {finding.rule})
    ids = [each.id for each in known if each.covers(finding) and each.find_lapse(now) is None]
    await end(database, repository, ids, Lapse.undone, now)
    return bool(ids)


async def undo(database: Database, repository: RepositoryRef, number: int, fingerprint: str, now: datetime) -> None:
    """End those that somebody asked for at a finding, because that is taken back."""
    query = select(WhitelistRow.id).where(
        WhitelistRow.repository_id == repository.id,
        WhitelistRow.number == number,
        WhitelistRow.fingerprint == fingerprint,
    )
    async with database.transaction() as session:
        ids = (await session.scalars(query)).all()
    await end(database, repository, ids, Lapse.undone, now)


def _from_row(row: WhitelistRow) -> Whitelisting:
    return Whitelisting(
        id=row.id,
        number=row.number,
        name=row.name,
        rule=row.rule,
        path=row.path,
        version=row.version,
        words=row.words,
        by_id=row.by_id,
        by_login=row.by_login,
        at=row.created_at,
        until=row.until,
        ended=None if row.ended is None else Lapse(row.ended),
    )
