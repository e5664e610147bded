"""Keeps the tokens with which monitoring may tell of a repository: their digests, never the tokens."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, update

from domain.errors import ForgeError, UnknownName
from domain.events import EventType
from domain.runs.run import RepositoryRef
from domain.value import Value
from memory import ledger
from memory.db.engine import Connection, Database
from memory.db.tables.repositories import FeedbackTokenRow
from safety.eligibility import BURST, ReportAllowance, ReportTurn, take_report

PREFIX = "forge_fb_"
MOST_TOKENS = 10
"""Tokens of a repository that may be used at a time: some for each system that reports, and new ones meanwhile."""
OPERATOR = "operator"

_FORM = re.compile(rf"{PREFIX}([a-z2-7]{{8}})_[A-Za-z0-9_-]{{43}}")
_KEY = re.compile(r"[a-z2-7]{8}")
_NO_DIGEST = "0" * 64


class FeedbackToken(Value):
    """A token, without what is secret of it.

    :param name: what people call it, such as the system that uses it.
    :param environment: of reports that name none; None: they are refused.
    """

    id: str
    repository_id: int
    name: str
    created_at: datetime
    created_by: str
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    environment: str | None = None


async def create(
    database: Database,
    repository: RepositoryRef,
    name: str,
    by: str,
    now: datetime,
    environment: str | None = None,
    signing_secret: str | None = None,
) -> tuple[FeedbackToken, str]:
    """Make a token; what is kept of it, and the token itself, which nobody can read again.

    :param environment: of reports that name none.
    :param signing_secret: with which a system signs that can send no token; its reports name the token's id.
    :raises ForgeError: the repository has as many as it may.
    """
    key = base64.b32encode(secrets.token_bytes(5)).decode().lower()
    token = f"{PREFIX}{key}_{secrets.token_urlsafe(32)}"
    row = FeedbackTokenRow(
        id=key,
        repository_id=repository.id,
        name=name,
        digest=_digest(token),
        created_at=now,
        created_by=by,
        environment=environment,
        signing_secret=signing_secret,
        allowance=float(BURST),
        allowed_at=now,
    )
    usable = FeedbackTokenRow.repository_id == repository.id, FeedbackTokenRow.revoked_at.is_(None)
    async with database.transaction() as session:
        session.add(row)
        await session.flush()  # first: SQLite locks at the first write
        if (await session.scalar(select(func.count()).where(*usable)) or 0) > MOST_TOKENS:
            advice = "Revoke one with `forge feedback token revoke ID`."
            raise ForgeError(f"{repository.full_name} has {MOST_TOKENS} tokens already.", advice)
        facts = {"token": key, "name": name, "repository": repository.id, "by": by}
        kind = EventType.feedback_token_created
        ledger.record(session, OPERATOR, kind, now, source=OPERATOR, payload=facts)
    return _parse(row), token


async def list_tokens(database: Database, repository_id: int | None = None) -> Sequence[FeedbackToken]:
    """The tokens of a repository, or of all, oldest first; revoked ones included."""
    query = select(FeedbackTokenRow).order_by(FeedbackTokenRow.created_at, FeedbackTokenRow.id)
    if repository_id is not None:
        query = query.where(FeedbackTokenRow.repository_id == repository_id)
    return [_parse(row) for row in await database.scalars(query)]


async def revoke(database: Database, key: str, by: str, now: datetime) -> bool:
    """Make a token useless at once; whether it was of use.

    :param key: id of the token.
    :raises UnknownName: there is no such token.
    """
    async with database.transaction() as session:
        row = await session.get(FeedbackTokenRow, key, with_for_update=True)
        if row is None:
            raise UnknownName("There is no token with this id.", "`forge feedback token list` lists them.")
        if row.revoked_at is not None:
            return False
        row.revoked_at = now
        facts = {"token": key, "name": row.name, "repository": row.repository_id, "by": by}
        ledger.record(session, OPERATOR, EventType.feedback_token_revoked, now, source=OPERATOR, payload=facts)
        return True


def is_token(text: str) -> bool:
    """Whether a text has the form of a token."""
    return _FORM.fullmatch(text) is not None


def authenticate(connection: Connection, token: str) -> FeedbackToken | None:
    """The token with this text; None if there is none, or it was revoked.

    The digests are compared in constant time, also where nothing is known by this id.
    """
    found = _FORM.fullmatch(token)
    row = None if found is None else connection.execute(_select(found[1])).one_or_none()
    is_same = hmac.compare_digest(_digest(token), _NO_DIGEST if row is None else row.digest)
    return _parse(row) if row is not None and is_same and row.revoked_at is None else None


def authenticate_signed(connection: Connection, key: str, body: bytes, signature: str) -> FeedbackToken | None:
    """The token with this id, if its sender signed the body; None otherwise.

    :param signature: HMAC with SHA-256, in hexadecimal digits.
    """
    row = connection.execute(_select(key)).one_or_none() if _KEY.fullmatch(key) else None
    secret = (row.signing_secret if row is not None else None) or secrets.token_hex()
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    is_same = hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))
    return _parse(row) if row is not None and is_same and row.revoked_at is None else None


def take_turn(connection: Connection, key: str, now: datetime) -> ReportTurn:
    """Ask for one report with a token, and count it if it may be made: for all processes together."""
    table = FeedbackTokenRow
    seen = connection.execute(select(table.allowance, table.allowed_at).where(table.id == key)).one_or_none()
    if seen is not None:  # who has to wait does not keep others waiting for the lock
        turn = take_report(ReportAllowance(seen.allowance, seen.allowed_at), now)
        if turn.wait:
            return turn
    held = update(table).where(table.id == key).values(id=table.id).returning(table.allowance, table.allowed_at)
    kept = connection.execute(held).one_or_none()  # changes nothing, but takes the lock before anything is decided
    if kept is None:  # deleted a moment ago, with its repository
        return take_report(ReportAllowance(0.0, now), now)
    turn = take_report(ReportAllowance(kept.allowance, kept.allowed_at), now)
    if not turn.wait:
        values = {"allowance": turn.allowance.left, "allowed_at": turn.allowance.at, "used_at": now}
        connection.execute(update(table).where(table.id == key).values(**values))
    return turn


def _select(key: str) -> Select[Any]:
    return select(FeedbackTokenRow.__table__).where(FeedbackTokenRow.id == key)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _parse(row: object) -> FeedbackToken:
    return FeedbackToken.model_validate(row, from_attributes=True)
