"""Deletes what was kept long enough, and what belongs to repositories that Forge lost.

Rows go kind by kind, in small batches, so that nobody waits for the lock. How long they stay is a repository's last
``audit.retention_days``. Dismissals, findings, runs and approvals stay: dismissals and approvals count until they are
undone, and later runs are compared with findings and runs.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, String, and_, cast, delete, exists, false, func, or_, select, update
from sqlalchemy.orm import aliased

from domain.config.configuration import Audit
from domain.events import EventType
from domain.gates import GateState
from domain.runs.run import RunState
from domain.value import lowest_id_at
from memory.call_facts import RESERVED
from memory.db.engine import Database, TableRow, number_in
from memory.db.tables.deliveries import (
    BranchPushRow,
    CommandCountRow,
    DeliveryRow,
    NoticeTargetRow,
    SignedCommitRow,
)
from memory.db.tables.repositories import (
    AssentRow,
    ConfigurationRow,
    DeploymentRow,
    FeedbackRow,
    FeedbackTokenRow,
    FindingRow,
    GateRow,
    MemoryRow,
    MemoryUseRow,
    ProblemRow,
    RecallRow,
    RepositoryRow,
    is_dismissal,
)
from memory.db.tables.runs import (
    AnswerRow,
    BudgetRow,
    CheckpointRow,
    CircuitRow,
    EventRow,
    OutboxRow,
    PullRequestRow,
    RecoveryRow,
    RunRow,
    SpendRow,
    WorkCheckpointRow,
)
from memory.runs.outbox import APPROVAL
from safety.allowed_actions import Action
from safety.eligibility import WINDOW

USUAL_DAYS = Audit().retention_days
CODE_RETENTION = timedelta(days=14)
"""How long rows with code and prompts are kept after their run ended: answers, checkpoints, journals."""
DELIVERY_RETENTION = timedelta(days=8)
"""How long deliveries and writes to GitHub are kept at least: GitHub repeats a delivery for up to seven days."""
PURGE_RETENTION = timedelta(days=60)
"""How long the purge of a repository is recorded: unused copies are deleted after half of that anyway."""
PUSH_RETENTION = timedelta(days=365)
"""How long it is kept who pushed a head: pull requests may stay open as long."""
DISPUTE_RETENTION = timedelta(days=365)
"""How long decisions on false positives and on destructive changes are kept at least."""

RECOVERY_RETENTION = timedelta(days=90)
"""How long attempts to recover, and decisions about them, are kept at least."""

_DISPUTES = ("false_positive", "destructive")
_RECOVERY = "recovery"
_ANSWERED = (GateState.approved.value, GateState.rejected.value)
_IS_APPROVAL = OutboxRow.step.startswith(APPROVAL, autoescape=True)
"""GitHub counts an approval for everything that is pushed after it, until Forge withdraws it."""
_FINAL = [state.value for state in RunState if state.is_final]


@dataclass(frozen=True)
class _Group:
    """Repositories with the same retention time; without ``ids``, all that are not in ``others``."""

    days: int
    ids: Sequence[int] = ()
    others: Sequence[int] = ()

    def matches(self, column: Any) -> ColumnElement[bool]:
        """Whether a column with the id of a repository is in this group."""
        return column.in_(self.ids) if self.ids else or_(column.is_(None), column.not_in(self.others))

    def matches_run(self, column: Any) -> ColumnElement[bool]:
        """The same for a column with the id of a run; rows of no run belong to the usual group."""
        named = select(RunRow.id).where(RunRow.repository_id.in_(self.ids or self.others))
        return column.in_(named) if self.ids else column.not_in(named)

    def is_over(self, column: Any) -> Sequence[ColumnElement[bool]]:
        """Whether a column with the id of a run is of one in this group that is over."""
        return _is_over(column), self.matches_run(column)


async def load_terms(database: Database, repository_ids: Sequence[int] | None = None) -> dict[int, int]:
    """For how many days each repository keeps its audit, if not for the usual time.

    :param repository_ids: only of these; None: of all.
    """
    repositories = select(RunRow.repository_id, RunRow.installation_id).distinct()
    if repository_ids is not None:
        newest = [select(func.max(RunRow.id)).where(RunRow.repository_id == each) for each in repository_ids]
        repositories = repositories.where(or_(*(RunRow.id == each.scalar_subquery() for each in newest), false()))
    async with database.transaction() as session:
        kept = {row.scope: _parse_days(row.content) for row in await session.scalars(select(ConfigurationRow))}
        known = (await session.execute(repositories)).all()
    found = {
        number: kept.get(f"repository {number}") or kept.get(f"organisation {installation}") or USUAL_DAYS
        for number, installation in known
    }
    return {number: days for number, days in found.items() if days != USUAL_DAYS}


def _parse_days(content: Mapping[str, Any]) -> int | None:
    section = content.get("audit")
    return section.get("retention_days") if isinstance(section, dict) else None


async def remove(database: Database, days: Mapping[int, int], now: datetime) -> dict[str, int]:
    """Remove rows that are older than their time; returns how many of each kind. May be repeated and interrupted.

    :param days: the days of repositories that do not keep their audit for the usual time.
    """
    removed: defaultdict[str, int] = defaultdict(int)
    for group in _group_by_days(days):
        for table, key, rows in _select_old(group, now):
            removed[table.__tablename__] += await delete_in_batches(database, table, key, rows)
        removed["gates emptied"] += await _empty_gates(database, group, now)
    for table, key, rows in (*_select_old_code(now), *_select_old_budgets(now), *_select_old_feedback(now)):
        removed[table.__tablename__] += await delete_in_batches(database, table, key, rows)
    removed["purges"] = await _forget_purges(database, now)
    return {name: count for name, count in removed.items() if count}


def _group_by_days(days: Mapping[int, int]) -> Sequence[_Group]:
    by_days: defaultdict[int, list[int]] = defaultdict(list)
    for number, count in days.items():
        by_days[count].append(number)
    return [*(_Group(count, ids) for count, ids in by_days.items()), _Group(USUAL_DAYS, others=[*days])]


_OldRows = tuple[type[TableRow], Any, Select[Any]]
"""A table, the column by which its rows are removed, and which values of it are old."""


def _select_old(group: _Group, now: datetime) -> Sequence[_OldRows]:
    until = now - timedelta(days=group.days)
    seen, recovered = min(until, now - DELIVERY_RETENTION), min(until, now - RECOVERY_RETENTION)
    event, write, spent, delivery, tried = EventRow, OutboxRow, SpendRow, DeliveryRow, RecoveryRow
    its_repository = group.matches(number_in(delivery.command["repository"]["id"]))
    is_done = or_(delivery.finished_at.is_not(None), delivery.outcome == "ignored")
    ended = select(RunRow.id).where(RunRow.finished_at < until)
    kept: Sequence[tuple[type[TableRow], Any, Sequence[ColumnElement[bool]]]] = [
        (event, event.id, [*_is_before_id(event, event.time, until), ~_is_counted(), *group.is_over(event.trace)]),
        (write, write.id, [*_is_before_id(write, write.created_at, seen), ~_IS_APPROVAL, *group.is_over(write.run_id)]),
        (
            spent,
            spent.id,
            [
                *_is_before_id(spent, spent.reserved_at, until),
                spent.state != RESERVED,
                _is_over(spent.run_id),
                group.matches(spent.repository_id),
            ],
        ),
        (
            delivery,
            delivery.guid,
            [delivery.received_at < seen, is_done, _has_no_open_run(delivery.guid), its_repository],
        ),
        (GateRow, GateRow.id, [*_is_old_gate(group, now), GateRow.state.not_in(_ANSWERED)]),
        (
            CheckpointRow,
            CheckpointRow.run_id,
            [CheckpointRow.run_id.in_(ended), group.matches_run(CheckpointRow.run_id)],
        ),
        (tried, tried.id, [tried.time < recovered, _is_over(tried.run_id), group.matches(tried.repository_id)]),
    ]
    return [(table, key, select(key).where(*old)) for table, key, old in kept]


def _is_before_id(row: Any, moment: Any, until: datetime) -> Sequence[ColumnElement[bool]]:
    """Whether a row is older; its id, which begins with its time, is looked for first."""
    return row.id < lowest_id_at(until), moment < until


def _is_counted() -> ColumnElement[bool]:
    """Whether an event is the outcome of a head, which the ladder counts and which a late revert may need."""
    merged = and_(
        EventRow.type == EventType.ladder_acted.value, EventRow.payload["act"].as_string() == Action.auto_merge.value
    )
    told = [EventType.feedback_decided.value, EventType.feedback_merged.value]
    return or_(EventRow.type.in_(told), merged)


def _is_old_gate(group: _Group, now: datetime) -> tuple[ColumnElement[bool], ...]:
    until = now - timedelta(days=group.days)
    disputed, recovered = min(until, now - DISPUTE_RETENTION), min(until, now - RECOVERY_RETENTION)
    kept_longer = (*_DISPUTES, _RECOVERY)
    return (
        GateRow.id < lowest_id_at(until),
        or_(
            GateRow.decided_at < disputed,
            and_(GateRow.decided_at < recovered, GateRow.name == _RECOVERY),
            and_(GateRow.decided_at < until, GateRow.name.not_in(kept_longer)),
        ),
        _is_over(GateRow.run_id),  # a resumed run reads the answers again
        group.matches(GateRow.repository_id),
    )


def _select_old_code(now: datetime) -> Sequence[_OldRows]:
    """Code and prompts, checkpoints that a later run replaced, approvals in long lost repositories, hourly counts."""
    until = now - CODE_RETENTION
    newer, output = aliased(RunRow), aliased(CheckpointRow)
    replaced = exists(
        select(output.id)
        .join(newer, newer.id == output.run_id)
        .where(newer.repository_id == RunRow.repository_id, newer.number == RunRow.number, newer.id > RunRow.id)
    )
    ended = select(RunRow.id).where(RunRow.finished_at < until)
    lost = select(RepositoryRow.repository_id).where(_is_long_lost(now))
    of_lost = select(RunRow.id).where(RunRow.repository_id.in_(lost))
    return [
        (
            OutboxRow,
            OutboxRow.id,
            select(OutboxRow.id).where(_IS_APPROVAL, OutboxRow.run_id.in_(of_lost)),
        ),
        (CommandCountRow, CommandCountRow.guid, select(CommandCountRow.guid).where(CommandCountRow.at < now - WINDOW)),
        *(
            (table, table.at, select(table.at).where(table.at < now - PUSH_RETENTION))
            for table in (BranchPushRow, AssentRow, SignedCommitRow)
        ),
        *(
            (table, table.run_id, select(table.run_id).where(table.run_id.in_(ended)).distinct())
            for table in (AnswerRow, WorkCheckpointRow)
        ),
        (
            CheckpointRow,
            CheckpointRow.run_id,
            select(CheckpointRow.run_id)
            .join(RunRow, RunRow.id == CheckpointRow.run_id)
            .where(CheckpointRow.id < lowest_id_at(until), RunRow.finished_at < until, replaced),
        ),
    ]


def _is_long_lost(now: datetime) -> ColumnElement[bool]:
    return RepositoryRow.lost_at < now - PURGE_RETENTION


async def _forget_purges(database: Database, now: datetime) -> int:
    """What is noted of long lost repositories, once nothing of them is left that depends on it."""
    gone = update(RepositoryRow).where(_is_long_lost(now)).values(lost_at=None).returning(RepositoryRow.repository_id)
    return len(await database.scalars(gone))


def _select_old_budgets(now: datetime) -> Sequence[_OldRows]:
    """What people granted to runs that are over, and by which deliveries."""
    until = lowest_id_at(now - timedelta(days=USUAL_DAYS))
    found: list[_OldRows] = []
    for prefix in ("run:", "calls:", "granted by:"):
        run_id = func.substr(BudgetRow.scope, len(prefix) + 1, 26)
        rows = select(BudgetRow.scope).where(BudgetRow.scope.startswith(prefix), run_id < until, _is_over(run_id))
        found.append((BudgetRow, BudgetRow.scope, rows))
    return found


def _select_old_feedback(now: datetime) -> Sequence[_OldRows]:
    """What people said about findings: what dismisses none any more, and a scope, so long after it ended."""
    until = now - DISPUTE_RETENTION
    is_old = or_(FeedbackRow.until < until, and_(FeedbackRow.created_at < until, ~is_dismissal()))
    return [(FeedbackRow, FeedbackRow.id, select(FeedbackRow.id).where(is_old))]


def _is_over(column: Any) -> ColumnElement[bool]:
    return column.not_in(select(RunRow.id).where(RunRow.state.not_in(_FINAL)))


def _has_no_open_run(guid: Any) -> ColumnElement[bool]:
    """Whether all runs that a delivery began are over; until then its sender is looked up."""
    number = func.length(cast(RunRow.number, String)) + 1  # a run is admitted by GUID#NUMBER
    began = func.substr(RunRow.admitted_by, 1, func.length(RunRow.admitted_by) - number)
    return guid.not_in(select(began).where(RunRow.state.not_in(_FINAL)))


async def _empty_gates(database: Database, group: _Group, now: datetime) -> int:
    """Empty old answered gates, except for whether and when they were approved or rejected, which the ladder counts."""
    whole = GateRow.request["prompt"].as_string() != ""
    rows = select(GateRow).where(*_is_old_gate(group, now), GateRow.state.in_(_ANSWERED), whole).limit(BATCH)
    count = 0
    while True:
        async with database.transaction() as session:
            batch = (await session.scalars(rows)).all()
            for row in batch:
                row.request = {**row.request, "prompt": "", "reasons": [], "options": [], "escalate": []}
                row.decision = {"at": row.decided_at.isoformat(), "via": "removed"} if row.decided_at else None
                row.delegate = None
        count += len(batch)
        if len(batch) < BATCH:
            return count
        await asyncio.sleep(0)


async def remove_notice_targets(database: Database, now: datetime) -> int:
    """Forget how targets of notices were to which nothing was sent for a month; of how many."""
    idle = select(NoticeTargetRow.id).where(NoticeTargetRow.at < now - timedelta(days=30))
    return await delete_in_batches(database, NoticeTargetRow, NoticeTargetRow.id, idle)


async def remove_problems(database: Database, days: Mapping[int, int], now: datetime) -> dict[str, int]:
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


async def forget_repositories(database: Database, repository_ids: Sequence[int]) -> None:
    """Delete the questions, findings, memories and decisions of repositories that Forge lost."""
    of_runs = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids))
    for table, run in ((AnswerRow, AnswerRow.run_id), (RecallRow, RecallRow.run_id)):
        await delete_in_batches(database, table, run, select(run).where(run.in_(of_runs)))
    learned = select(MemoryRow.id).where(MemoryRow.repository_id.in_(repository_ids))
    used = MemoryUseRow.memory_id
    await delete_in_batches(database, MemoryUseRow, used, select(used).where(used.in_(learned)))
    for table, key in _OF_REPOSITORIES:
        lost = select(key).where(table.repository_id.in_(repository_ids))
        await delete_in_batches(database, table, key, lost)
    # their fencing tokens stay, and that they were welcomed
    named = PullRequestRow.repository_id.in_(repository_ids), PullRequestRow.title != ""
    await database.execute(update(PullRequestRow).where(*named).values(title=""))
    known = RepositoryRow.repository_id.in_(repository_ids)
    await database.execute(update(RepositoryRow).where(known).values(dict.fromkeys(_DECIDED)))


_DECIDED = ("paused_since", "paused_by", "paused_why", "level", "level_since", "level_by", "missed")
"""Of a row of :class:`RepositoryRow`, what goes with the repository."""

_OF_REPOSITORIES: Sequence[tuple[Any, Any]] = (
    (GateRow, GateRow.id),
    (FindingRow, FindingRow.id),
    (FeedbackRow, FeedbackRow.id),
    (MemoryRow, MemoryRow.id),
    (CircuitRow, CircuitRow.repository_id),
    (BranchPushRow, BranchPushRow.repository_id),
    (SignedCommitRow, SignedCommitRow.repository_id),
    (AssentRow, AssentRow.repository_id),
    (DeploymentRow, DeploymentRow.run_id),
    (FeedbackTokenRow, FeedbackTokenRow.id),
    (ProblemRow, ProblemRow.id),
    (CommandCountRow, CommandCountRow.guid),
    (NoticeTargetRow, NoticeTargetRow.id),
)


async def list_lost_deliveries(database: Database, repository_ids: Sequence[int]) -> Sequence[str]:
    """The deliveries that began runs in these repositories, or told that the App was installed there."""
    query = select(RunRow.admitted_by).where(RunRow.repository_id.in_(repository_ids))
    welcomed = select(RepositoryRow.welcome_cause).where(RepositoryRow.repository_id.in_(repository_ids))
    async with database.transaction() as session:
        began = {admitted.rpartition("#")[0] for admitted in await session.scalars(query)}
        return sorted(began | {*filter(None, await session.scalars(welcomed))})


async def list_lost_runs(database: Database, repository_ids: Sequence[int]) -> Sequence[str]:
    """The runs of these repositories."""
    return await database.scalars(select(RunRow.id).where(RunRow.repository_id.in_(repository_ids)))


BATCH = 200


async def delete_in_batches(database: Database, table: type[TableRow], key: Any, rows: Select[Any]) -> int:
    """Delete rows in batches, which are found without a lock; returns how many were deleted."""
    count = 0
    while True:
        batch = await database.scalars(rows.limit(BATCH))
        if not batch:
            return count
        async with database.transaction() as session:
            gone = await session.execute(delete(table).where(key.in_(batch)).returning(key))
            count += len(gone.all())
        await asyncio.sleep(0)
