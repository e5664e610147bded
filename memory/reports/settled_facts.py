"""Reads what counts for the metrics and is much, and what does not change once its runs and days are over.

What belongs to a run counts for the time when the run began. What became of findings is left out, because people may
say it later: here they only count as posted, or as raised.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Select, and_, func, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.events import EventType
from domain.metrics import DISMISSAL, OVERRIDE, TOOL_SUCCESS, Facts, Observation, RunFact, observe
from domain.review.review import Decision
from domain.runs.run import Phase, ReasonCode, RunState, Trigger
from memory.db.tables.findings import FindingRow
from memory.db.tables.ledger import EventRow
from memory.db.tables.money import SpendRow
from memory.db.tables.runs import RunRow
from memory.reports import avoidance_facts
from memory.reports.observations import AllObserved, Observed, count_if, load_observations, sum_by_day
from memory.reports.periods import SINCE, ReportPeriod, ReportScope

FINAL = [state.value for state in RunState if state.is_final]
_WITHOUT_WORK = (ReasonCode.excluded.value, ReasonCode.answered.value)
_ENDS = [EventType.run_completed.value, EventType.run_failed.value]


async def load_settled(session: AsyncSession, period: ReportPeriod) -> Sequence[Observation]:
    """What happened in a period and stays as it is, in the caller's transaction."""
    facts = Facts(runs=await _load_runs(session, period), first=await _load_first_verdicts(session, period))
    return [*observe(facts), *await load_observations(session, _build_sums(period.scope), period)]


@cache
def _build_sums(scope: ReportScope) -> AllObserved:
    return union_all(_sum_tool_uses(scope), _sum_posted(scope), _sum_merges(scope), avoidance_facts.sum_raised(scope))


async def _load_runs(session: AsyncSession, period: ReportPeriod) -> Sequence[RunFact]:
    """Runs that are over, without those that the configuration excluded from review."""
    statements, values = _build_runs(period.scope), period.values
    calls: defaultdict[str, Counter[Phase]] = defaultdict(Counter)
    costs: Counter[str] = Counter()
    for run_id, phase, count, amount in await session.execute(statements.spent, values):
        calls[run_id][Phase(phase)] += count
        costs[run_id] += int(amount)
    bounces = {str(trace): int(count) for trace, count in await session.execute(statements.bounced, values)}
    return [
        RunFact(at, RunState(state), calls[run_id], costs[run_id], _count_bounces(trigger, bounces.get(run_id, 0)))
        for run_id, at, state, trigger in await session.execute(statements.over, values)
    ]


@dataclass(frozen=True)
class _RunStatements:
    spent: Select[str, str, int, int]
    bounced: Select[str, int]
    over: Select[str, datetime, str, str]


@cache
def _build_runs(scope: ReportScope) -> _RunStatements:
    spent = select(SpendRow.run_id, SpendRow.phase, func.count(), func.sum(SpendRow.amount))
    bounced = select(EventRow.trace, func.count()).where(
        EventRow.type == EventType.phase_bounced.value,
        EventRow.time >= SINCE,
        EventRow.trace.in_(scope.select_run_ids()),
    )
    return _RunStatements(
        spent=spent.where(SpendRow.run_id.in_(scope.select_run_ids())).group_by(SpendRow.run_id, SpendRow.phase),
        bounced=bounced.group_by(EventRow.trace),
        over=select(RunRow.id, RunRow.created_at, RunRow.state, RunRow.trigger).where(
            *scope.match_runs(), RunRow.state.in_(FINAL), RunRow.reason.not_in(_WITHOUT_WORK)
        ),
    )


def _count_bounces(trigger: str, count: int) -> int | None:
    return count if Trigger(trigger) is Trigger.issue else None


def _sum_tool_uses(scope: ReportScope) -> Observed:
    """Of runs that are over: how many calls of tools succeeded, of how many."""
    went_well = count_if(EventRow.payload["problem"].as_string().is_(None))
    return (
        sum_by_day(TOOL_SUCCESS, RunRow.created_at, went_well)
        .join(EventRow, and_(EventRow.trace == RunRow.id, EventRow.type == EventType.tool_executed.value))
        .where(*scope.match_runs(), RunRow.state.in_(FINAL))
    )


def _sum_posted(scope: ReportScope) -> Observed:
    """The findings that runs posted which are over; which of these are dismissed is counted elsewhere."""
    return (
        sum_by_day(DISMISSAL, RunRow.created_at, 0)
        .join(FindingRow, and_(FindingRow.posted_by == RunRow.id, FindingRow.repository_id == RunRow.repository_id))
        .where(*scope.match_runs(), RunRow.state.in_(FINAL))
    )


def _sum_merges(scope: ReportScope) -> Observed:
    """What people merged, without what authors merged themselves, which says nothing about the verdict."""
    went_against = count_if(EventRow.payload["approved"].as_boolean().is_not(True))
    return (
        sum_by_day(OVERRIDE, EventRow.time, went_against)
        .join(RunRow, RunRow.id == EventRow.trace)
        .where(
            EventRow.type == EventType.feedback_decided.value,
            *scope.match_time(EventRow.time),
            EventRow.payload["own"].as_boolean().is_not(True),
            *scope.match_repositories(RunRow.repository_id),
        )
    )


async def _load_first_verdicts(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, bool]]:
    """The first verdict on each pull request. A resumed run may end twice."""
    first: dict[str, tuple[datetime, bool]] = {}
    for run_id, at, said in await session.execute(_build_first_verdicts(period.scope), period.values):
        first.setdefault(run_id, (at, said == Decision.approve.value))
    return [*first.values()]


@cache
def _build_first_verdicts(scope: ReportScope) -> Select[str, datetime, str]:
    """No later end makes another one the first: a run is over before the next one of its pull request is admitted."""
    earlier, told = aliased(RunRow), aliased(EventRow)
    said_something = (
        select(told.id)
        .where(told.trace == earlier.id, told.type.in_(_ENDS), told.payload["decision"].as_string().is_not(None))
        .exists()
    )
    is_complete = and_(earlier.state == RunState.completed.value, earlier.reason == ReasonCode.none.value)
    went_before = (
        select(earlier.id)
        .where(
            earlier.repository_id == RunRow.repository_id,
            earlier.number == RunRow.number,
            earlier.id < RunRow.id,
            or_(is_complete, and_(earlier.state == RunState.failed.value, said_something)),
        )
        .exists()
    )
    decision = EventRow.payload["decision"].as_string()
    ended = (
        select(RunRow.id, RunRow.created_at, decision)
        .join(EventRow, and_(EventRow.trace == RunRow.id, EventRow.type.in_(_ENDS)))
        .where(*scope.match_runs(), RunRow.state.in_(FINAL), decision.is_not(None), ~went_before)
    )
    return ended.order_by(EventRow.id)
