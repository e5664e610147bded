"""Removes problems in production that were not seen for a repository's retention time, and tokens revoked before it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select

from memory.db.batches import delete_in_batches
from memory.db.engine import Database
from memory.db.tables.production import FeedbackTokenRow, ProblemRow
from memory.reports.retention import USUAL_DAYS


async def remove(database: Database, days: Mapping[int, int], now: datetime) -> dict[str, int]:
    """Remove what is old; how much of each kind. May be repeated and interrupted.

    :param days: the retention time of repositories that have another than the usual one.
    """
    problem, token = ProblemRow, FeedbackTokenRow
    old = select(problem.id).where(_is_before(problem.last_seen, problem.repository_id, days, now))
    revoked = select(token.id).where(_is_before(token.revoked_at, token.repository_id, days, now))
    counts = {
        problem.__tablename__: await delete_in_batches(database, problem, problem.id, old),
        token.__tablename__: await delete_in_batches(database, token, token.id, revoked),
    }
    return {name: count for name, count in counts.items() if count}


def _is_before(moment: Any, repository: Any, days: Mapping[int, int], now: datetime) -> ColumnElement[bool]:
    usual = and_(repository.not_in([*days]), moment < now - timedelta(days=USUAL_DAYS))
    own = [and_(repository == number, moment < now - timedelta(days=count)) for number, count in days.items()]
    return or_(usual, *own)
