"""Stores accepted deliveries, several in one commit, and their outcomes; and counts the comments with commands."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import ColumnElement, case, delete, func, not_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.text.redaction import PROCESS_REDACTOR, redact_outgoing
from memory import ledger
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.deliveries import CommandCountRow, DeliveryRow
from safety.eligibility import WINDOW, CommentCounts


@dataclass(frozen=True)
class ReceivedDelivery:
    """One delivery from the webhook endpoint; ``command`` is None for an ignored one, with its ``reason``.

    :param pushes: the rows of a push that it tells of; see :func:`memory.deliveries.pushes.build_row`.
    :param acts_once: the key by which it acts once, beside its GUID, which is not signed; None if it may act again.
    """

    guid: str
    event: str
    action: str
    received_at: datetime
    command: dict[str, Any] | None
    reason: str
    acts_once: str | None = None
    pushes: Sequence[dict[str, Any]] = ()


UNDER_WAY = "under way"
FAILED = "failed"
_FAILED = f"{FAILED}: "  # how the reason of a failed delivery begins
_REPLAY_MARK = "/"  # separates the GUID of a delivery from the id of its replay; GitHub's GUIDs have none
_FINDING = re.compile(r"\bF-[A-Z2-7]{6}\b")
_ULID_OR_NUMBER = re.compile(r"\b(?:[0-9A-HJKMNP-TV-Z]{26}|\d+)\b")
_IDENTIFIERS = frozenset(
    {"kind", "owner", "name", "login", "node_id", "head_sha", "base_sha", "trigger", "repeat"}
    | {"updated_at", "written_at", "pushed_at", "asked_at"}
)
"""Fields of commands that never contain a credential; redacting them would delay the webhook."""
_BATCH = 500  # in one statement
_INSERTS = {
    dialect: insert_new(dialect, DeliveryRow).returning(DeliveryRow.guid) for dialect in ("sqlite", "postgresql")
}


def store(connection: Connection, deliveries: Sequence[ReceivedDelivery]) -> list[bool]:
    """Insert deliveries, and return for each whether it was new. Of two with the same GUID, only the first is new.

    The same is true of two with the same ``acts_once``: somebody other than GitHub sent one of them again.
    """
    inserted = connection.execute(_INSERTS[connection.dialect.name], build_rows(deliveries)).scalars()
    return tell_new(deliveries, set(inserted))


def build_rows(deliveries: Sequence[ReceivedDelivery]) -> list[dict[str, Any]]:
    """Rows to insert, in the order of the unique keys, so that two processes never wait for each other."""
    return sorted(map(_values, deliveries), key=lambda row: (row["acts_once"] or "", row["guid"]))


def list_pushes(deliveries: Sequence[ReceivedDelivery]) -> list[dict[str, Any]]:
    """The pushes they tell of, in the order of their key, so that two processes never wait for each other."""
    pushed = [row for each in deliveries for row in each.pushes]
    return sorted(pushed, key=lambda row: (row["repository_id"], row["head_sha"], row["by_id"], row["pusher"]))


def tell_new(deliveries: Sequence[ReceivedDelivery], inserted: set[str]) -> list[bool]:
    """Whether each delivery is new. Of two with the same GUID, only the first is.

    :param inserted: the GUIDs that were inserted.
    """
    left = set(inserted)
    return [delivery.guid in left and not left.discard(delivery.guid) for delivery in deliveries]


def _values(delivery: ReceivedDelivery) -> dict[str, Any]:
    return {
        "guid": delivery.guid,
        "event": delivery.event,
        "action": delivery.action,
        "received_at": delivery.received_at,
        "outcome": "ignored" if delivery.command is None else "accepted",
        "reason": delivery.reason,
        "command": _mask(delivery.command),
        "finished_at": delivery.received_at if delivery.command is None else None,
        "acts_once": delivery.acts_once,
    }


async def allow_repeat(database: Database, guid: str) -> None:
    """Let the same act of the same person ask again, because this delivery achieved nothing."""
    await database.execute(update(DeliveryRow).where(DeliveryRow.guid == guid).values(acts_once=None))


def _mask(value: Any) -> Any:
    """A command without credentials in what people wrote, and without NUL, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return PROCESS_REDACTOR(value.replace("\0", ""))
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {name: each if name in _IDENTIFIERS else _mask(each) for name, each in fields.items()}
    return [_mask(each) for each in cast(list[Any], value)] if isinstance(value, list) else value


async def finish(database: Database, guid: str, reason: str, now: datetime) -> None:
    """Record the outcome of an accepted delivery, and that it failed as an event, too."""
    told = redact_outgoing(reason)
    finished = (
        update(DeliveryRow)
        .where(DeliveryRow.guid == guid, DeliveryRow.finished_at.is_(None))
        .values(reason=told, finished_at=now)
        .returning(DeliveryRow.event, DeliveryRow.action, DeliveryRow.command)
    )
    async with database.transaction() as session:
        row = (await session.execute(finished)).first()
        if row is not None and told.startswith(_FAILED):
            event, action, command = row
            facts = {"delivery": guid, "event": event, "action": action, "why": told.removeprefix(_FAILED)}
            about = {"repository": (command or {}).get("repository"), "number": (command or {}).get("number")}
            ledger.record(
                session, guid, EventType.delivery_failed, now, source="deliveries", payload={**facts, **about}
            )


async def find(database: Database, guid: str) -> DeliveryRow | None:
    """The delivery with this GUID."""
    return await database.get(DeliveryRow, guid)


async def find_stored(database: Database, guids: Sequence[str]) -> set[str]:
    """Which of these deliveries are stored."""
    found: set[str] = set()
    for start in range(0, len(guids), _BATCH):
        part = guids[start : start + _BATCH]
        found.update(await database.scalars(select(DeliveryRow.guid).where(DeliveryRow.guid.in_(part))))
    return found


def build_replay_guid(guid: str, new_id: str) -> str:
    """The GUID for a replay of this delivery; if it is a replay itself, for one of the original."""
    return f"{strip_replay_mark(guid)}{_REPLAY_MARK}{new_id}"


def strip_replay_mark(guid: str) -> str:
    """The GUID that GitHub gave."""
    return guid.split(_REPLAY_MARK, 1)[0]


def classify_reason(reason: str) -> str:
    """The kind of outcome that a reason gives, without details, ids and numbers, so that there are few.

    >>> classify_reason("failed: GitHub did not answer."), classify_reason("2 runs ended, 1 purged")
    ('failed', 'run ended')
    >>> classify_reason("F-ABC234 is dismissed")
    'finding is dismissed'
    """
    outline = re.split("[:,]", reason, maxsplit=1)[0]
    outline = _ULID_OR_NUMBER.sub("", _FINDING.sub("finding", outline))
    return " ".join("run" if word == "runs" else word for word in outline.split()) or UNDER_WAY


async def count_outcomes(database: Database) -> dict[tuple[str, str, str], int]:
    """How many deliveries there are by (event, outcome, kind of reason)."""
    found: Counter[tuple[str, str, str]] = Counter()
    columns = (DeliveryRow.event, DeliveryRow.outcome, DeliveryRow.reason)
    async with database.transaction() as session:
        rows = await session.stream(select(*columns, func.count()).group_by(*columns))
        async for event, outcome, reason, number in rows:  # as many rows as runs, so they are not collected
            found[event, outcome, classify_reason(reason)] += number
    return dict(found)


@dataclass(frozen=True)
class Failure:
    """A delivery that failed: the GUID GitHub gave, and the time and reason of the last failure."""

    guid: str
    at: datetime
    event: str
    action: str
    reason: str


async def list_failures(database: Database, limit: int) -> Sequence[Failure]:
    """The deliveries that failed and had no successful replay since, newest first."""
    failed: dict[str, Failure] = {}
    async with database.transaction() as session:
        made_good = await _load_good_replays(session)
        query = select(DeliveryRow).where(_has_failed()).order_by(DeliveryRow.received_at.desc(), DeliveryRow.guid)
        async for row in await session.stream_scalars(query):
            guid = strip_replay_mark(row.guid)
            if guid not in failed and not (guid in made_good and made_good[guid] >= row.received_at):
                what = row.reason.removeprefix(_FAILED)
                failed[guid] = Failure(guid, row.received_at, row.event, row.action, what)
            if len(failed) == limit:
                break
    return list(failed.values())


async def _load_good_replays(session: AsyncSession) -> dict[str, datetime]:
    """By GitHub's GUID: when its last successful replay was requested."""
    replays = select(DeliveryRow.guid, DeliveryRow.received_at).where(
        DeliveryRow.guid.contains(_REPLAY_MARK), DeliveryRow.finished_at.is_not(None), not_(_has_failed())
    )
    rows = await session.execute(replays.order_by(DeliveryRow.received_at))
    return {strip_replay_mark(guid): at for guid, at in rows}


def _has_failed() -> ColumnElement[bool]:
    return DeliveryRow.reason.startswith(_FAILED)


async def count_comment(
    database: Database, guid: str, repository_id: int, account_id: int, now: datetime
) -> CommentCounts:
    """Count one comment; a repeated call changes nothing. Deletes what is older than an hour.

    :param guid: GUID of its delivery.
    """
    row = CommandCountRow
    values = {"guid": guid, "repository_id": repository_id, "account_id": account_id, "at": now, "told": ""}
    here = row.repository_id == repository_id
    counted = select(func.count(), func.sum(case((row.account_id == account_id, 1), else_=0))).where(here)

    def count(connection: Connection) -> CommentCounts:
        _take_turn(connection, database.dialect, account_id)
        connection.execute(insert_new(database.dialect, row, values))
        connection.execute(delete(row).where(row.at < now - WINDOW, row.guid != guid))
        everybody, own = connection.execute(counted).one()
        return CommentCounts(by_account=own, in_repository=everybody)

    return await database.run_in_transaction(count)


async def claim_notice(database: Database, guid: str, what: str) -> bool:
    """Whether the author of a comment gets a notice: not if another comment of theirs here got it within the last hour.

    Once claimed, the notice stays with its comment, however often the answer is tried.

    :param guid: GUID of the comment's delivery.
    """
    row = CommandCountRow
    here = row.guid == guid
    # An update that changes nothing: it takes the row's lock, on SQLite that of the file, before anything is decided.
    held = update(row).where(here).values(told=row.told).returning(row.repository_id, row.account_id, row.told)

    def mark(connection: Connection) -> bool:
        account_id = connection.scalar(select(row.account_id).where(here)) if database.dialect == "postgresql" else None
        if account_id is not None:
            _take_turn(connection, database.dialect, account_id)
        mine = connection.execute(held).one_or_none()
        if mine is None or mine.told == what:  # none: it came more than an hour ago
            return True
        theirs = (row.repository_id == mine.repository_id, row.account_id == mine.account_id)
        if connection.scalar(select(func.count()).where(*theirs, row.told == what)):
            return False
        connection.execute(update(row).where(here).values(told=what))
        return True

    return await database.run_in_transaction(mark)


def _take_turn(connection: Connection, dialect: str, account_id: int) -> None:
    """Let nobody else count this account's comments until the transaction ends; on SQLite the first write does that."""
    if dialect == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(account_id)))
