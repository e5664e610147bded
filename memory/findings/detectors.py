"""Counts how often each detector of giving up was right in a repository, as its people see it."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import func, select

from domain.review.avoidance import RULE, DetectorRecord
from domain.review.judgements import JudgementKind
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow, JudgementRow


async def load_records(database: Database, repository_id: int, since: datetime) -> Mapping[str, DetectorRecord]:
    """Rule → what it found since a moment, and how much of that people dismissed or confirmed."""
    rule = FindingRow.content["rule"].as_string()
    found = (
        select(rule.label("rule"), func.count().label("number"))
        .where(FindingRow.repository_id == repository_id, FindingRow.created_at >= since, rule.startswith(RULE))
        .group_by(rule)
    )
    dismissed = (
        select(DismissalRow.rule, func.count().label("number"))
        .where(
            DismissalRow.repository_id == repository_id,
            DismissalRow.created_at >= since,
            DismissalRow.undone_at.is_(None),
            DismissalRow.rule.startswith(RULE),
        )
        .group_by(DismissalRow.rule)
    )
    confirmed = (
        select(JudgementRow.rule, func.count(JudgementRow.fingerprint.distinct()).label("number"))
        .where(
            JudgementRow.repository_id == repository_id,
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
