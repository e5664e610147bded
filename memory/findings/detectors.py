"""Counts how often each detector of giving up was right, as the people of a repository, or of all, see it."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Label, String, cast, func, select

from domain.review.avoidance import RULE, DetectorRecord
from domain.review.feedback import Word
from memory.db.engine import Database
from memory.db.tables.findings import FeedbackRow, FindingRow


async def load_records(database: Database, repository_id: int | None, since: datetime) -> Mapping[str, DetectorRecord]:
    """Rule → in how many pull requests it found something since a moment, and in how many people dismissed or
    confirmed that: what is said about one change is one word, however many findings it has.

    :param repository_id: None: in all repositories.
    """
    rule = FindingRow.content["rule"].as_string()
    found = (
        select(rule.label("rule"), _count_pulls(FindingRow))
        .where(*_is_in(FindingRow, repository_id), FindingRow.created_at >= since, rule.startswith(RULE))
        .group_by(rule)
    )
    said = (
        select(FeedbackRow.rule, FeedbackRow.word, _count_pulls(FeedbackRow))
        .where(
            *_is_in(FeedbackRow, repository_id),
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


def _is_in(table: type[FindingRow | FeedbackRow], repository_id: int | None) -> tuple[ColumnElement[bool], ...]:
    return () if repository_id is None else (table.repository_id == repository_id,)


def _count_pulls(table: type[FindingRow | FeedbackRow]) -> Label[int]:
    place = cast(table.repository_id, String) + " " + cast(table.number, String)
    return func.count(place.distinct()).label("number")
