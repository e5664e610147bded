"""Collects the facts about findings of giving up and what people decided about them, for the metrics."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.gates import GateState
from domain.review.avoidance import RULE
from domain.review.judgements import JudgementKind
from domain.runs.run import ReasonCode, RunState
from memory.db.tables.findings import DismissalRow, FindingRow, JudgementRow, WhitelistRow
from memory.db.tables.gates import GateRow
from memory.db.tables.runs import RunRow
from memory.findings.dismissals import IS_ABOUT
from memory.reports.periods import ReportPeriod

_DECIDED = [GateState.approved.value, GateState.rejected.value]
_SETTLED = [JudgementKind.legitimate.value, JudgementKind.violation.value]


async def load_raised(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, int, int]]:
    """When such findings were raised, each one that counts later as a false alarm or not."""
    raised = select(FindingRow.created_at).where(
        FindingRow.id >= period.first_id,
        FindingRow.id < period.end_id,
        *period.match_time(FindingRow.created_at),
        *period.match_repositories(FindingRow.repository_id),
        FindingRow.content["rule"].as_string().startswith(RULE),
    )
    return [(at, 0, 1) for at in await session.scalars(raised)]


async def load_false_alarms(session: AsyncSession, period: ReportPeriod) -> Sequence[datetime]:
    """When such findings were raised that are dismissed now."""
    wrong = (
        select(FindingRow.created_at)
        .select_from(DismissalRow)
        .join(FindingRow, IS_ABOUT)
        .where(
            DismissalRow.id >= period.first_id,
            DismissalRow.rule.startswith(RULE),
            DismissalRow.undone_at.is_(None),
            *period.match_repositories(DismissalRow.repository_id),
            *period.match_time(FindingRow.created_at),
        )
    )
    return (await session.scalars(wrong)).all()


async def load_judged(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[tuple[datetime, bool]]:
    """When people said of such a finding whether it is right, and whether it is."""
    said = select(JudgementRow.created_at, JudgementRow.judgement).where(
        JudgementRow.created_at >= since, JudgementRow.undone_at.is_(None), JudgementRow.judgement.in_(_SETTLED)
    )
    found = await session.execute(said.where(*_is_in(JudgementRow, repository_ids)))
    return [(at, kind == JudgementKind.violation.value) for at, kind in found]


async def load_whitelisted(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[datetime]:
    """When something was put on a whitelist."""
    added = select(WhitelistRow.created_at).where(WhitelistRow.created_at >= since)
    return (await session.scalars(added.where(*_is_in(WhitelistRow, repository_ids)))).all()


async def load_destructive(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[tuple[datetime, bool]]:
    """When ``destructive`` was answered, and whether it was approved."""
    answered = select(GateRow.decided_at, GateRow.state).where(
        GateRow.name == "destructive", GateRow.decided_at >= since, GateRow.state.in_(_DECIDED)
    )
    found = await session.execute(answered.where(*_is_in(GateRow, repository_ids)))
    return [(at, state == GateState.approved.value) for at, state in found if at is not None]


async def load_alternatives(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[tuple[datetime, bool]]:
    """When ``destructive`` ended without an approval, and whether a later head of the pull request needed none.

    One that was settled without a later head, by a word about its findings, says nothing about that.
    """
    later, asked_again = aliased(RunRow), aliased(GateRow)
    asks_again = (
        select(asked_again.id).where(asked_again.run_id == later.id, asked_again.name == "destructive").exists()
    )
    another = select(later.id).where(
        later.repository_id == GateRow.repository_id,
        later.number == GateRow.number,
        later.id > GateRow.run_id,
        later.state == RunState.completed.value,
        later.reason == ReasonCode.none.value,
    )
    ended = select(GateRow.decided_at, another.where(~asks_again).exists()).where(
        GateRow.name == "destructive",
        GateRow.decided_at >= since,
        GateRow.state.not_in([GateState.waiting.value, GateState.approved.value]),
        or_(GateRow.state == GateState.rejected.value, another.exists()),
        *_is_in(GateRow, repository_ids),
    )
    return [(at, is_found) for at, is_found in await session.execute(ended) if at is not None]


def _is_in(
    table: type[JudgementRow | WhitelistRow | GateRow], repository_ids: Sequence[int] | None
) -> tuple[ColumnElement[bool], ...]:
    return () if repository_ids is None else (table.repository_id.in_(repository_ids),)
