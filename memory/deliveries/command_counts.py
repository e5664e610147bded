"""Counts the comments with commands of the last hour by account, to limit the answers to outsiders."""

from datetime import datetime

from sqlalchemy import case, delete, func, select, update

from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.deliveries import CommandCountRow
from safety.eligibility import WINDOW, CommentCounts


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
