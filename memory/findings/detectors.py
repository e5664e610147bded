"""Counts how often each detector of giving up was right, as the people of a repository, or of all, see it."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Label, String, cast, func, select

from domain.review.avoidance import RULE, DetectorRecord
from domain.review.judgements import JudgementKind
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow, JudgementRow


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
    dismissed = (
        select(DismissalRow.rule, _count_pulls(DismissalRow))
        .where(
            *_is_in(DismissalRow, repository_id),
            DismissalRow.created_at >= since,
            DismissalRow.undone_at.is_(None),
            DismissalRow.rule.startswith(RULE),
        )
        .group_by(DismissalRow.rule)
    )
    confirmed = (
        select(JudgementRow.rule, _count_pulls(JudgementRow))
        .where(
            *_is_in(JudgementRow, repository_id),
            JudgementRow.created_at >= since,
            JudgementRow.undone_at.is_(None),
            JudgementRow.judgement == JudgementKind.violation.value,
        )
        .group_by(JudgementRow.rule)
    )
    async with database.transaction() as session:
        wrong = {each.rule: each.number for each in await session.execute(dismissed)}
        right = {each.rule: each.number for each in await session.execute(confirmed)}
        return {
            each.rule: DetectorRecord(
                each.number, min(each.number, wrong.get(each.rule, 0)), min(each.number, right.get(each.rule, 0))
            )
            for each in await session.execute(found)
        }


def _is_in(
    table: type[FindingRow | DismissalRow | JudgementRow], repository_id: int | None
) -> tuple[ColumnElement[bool], ...]:
    return () if repository_id is None else (table.repository_id == repository_id,)


def _count_pulls(table: type[FindingRow | DismissalRow | JudgementRow]) -> Label[int]:
    place = cast(table.repository_id, String) + " " + cast(table.number, String)
    return func.count(place.distinct()).label("number")
