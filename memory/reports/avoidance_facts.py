"""Collects the facts about findings of giving up and what people decided about them, for the metrics."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.gates import GateState
from domain.review.avoidance import RULE
from domain.review.judgements import JudgementKind
from domain.runs.run import ReasonCode, RunState
from memory.db.tables.findings import FindingRow, JudgementRow, WhitelistRow
from memory.db.tables.gates import GateRow
from memory.db.tables.runs import RunRow
from memory.findings.findings import IS_DISMISSED

_DECIDED = [GateState.approved.value, GateState.rejected.value]
_SETTLED = [JudgementKind.legitimate.value, JudgementKind.violation.value]


async def load_alarms(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[tuple[datetime, int, int]]:
    """For each pull request: when such a finding was last raised there, how many are dismissed, of how many."""
    raised = (
        select(func.max(FindingRow.created_at), func.sum(case((IS_DISMISSED, 1), else_=0)), func.count())
        .where(FindingRow.created_at >= since, FindingRow.content["rule"].as_string().startswith(RULE))
        .group_by(FindingRow.repository_id, FindingRow.number)
    )
    found = await session.execute(raised.where(*_is_in(FindingRow, repository_ids)))
    return [(at, int(wrong), count) for at, wrong, count in found]


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
    table: type[FindingRow | JudgementRow | WhitelistRow | GateRow], repository_ids: Sequence[int] | None
) -> tuple[ColumnElement[bool], ...]:
    return () if repository_ids is None else (table.repository_id.in_(repository_ids),)
