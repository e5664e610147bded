"""Collects the facts behind the metrics from ledger, runs, spend, findings, gates and memories.

A week is found by the ids of runs, which begin with their time, so that only new rows are read. What belongs to a run
counts for the time when the run began.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.events import EventType
from domain.gates import GateState
from domain.ids import lowest_id_at
from domain.metrics import WEEK, Facts, RecallFact, RunFact, Series, build_series
from domain.review.review import Decision
from domain.runs.run import Phase, ReasonCode, RunState, Trigger
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow
from memory.db.tables.gates import GateRow
from memory.db.tables.learned import MemoryRow, RecallRow
from memory.db.tables.ledger import EventRow
from memory.db.tables.money import SpendRow
from memory.db.tables.runs import OutboxRow, RunRow
from memory.findings.findings import IS_DISMISSED
from memory.reports import avoidance_facts, recoveries, retention

_SLACK = timedelta(days=1)  # between two clocks
_FINAL = [state.value for state in RunState if state.is_final]
_WITHOUT_WORK = (ReasonCode.excluded.value, ReasonCode.answered.value)
_ANSWERED = [GateState.approved.value, GateState.rejected.value]
_OUTCOMES = {"helped": True, "ignored": False}


@dataclass(frozen=True)
class ReportPeriod:
    """The period of a report.

    :param repository_ids: None: all repositories.
    """

    since: datetime
    now: datetime
    repository_ids: Sequence[int] | None = None


async def load_weekly(
    database: Database, now: datetime, weeks: int, repository_ids: Sequence[int] | None = None
) -> Sequence[Series]:
    """Every metric over the last weeks.

    :param repository_ids: None: over all repositories.
    """
    terms = await retention.load_terms(database)
    days = [terms.get(each, retention.USUAL_DAYS) for each in repository_ids or ()] or [
        retention.USUAL_DAYS,
        *terms.values(),
    ]
    whole = now - timedelta(days=min(days))
    period = ReportPeriod(max(now - WEEK * weeks, whole), now, repository_ids)
    return build_series(await load_facts(database, period), now, weeks, whole)


async def load_facts(database: Database, period: ReportPeriod) -> Facts:
    """What happened in a period."""
    async with database.transaction() as session:
        return Facts(
            runs=await _load_runs(session, period),
            tools=await _load_tool_uses(session, period),
            learned=await _load_learned(session, period),
            told=await _load_recalls(session, period),
            posted=await _load_posted(session, period),
            dismissed=await _load_dismissals(session, period),
            merged=await _load_merges(session, period),
            answered=await _load_answers(session, period),
            first=await _load_first_verdicts(session, period),
            troubles=await recoveries.load_troubles(session, period.since, period.repository_ids),
            alarms=await avoidance_facts.load_alarms(session, period.since, period.repository_ids),
            judged=await avoidance_facts.load_judged(session, period.since, period.repository_ids),
            whitelisted=await avoidance_facts.load_whitelisted(session, period.since, period.repository_ids),
            destructive=await avoidance_facts.load_destructive(session, period.since, period.repository_ids),
            alternatives=await avoidance_facts.load_alternatives(session, period.since, period.repository_ids),
        )


async def _load_runs(session: AsyncSession, period: ReportPeriod) -> Sequence[RunFact]:
    """Runs that are over, without those that the configuration excluded from review."""
    calls: defaultdict[str, Counter[Phase]] = defaultdict(Counter)
    costs: Counter[str] = Counter()
    spent = select(SpendRow.run_id, SpendRow.phase, func.count(), func.sum(SpendRow.amount)).where(
        SpendRow.run_id.in_(_select_run_ids(period))
    )
    for run_id, phase, count, amount in await session.execute(spent.group_by(SpendRow.run_id, SpendRow.phase)):
        calls[run_id][Phase(phase)] += count
        costs[run_id] += int(amount)
    bounced = select(EventRow.trace, func.count()).where(
        EventRow.type == EventType.phase_bounced.value,
        EventRow.time >= period.since,
        EventRow.trace.in_(_select_run_ids(period)),
    )
    counted = await session.execute(bounced.group_by(EventRow.trace))
    bounces = {str(trace): int(count) for trace, count in counted}
    over = select(RunRow.id, RunRow.created_at, RunRow.state, RunRow.trigger).where(
        *_is_in_period(period), RunRow.state.in_(_FINAL), RunRow.reason.not_in(_WITHOUT_WORK)
    )
    return [
        RunFact(at, RunState(state), calls[run_id], costs[run_id], _count_bounces(trigger, bounces.get(run_id, 0)))
        for run_id, at, state, trigger in await session.execute(over)
    ]


def _count_bounces(trigger: str, count: int) -> int | None:
    return count if Trigger(trigger) is Trigger.issue else None


async def _load_tool_uses(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, int, int]]:
    """Week by week, each at its latest time; counted by the database, because there are many."""
    well = case((EventRow.payload["problem"].as_string().is_(None), 1), else_=0)
    ran = select(func.max(EventRow.time), func.sum(well), func.count()).where(
        EventRow.type == EventType.tool_executed.value
    )
    if period.repository_ids is not None:
        ran = ran.where(EventRow.trace.in_(_select_run_ids(period)))
    found: list[tuple[datetime, int, int]] = []
    end = period.now
    while end > period.since:
        begin = max(end - WEEK, period.since)
        week = ran.where(EventRow.time > begin, EventRow.time <= end)
        at, count, of = (await session.execute(week)).one()
        found += [(at, int(count), of)] if of else []
        end = begin
    return found


async def _load_learned(session: AsyncSession, period: ReportPeriod) -> Sequence[datetime]:
    """When each memory was learned. Pinned memories are left out, because people stated them."""
    learned = select(MemoryRow.created_at).where(
        MemoryRow.id >= _first_id(period), MemoryRow.created_at >= period.since, MemoryRow.pinned.is_(False)
    )
    if period.repository_ids is not None:
        learned = learned.where(MemoryRow.repository_id.in_(period.repository_ids))
    return (await session.scalars(learned)).all()


async def _load_recalls(session: AsyncSession, period: ReportPeriod) -> Sequence[RecallFact]:
    told = (
        select(RunRow.created_at, RecallRow.run_id, RecallRow.task, RecallRow.outcome)
        .join(RunRow, RunRow.id == RecallRow.run_id)
        .where(*_is_in_period(period), RecallRow.run_id >= _first_id(period))
    )
    return [
        RecallFact(at, run_id, task, _OUTCOMES.get(outcome))
        for at, run_id, task, outcome in await session.execute(told)
    ]


async def _load_posted(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, int, int]]:
    """For each run, the dismissed and all posted findings."""
    posted = (
        select(RunRow.created_at, func.sum(case((IS_DISMISSED, 1), else_=0)), func.count())
        .join(FindingRow, FindingRow.posted_by == RunRow.id)
        .where(*_is_in_period(period), FindingRow.id >= _first_id(period))
        .group_by(RunRow.id, RunRow.created_at)
    )
    return [(at, int(wrong), count) for at, wrong, count in await session.execute(posted)]


async def _load_dismissals(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, float]]:
    """The time from the posting of a finding's review to its dismissal in the same pull request."""
    same = and_(
        FindingRow.repository_id == DismissalRow.repository_id,
        FindingRow.number == DismissalRow.number,
        FindingRow.fingerprint == DismissalRow.fingerprint,
    )
    posted = and_(OutboxRow.run_id == FindingRow.posted_by, OutboxRow.kind == "review")
    judged = (
        select(DismissalRow.created_at, OutboxRow.done_at)
        .join(FindingRow, same)
        .join(OutboxRow, posted)
        .where(DismissalRow.created_at >= period.since, DismissalRow.undone_at.is_(None))
    )
    if period.repository_ids is not None:
        judged = judged.where(DismissalRow.repository_id.in_(period.repository_ids))
    found = await session.execute(judged)
    return [(at, max(0.0, (at - since).total_seconds())) for at, since in found if since is not None]


async def _load_merges(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, bool]]:
    """What people merged, without what authors merged themselves, which says nothing about the verdict."""
    decided = (
        select(EventRow.time, EventRow.payload["approved"].as_boolean())
        .join(RunRow, RunRow.id == EventRow.trace)
        .where(
            EventRow.type == EventType.feedback_decided.value,
            EventRow.time >= period.since,
            EventRow.payload["own"].as_boolean().is_not(True),
            *_is_in_repositories(period),
        )
    )
    return [(at, not approved) for at, approved in await session.execute(decided)]


async def _load_answers(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, float]]:
    asked = select(GateRow.decided_at, GateRow.asked_at).where(
        GateRow.id >= _first_id(period), GateRow.decided_at >= period.since, GateRow.state.in_(_ANSWERED)
    )
    if period.repository_ids is not None:
        asked = asked.where(GateRow.repository_id.in_(period.repository_ids))
    found = await session.execute(asked)
    return [(at, max(0.0, (at - since).total_seconds())) for at, since in found if at is not None]


async def _load_first_verdicts(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, bool]]:
    """The first verdict on each pull request. A resumed run may end twice."""
    earlier = aliased(RunRow)
    went_before = (
        select(earlier.id)
        .where(
            earlier.repository_id == RunRow.repository_id,
            earlier.number == RunRow.number,
            earlier.id < RunRow.id,
            earlier.state == RunState.completed.value,
            earlier.reason == ReasonCode.none.value,
        )
        .exists()
    )
    decision = EventRow.payload["decision"].as_string()
    ended = (
        select(RunRow.repository_id, RunRow.number, RunRow.created_at, decision)
        .join(EventRow, and_(EventRow.trace == RunRow.id, EventRow.type.in_(_ENDS)))
        .where(*_is_in_period(period), decision.is_not(None), ~went_before)
        .order_by(EventRow.id)
    )
    first: dict[tuple[int, int], tuple[datetime, bool]] = {}
    for repository_id, number, at, said in await session.execute(ended):
        first.setdefault((repository_id, number), (at, said == Decision.approve.value))
    return [*first.values()]


_ENDS = [EventType.run_completed.value, EventType.run_failed.value]


def _first_id(period: ReportPeriod) -> str:
    return lowest_id_at(period.since - _SLACK)


def _is_in_period(period: ReportPeriod) -> tuple[ColumnElement[bool], ...]:
    """The runs that began in the period."""
    return RunRow.id >= _first_id(period), RunRow.created_at >= period.since, *_is_in_repositories(period)


def _is_in_repositories(period: ReportPeriod) -> tuple[ColumnElement[bool], ...]:
    return () if period.repository_ids is None else (RunRow.repository_id.in_(period.repository_ids),)


def _select_run_ids(period: ReportPeriod) -> Any:
    return select(RunRow.id).where(*_is_in_period(period))
