"""Counts how often each detector of giving up was right, as the people of a repository, or of all, see it."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from domain.review.avoidance import RULE, DetectorRecord
from domain.review.judgements import JudgementKind
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow, JudgementRow


async def load_records(database: Database, repository_id: int | None, since: datetime) -> Mapping[str, DetectorRecord]:
    """Rule → what it found since a moment, and how much of that people dismissed or confirmed.

    :param repository_id: None: in all repositories.
    """
    rule = FindingRow.content["rule"].as_string()
    found = (
        select(rule.label("rule"), func.count().label("number"))
        .where(*_is_in(FindingRow, repository_id), FindingRow.created_at >= since, rule.startswith(RULE))
        .group_by(rule)
    )
    dismissed = (
        select(DismissalRow.rule, func.count().label("number"))
        .where(
            *_is_in(DismissalRow, repository_id),
            DismissalRow.created_at >= since,
            DismissalRow.undone_at.is_(None),
            DismissalRow.rule.startswith(RULE),
        )
        .group_by(DismissalRow.rule)
    )
    confirmed = (
        select(JudgementRow.rule, func.count(JudgementRow.fingerprint.distinct()).label("number"))
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
