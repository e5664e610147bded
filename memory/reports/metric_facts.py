"""Reads what counts for the metrics: what stays once its runs and days are over, and what people and agents say.

What belongs to a run counts for the time when the run began. What became of findings is left out of what is settled,
because people may say it later: there they only count as posted, or as raised.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Float,
    Integer,
    Select,
    String,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.events import EventType
from domain.gates import GateState
from domain.review.avoidance import RULE
from domain.review.feedback import Word
from domain.review.review import Decision
from domain.runs.metrics import (
    ALTERNATIVES,
    DESTRUCTIVE_APPROVED,
    DISMISSAL,
    FALSE_ALARMS,
    JUDGED_RIGHT,
    LET_PASS,
    METRICS,
    OVERRIDE,
    TOOL_SUCCESS,
    Facts,
    Metric,
    Observation,
    RunFact,
    TroubleFact,
    observe,
)
from domain.runs.recovery import RecoveryOutcome
from domain.runs.run import Phase, ReasonCode, RunState, Trigger
from domain.value import lowest_id_at
from memory.db.engine import Utc
from memory.db.functions import UtcDay
from memory.db.tables.repositories import FeedbackRow, FindingRow, GateRow, is_dismissal
from memory.db.tables.runs import EventRow, RecoveryRow, RunRow, SpendRow
from memory.learned.feedback import IS_ABOUT

_SLACK = timedelta(days=1)  # between two clocks
SINCE = bindparam("since", type_=Utc(timezone=True))
"""When the period begins."""
UNTIL = bindparam("until", type_=Utc(timezone=True))
"""The moment before which it ends."""
FIRST_ID = bindparam("first_id", type_=String())
"""A lower bound of the ids of the period. Ids begin with their time, so that only its rows are read."""
END_ID = bindparam("end_id", type_=String())
"""An upper bound of the ids of the period."""
_REPOSITORIES = bindparam("repository_ids", type_=BigInteger(), expanding=True)


@dataclass(frozen=True)
class ReportScope:
    """Whether a report is about some repositories, whose ids are values of its statements, or about all."""

    is_of_some: bool

    def match_repositories(self, column: Any) -> tuple[ColumnElement[bool], ...]:
        """Whether a column holds the id of one of the repositories."""
        return (column.in_(_REPOSITORIES),) if self.is_of_some else ()

    def match_time(self, column: Any) -> tuple[ColumnElement[bool], ...]:
        """Whether a column holds a time in the period."""
        return column >= SINCE, column < UNTIL

    def match_runs(self) -> tuple[ColumnElement[bool], ...]:
        """Whether a run began in the period."""
        return (
            RunRow.id >= FIRST_ID,
            RunRow.id < END_ID,
            *self.match_time(RunRow.created_at),
            *self.match_repositories(RunRow.repository_id),
        )

    def select_run_ids(self) -> Any:
        """The ids of the runs that began in the period."""
        return select(RunRow.id).where(*self.match_runs())


@dataclass(frozen=True)
class ReportPeriod:
    """The period of a report.

    :param until: before this moment.
    :param repository_ids: None: all repositories.
    """

    since: datetime
    until: datetime
    repository_ids: Sequence[int] | None = None

    @property
    def scope(self) -> ReportScope:
        return ReportScope(self.repository_ids is not None)

    @property
    def values(self) -> Mapping[str, Any]:
        """What the statements of its scope are run with."""
        return {
            "since": self.since,
            "until": self.until,
            "first_id": lowest_id_at(self.since - _SLACK),
            "end_id": lowest_id_at(self.until + _SLACK),
            "repository_ids": [] if self.repository_ids is None else [*self.repository_ids],
        }


Observed = Select[str, Any, Any, int]
"""Finds observations: name of the metric, UTC day, value, of how many."""
AllObserved = CompoundSelect[str, Any, Any, int]
"""Several of these in one statement."""
_BY_NAME = {metric.name: metric for metric in METRICS}
_DAYS = 1_024  # that are kept as times


FINAL = [state.value for state in RunState if state.is_final]
_WITHOUT_WORK = (ReasonCode.excluded.value, ReasonCode.answered.value)
_ENDS = [EventType.run_completed.value, EventType.run_failed.value]


async def load_settled(session: AsyncSession, period: ReportPeriod) -> Sequence[Observation]:
    """What happened in a period and stays as it is, in the caller's transaction."""
    facts = Facts(runs=await _load_runs(session, period), first=await _load_first_verdicts(session, period))
    return [*observe(facts), *await load_observations(session, _build_sums(period.scope), period)]


@cache
def _build_sums(scope: ReportScope) -> AllObserved:
    return union_all(_sum_tool_uses(scope), _sum_posted(scope), _sum_merges(scope), sum_raised(scope))


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


_DECIDED = [GateState.approved.value, GateState.rejected.value]
_SETTLED = [Word.dismissed.value, Word.confirmed.value]


def sum_raised(scope: ReportScope) -> Observed:
    """Such findings; whether they are false alarms, people say later."""
    return sum_by_day(FALSE_ALARMS, FindingRow.created_at, 0).where(
        FindingRow.id >= FIRST_ID,
        FindingRow.id < END_ID,
        *scope.match_time(FindingRow.created_at),
        *scope.match_repositories(FindingRow.repository_id),
        FindingRow.content["rule"].as_string().startswith(RULE),
    )


def sum_false_alarms(scope: ReportScope) -> Observed:
    """Such findings that are dismissed now; they are counted as raised elsewhere."""
    return (
        sum_by_day(FALSE_ALARMS, FindingRow.created_at, of=0)
        .select_from(FeedbackRow)
        .join(FindingRow, IS_ABOUT)
        .where(
            FeedbackRow.id >= FIRST_ID,
            FeedbackRow.rule.startswith(RULE),
            is_dismissal(),
            *scope.match_repositories(FeedbackRow.repository_id),
            *scope.match_time(FindingRow.created_at),
        )
    )


def sum_judged(scope: ReportScope) -> Observed:
    """Such findings of which people said whether they are right: how many are."""
    is_right = FeedbackRow.word == Word.confirmed.value
    return sum_by_day(JUDGED_RIGHT, FeedbackRow.created_at, count_if(is_right)).where(
        FeedbackRow.created_at >= SINCE,
        FeedbackRow.undone_at.is_(None),
        FeedbackRow.rule.startswith(RULE),
        FeedbackRow.word.in_(_SETTLED),
        *scope.match_repositories(FeedbackRow.repository_id),
    )


def sum_let_pass(scope: ReportScope) -> Observed:
    """Dismissals that let more than their finding pass."""
    return sum_by_day(LET_PASS, FeedbackRow.created_at).where(
        FeedbackRow.created_at >= SINCE, FeedbackRow.scope != "", *scope.match_repositories(FeedbackRow.repository_id)
    )


def sum_destructive(scope: ReportScope) -> Observed:
    """Answers to ``destructive``: how many approved."""
    is_approved = GateRow.state == GateState.approved.value
    return sum_by_day(DESTRUCTIVE_APPROVED, GateRow.decided_at, count_if(is_approved)).where(
        GateRow.name == "destructive",
        GateRow.decided_at >= SINCE,
        GateRow.state.in_(_DECIDED),
        *scope.match_repositories(GateRow.repository_id),
    )


def sum_alternatives(scope: ReportScope) -> Observed:
    """How many gates ``destructive`` ended without an approval, and after how many a later head needed none.

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
    ended = (
        select(GateRow.decided_at, another.where(~asks_again).exists().label("is_found"))
        .where(
            GateRow.name == "destructive",
            GateRow.decided_at >= SINCE,
            GateRow.state.not_in([GateState.waiting.value, GateState.approved.value]),
            or_(GateRow.state == GateState.rejected.value, another.exists()),
            *scope.match_repositories(GateRow.repository_id),
        )
        .subquery()
        .c
    )
    return sum_by_day(ALTERNATIVES, ended.decided_at, count_if(ended.is_found))


@dataclass(frozen=True)
class CountedAttempt:
    """One attempt, as far as it is counted.

    :param is_made: whether it began.
    """

    run_id: str
    work: str
    at: datetime
    is_made: bool
    outcome: RecoveryOutcome


async def load_troubles(
    session: AsyncSession, since: datetime, repository_ids: Sequence[int] | None
) -> Sequence[TroubleFact]:
    """The pieces of work in which an agent was caught since a moment.

    :param repository_ids: None: all repositories.
    """
    columns = RecoveryRow.run_id, RecoveryRow.work, RecoveryRow.time, RecoveryRow.strategy, RecoveryRow.outcome
    query = select(*columns).where(RecoveryRow.time >= since).order_by(RecoveryRow.id)
    if repository_ids is not None:
        query = query.where(RecoveryRow.repository_id.in_(repository_ids))
    return sum_up(
        CountedAttempt(run_id, work, at, strategy is not None, RecoveryOutcome(outcome))
        for run_id, work, at, strategy, outcome in await session.execute(query)
    )


def sum_up(attempts: Iterable[CountedAttempt]) -> list[TroubleFact]:
    """Each piece of work once, by its attempts in their order."""
    by_work: defaultdict[tuple[str, str], list[CountedAttempt]] = defaultdict(list)
    for attempt in attempts:
        by_work[attempt.run_id, attempt.work].append(attempt)
    return [_sum_up_one(of_work) for of_work in by_work.values()]


def _sum_up_one(of_work: Sequence[CountedAttempt]) -> TroubleFact:
    is_escalated = any(each.outcome is RecoveryOutcome.escalated for each in of_work)
    is_mended = not is_escalated and of_work[-1].outcome is RecoveryOutcome.mended
    return TroubleFact(of_work[0].at, sum(each.is_made for each in of_work), is_mended, is_escalated)


def sum_by_day(metric: Metric, at: Any, value: Any = 1, of: Any = 1) -> Observed:
    """One observation for each day: the sum of the rows on it. The caller adds where these are.

    :param at: the column that says when a row counts.
    :param value: of a row.
    :param of: how many a row counts for.
    """
    day = UtcDay(at)
    return _name(metric, day, func.sum(value), func.sum(of)).group_by(day)


def list_each(metric: Metric, day: Any, value: Any) -> Observed:
    """One observation for each row, as medians need it.

    :param day: a :class:`UtcDay`, or the column of a subquery that has one.
    """
    return _name(metric, day, value, literal(1))


def count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """1 where something is so, else 0, also where it is not known."""
    return case((condition, 1), else_=0)


async def load_observations(
    session: AsyncSession, observed: AllObserved, period: ReportPeriod
) -> Sequence[Observation]:
    """All that these find in a period. Nothing lasts less than no time: clocks differ."""
    found = await session.execute(observed, period.values)
    return [Observation(_BY_NAME[name], _find_noon(day), max(0.0, value), of) for name, day, value, of in found]


def _name(metric: Metric, day: Any, value: Any, of: Any) -> Observed:
    return select(literal(metric.name), day, cast(value, Float), cast(of, Integer))


@lru_cache(_DAYS)
def _find_noon(day: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(day), time(12), UTC)
