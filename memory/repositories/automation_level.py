"""Keeps the automation level of each repository, and the real outcomes that decide it.

A pull request counts as one run, from the first completed one that looked at something, so more pushes and reviews do
not raise the level, and neither does one that was not merged. A finding counts as a false positive while a person's
dismissal of it applies. People's decisions are their answers at gates, but those about money and guards, which say
nothing about the change, those of who wrote part of it, and approvals at low risk; and their merges of pull requests,
see :func:`record_decision`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from domain.commands import Sender
from domain.events import EventType
from domain.gates import BUDGET_GATES, GateState
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import FindingRow, GateRow, RepositoryRow, hold
from memory.db.tables.runs import EventRow, RunRow
from memory.findings import IS_DISMISSED
from safety.allowed_actions import Action
from safety.automation_level import RUNS_NEEDED, START, HumanDecision, LadderFacts, LadderVerdict, RunRecord

_DECISIONS = 200  # earlier ones weigh less than a billionth
_MISSED = 100
_RUNS_WITH_DECISIONS = 1000
_SOURCE = "ladder"


async def load_facts(database: Database, repository_id: int) -> LadderFacts:
    """The facts that decide the level of a repository, as far back as the highest level needs."""
    async with database.transaction() as session:
        row = await session.get(RepositoryRow, repository_id)
        records = await _load_runs(session, repository_id)
        decided = [
            *await _load_gate_decisions(session, repository_id),
            *await _load_merge_decisions(session, repository_id),
        ]
        return LadderFacts(
            level=_get_level(row),
            since=None if row is None else row.level_since,
            runs=records,
            missed=[] if row is None else sorted(map(datetime.fromisoformat, (row.missed or {}).values())),
            decisions=sorted(decided, key=lambda one: one.at)[-_DECISIONS:],
        )


async def get_level(database: Database, repository_id: int) -> int:
    """The level that was reached or set, whatever the configuration allows."""
    return _get_level(await database.get(RepositoryRow, repository_id))


def _get_level(row: RepositoryRow | None) -> int:
    return START if row is None or row.level is None else row.level


async def move_level(
    database: Database, repository_id: int, known: LadderFacts, verdict: LadderVerdict, trace: str
) -> bool:
    """Change the level as decided, unless it changed since the facts were read; returns whether this changed it.

    :param known: the facts that decided it.
    :param trace: the run or the delivery that caused it.
    """
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository_id)
        if (_get_level(row), row.level_since) != (known.level, known.since):
            return False
        row.level, row.level_since, row.level_by = verdict.level, verdict.at, ""
        told = {
            "before": verdict.before,
            "move": verdict.move.value,
            "text": verdict.reason.text,
            "measured": [reason.text for reason in verdict.reason.children],
        }
        _record(session, trace, EventType.ladder_changed, verdict.at, repository_id, level=verdict.level, **told)
        return True


async def set_level(
    database: Database, repository_id: int, wanted: int, by_login: str, trace: str, now: datetime
) -> int:
    """Set the level that a person asked for, and return the one before. The same delivery may repeat it."""
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository_id)
        before = _get_level(row)
        done = [
            each for each in await _load_events(session, trace, EventType.ladder_changed) if each["level"] == wanted
        ]
        if done:
            return int(done[-1]["before"])
        row.level, row.level_since, row.level_by = wanted, now, by_login
        text = f"{by_login} set level {wanted}"
        told = {"before": before, "move": "set", "text": text, "by": by_login}
        _record(session, trace, EventType.ladder_changed, now, repository_id, level=wanted, **told)
        return before


async def list_changes(database: Database, trace: str) -> Sequence[Mapping[str, Any]]:
    """How a run changed the level: ``before``, ``level`` and ``text`` of each change, in order."""
    async with database.transaction() as session:
        return await _load_events(session, trace, EventType.ladder_changed)


async def record_missed_bug(
    database: Database,
    repository: RepositoryRef,
    number: int,
    run_id: str | None,
    by_login: str,
    description: str,
    cause: str,
    now: datetime,
) -> bool:
    """Record a critical bug that Forge missed; returns whether ``cause`` was not recorded before."""
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository.id)
        known = row.missed or {}
        if cause in known:
            return False
        row.missed = dict([*known.items(), (cause, now.isoformat())][-_MISSED:])
        told = {"number": number, "by": by_login, "description": description, "cause": cause}
        _record(session, run_id or cause, EventType.feedback_missed, now, repository.id, **told)
        return True


async def record_decision(
    database: Database, run: Run, approved: bool, by: Sender, now: datetime, *, own: bool = False
) -> None:
    """Record what a person decided by merging the head of a run, once per run.

    A merge after an approving verdict counts as an approval, one although Forge requested changes as a rejection.
    Closing a pull request without a merge says nothing about the verdict, and Forge's own merges decide nothing.

    :param own: it says nothing about the verdict either, as an author merged it or it has no weight; it is still
        recorded.
    """
    told = {"approved": approved, "by": by.login, "by_id": by.id, "own": own}
    await _record_once(database, run, EventType.feedback_decided, now, told)


async def record_merge(database: Database, run: Run, now: datetime) -> None:
    """Record that the pull request of a run was merged, once per run."""
    await _record_once(database, run, EventType.feedback_merged, now, {})


async def was_approved(database: Database, run_id: str) -> bool:
    """Whether the head of a run was merged, by a person or by Forge, after its verdict approved it."""
    async with database.transaction() as session:
        decided = await _load_events(session, run_id, EventType.feedback_decided)
        done = await _load_events(session, run_id, EventType.ladder_acted)
        return any(each["approved"] for each in decided) or any(each["act"] == "auto_merge" for each in done)


async def record_announcement(
    database: Database, run: Run, until: datetime, now: datetime, told: Mapping[str, Any]
) -> datetime:
    """Record that people were told of a merge, once per run; returns until when they can stop it.

    :param told: the level, the rule and the text of the reason that allows it.
    """
    known = await _record_once(database, run, EventType.ladder_announced, now, {"until": until.isoformat(), **told})
    return datetime.fromisoformat(str(known["until"]))


async def find_announcement(database: Database, run_id: str) -> Mapping[str, Any] | None:
    """What people were told about the coming merge of this run's head, if they were told."""
    async with database.transaction() as session:
        return next(iter(await _load_events(session, run_id, EventType.ladder_announced)), None)


async def record_stop(database: Database, run: Run, why: str, now: datetime) -> None:
    """Record that a person, or a merge queue, stopped automatic actions on the head of this run."""
    await _record_once(database, run, EventType.ladder_stopped, now, {"why": why})


async def find_stop_reason(database: Database, run_id: str) -> str | None:
    """Why automatic actions on the head of this run were stopped, if they were."""
    async with database.transaction() as session:
        return next((str(each["why"]) for each in await _load_events(session, run_id, EventType.ladder_stopped)), None)


async def record_action(database: Database, run: Run, act: str, now: datetime, told: Mapping[str, Any]) -> None:
    """Record an automatic action, once per run and action.

    :param told: the level, the rule and the text of the reason that allowed it, and what was done.
    """
    async with database.transaction() as session:
        # A write comes first, so that two executions take turns.
        await session.execute(update(RunRow).where(RunRow.id == run.id).values(state=RunRow.state))
        if not any(each["act"] == act for each in await _load_events(session, run.id, EventType.ladder_acted)):
            _record(session, run.id, EventType.ladder_acted, now, run.repository.id, act=act, number=run.number, **told)


async def list_actions(database: Database, run_id: str) -> Sequence[Mapping[str, Any]]:
    """The automatic actions on the head of a run."""
    async with database.transaction() as session:
        return await _load_events(session, run_id, EventType.ladder_acted)


async def record_refusal(database: Database, run: Run, why: str, now: datetime) -> None:
    """Record that GitHub did not take an automatic fix of the head of this run."""
    await _record_once(database, run, EventType.ladder_refused, now, {"why": why})


async def find_refusal(database: Database, run_id: str) -> str | None:
    """Why GitHub did not take an automatic fix of the head of a run, if it refused one."""
    async with database.transaction() as session:
        return next((str(each["why"]) for each in await _load_events(session, run_id, EventType.ladder_refused)), None)


async def _record_once(
    database: Database, run: Run, kind: EventType, now: datetime, told: dict[str, Any]
) -> dict[str, Any]:
    """Record an event of a run unless one of its type is recorded; returns the facts recorded first."""
    async with database.transaction() as session:
        await session.execute(update(RunRow).where(RunRow.id == run.id).values(state=RunRow.state))
        known = await _load_events(session, run.id, kind)
        if known:
            return known[0]
        _record(session, run.id, kind, now, run.repository.id, number=run.number, head=run.head_sha, **told)
        return told


async def _load_events(session: AsyncSession, trace: str, kind: EventType) -> list[dict[str, Any]]:
    query = select(EventRow.payload).where(EventRow.trace == trace, EventRow.type == kind.value).order_by(EventRow.id)
    return list(await session.scalars(query))


def _record(
    session: AsyncSession, trace: str, kind: EventType, now: datetime, repository_id: int, **told: object
) -> None:
    ledger.record(session, trace, kind, now, source=_SOURCE, payload={"repository": repository_id, **told})


async def _load_runs(session: AsyncSession, repository_id: int) -> list[RunRecord]:
    """The newest pull requests that completed runs looked at, oldest first, each at the end of its first run.

    Those that were merged are loaded by themselves, so that many others cannot hide them.
    """
    earlier, same = aliased(RunRow), aliased(RunRow)
    went_before = select(earlier.id).where(
        *_is_counted(repository_id, earlier), earlier.number == RunRow.number, earlier.id < RunRow.id
    )
    first_end = select(func.min(same.finished_at)).where(
        *_is_counted(repository_id, same), same.number == RunRow.number
    )
    looked_at = (
        select(RunRow.number, first_end.scalar_subquery())
        .where(*_is_counted(repository_id), ~went_before.exists())
        .order_by(RunRow.id.desc())
        .limit(RUNS_NEEDED)
    )  # from the newest run back; a group of each number would read all runs
    was_merged = _was_merged(repository_id)
    found = {
        number: (at, merged)
        for merged, which in ((True, was_merged), (False, ~was_merged))
        for number, at in await session.execute(looked_at.where(which))
        if at is not None
    }
    counts = await _count_findings(session, repository_id, list(found))
    records = [RunRecord(at, *counts.get(number, (0, 0)), merged) for number, (at, merged) in found.items()]
    return sorted(records, key=lambda record: record.at)


def _was_merged(repository_id: int) -> ColumnElement[bool]:
    """Whether a pull request of runs was merged, by a person, by Forge or by another App."""
    run = aliased(RunRow)
    by_forge = and_(
        EventRow.type == EventType.ladder_acted.value, EventRow.payload["act"].as_string() == Action.auto_merge.value
    )
    told = [EventType.feedback_merged.value, EventType.feedback_decided.value]
    return (
        select(EventRow.id)
        .join(run, run.id == EventRow.trace)
        .where(
            run.repository_id == repository_id,
            run.number == RunRow.number,
            or_(EventRow.type.in_(told), by_forge),
        )
        .exists()
    )


def _is_counted(repository_id: int, run: type[RunRow] = RunRow) -> tuple[ColumnElement[bool], ...]:
    return (
        run.repository_id == repository_id,
        run.state == RunState.completed.value,
        run.reason == ReasonCode.none.value,
        run.finished_at.is_not(None),
    )


async def _count_findings(
    session: AsyncSession, repository_id: int, numbers: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """Pull request → findings that reviews of it posted, and how many of them people dismissed."""
    query = (
        select(RunRow.number, func.count(), func.sum(case((IS_DISMISSED, 1), else_=0)))
        .join(FindingRow, and_(FindingRow.posted_by == RunRow.id, FindingRow.number == RunRow.number))
        .where(*_is_counted(repository_id), RunRow.number.in_(numbers), FindingRow.repository_id == repository_id)
        .group_by(RunRow.number)
    )
    return {number: (posted, int(wrong)) for number, posted, wrong in await session.execute(query)}


async def _load_gate_decisions(session: AsyncSession, repository_id: int) -> list[HumanDecision]:
    query = (
        select(GateRow.decided_at, GateRow.state, GateRow.decision)
        .where(
            GateRow.repository_id == repository_id,
            GateRow.state.in_([GateState.approved.value, GateState.rejected.value]),
            GateRow.name.not_in(BUDGET_GATES),
            GateRow.decided_at.is_not(None),
        )
        .order_by(GateRow.decided_at.desc())
        .limit(_DECISIONS)
    )
    return [
        HumanDecision(at, state == GateState.approved.value, (decision or {}).get("by_id"))
        for at, state, decision in await session.execute(query)
        if at is not None and not (decision or {}).get("waived") and not (decision or {}).get("own")
        if not (state == GateState.approved.value and (decision or {}).get("weightless"))
    ]


async def _load_merge_decisions(session: AsyncSession, repository_id: int) -> list[HumanDecision]:
    recent = (
        select(RunRow.id)
        .where(RunRow.repository_id == repository_id)
        .order_by(RunRow.id.desc())
        .limit(_RUNS_WITH_DECISIONS)
    )
    query = (
        select(EventRow.time, EventRow.payload)
        .where(
            EventRow.trace.in_(recent.scalar_subquery()),
            EventRow.type == EventType.feedback_decided.value,
            EventRow.payload["own"].as_boolean().is_not(True),
        )
        .order_by(EventRow.time.desc())
        .limit(_DECISIONS)
    )
    found = await session.execute(query)
    return [HumanDecision(at, bool(payload["approved"]), payload.get("by_id")) for at, payload in found]
