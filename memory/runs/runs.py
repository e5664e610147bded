"""Keeps runs and the fencing token of each pull request: admission, moves between states, supersession."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.commands import Repeat
from domain.events import EventType
from domain.runs.run import (
    REVIEW_CHECK,
    ExecutionMode,
    Phase,
    ReasonCode,
    RepositoryRef,
    Run,
    RunState,
    Trigger,
    may_move,
)
from domain.text.redaction import redact_outgoing
from domain.value import new_id
from memory import gates, ledger
from memory.db.engine import Database, number_in, upsert
from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import CheckpointRow, PullRequestRow, RunRow, SpendRow
from memory.repositories import addresses
from memory.runs import model_answers
from messages.commands import PastRun
from safety.eligibility import RunCounts, is_due

NOT_REVIEWS = [trigger.value for trigger in Trigger if not trigger.is_of_review]
# what goes on beside the runs of a number
_BESIDE = [trigger.value for trigger in Trigger if trigger is Trigger.question or trigger.is_beside_reviews]
_FINAL = [state.value for state in RunState if state.is_final]
_LONGEST_TITLE = 256  # characters
_fence_number: ColumnElement[int] = func.coalesce(RunRow.lane, RunRow.number)  # see Run.fence_number


@dataclass(frozen=True)
class Candidate:
    """A run that asks to be admitted. ``admitted_by`` is the delivery, so that a repeated step admits it once.

    :param title: of the pull request or issue; empty if it is not known.
    :param kept: a key and a value to store among the run's answers.
    :param mode: that somebody asked for; None for the configuration's.
    """

    admitted_by: str
    repository: RepositoryRef
    number: int
    head_sha: str
    base_sha: str
    trigger: Trigger
    repeat: Repeat
    base_ref: str = ""
    check_name: str = REVIEW_CHECK
    kept: tuple[str, dict[str, Any]] | None = None
    mode: ExecutionMode | None = None
    title: str = ""


@dataclass(frozen=True)
class Admission:
    """The result for a candidate.

    ``run`` is None if the head has a verdict or ``known`` is about to give it one. ``stale`` means that the fence moved
    since the caller looked, so it must look at GitHub again. ``superseded`` are the runs that the new one ended.

    :param why: for people, what keeps a run from being there if there is none; whoever asks for it knows.
    :param is_at_level_0: that is the automation level.
    """

    run: Run | None
    superseded: tuple[Run, ...] = ()
    stale: bool = False
    known: Run | None = None
    why: str = ""
    is_at_level_0: bool = False


async def get_fence(database: Database, repository_id: int, number: int) -> int:
    """The current fencing token of a pull request; 0 if nothing ever ran there."""
    async with database.transaction() as session:
        return await _load_fence(session, repository_id, number)


async def find_admission(database: Database, admitted_by: str) -> Admission | None:
    """The result for a candidate that was admitted before."""
    async with database.transaction() as session:
        return await _find_admission(session, admitted_by)


async def admit(database: Database, candidate: Candidate, seen_fence: int, now: datetime) -> Admission:
    """Admit a candidate, unless its natural key ran before, and take the pull request's fencing token for it.

    Most candidates ran before, which is checked without the writers' lock.

    :param seen_fence: the token from before the caller asked GitHub for the live head; if it moved since, another run
        may have seen a newer head.
    """
    repository_id, number = candidate.repository.id, candidate.number
    async with database.transaction() as session:
        attempt = await _choose_attempt(
            session, candidate, seen_fence, await _load_fence(session, repository_id, number)
        )
    if isinstance(attempt, Admission):
        return attempt
    async with database.transaction() as session:
        attempt = await _choose_attempt(
            session, candidate, seen_fence, await lock_fence(session, database, repository_id, number)
        )
        if isinstance(attempt, Admission):
            return attempt
        row = build_row(candidate, attempt, seen_fence + 1, now)
        row.sender_id = await _find_sender(session, candidate.admitted_by)
        session.add(row)
        await addresses.clear_purge(session, repository_id)
        ending = _Ending.by_run(row)
        superseded = await _take_fence(session, repository_id, number, seen_fence, ending, now, candidate.title)
        if candidate.kept is not None:
            await model_answers.keep_within(session, database.dialect, row.id, *candidate.kept, now)
        asked = {} if row.mode is None else {"mode": row.mode}
        payload = {"trigger": row.trigger, "attempt": attempt, **asked}
        ledger.record(session, row.id, EventType.run_admitted, now, payload=payload)
        return Admission(row.as_run(), superseded)


async def end_all(
    database: Database,
    repository_id: int,
    number: int,
    reason: ReasonCode,
    delivery: str,
    now: datetime,
    seen_fence: int | None = None,
) -> tuple[Run, ...] | None:
    """Take the fencing token from what runs on a pull request; returns the runs that were stopped.

    :param number: of the pull request, or the lane of what goes on beside its runs.
    :param delivery: the delivery that stops them, so that a repeated step finds the same runs.
    :param seen_fence: the token from before the caller asked GitHub; if it moved since, this returns None.
    """
    async with database.transaction() as session:
        current = await lock_fence(session, database, repository_id, number)
        stopped_before = await _find_ended(session, repository_id, number, delivery)
        if stopped_before:
            return stopped_before
        if seen_fence is not None and current != seen_fence:
            return None
        ending = _Ending(reason, delivery, f"ended by delivery {delivery}")
        return await _take_fence(session, repository_id, number, current, ending, now)


async def move(
    database: Database,
    run_id: str,
    target: RunState,
    now: datetime,
    reason: ReasonCode = ReasonCode.none,
    detail: str = "",
) -> bool:
    """Move a run to a state, if its state machine allows it; returns whether it is in that state now.

    A run that ends voids its waiting gates.
    """
    async with database.transaction() as session:
        before = await session.scalar(
            update(RunRow).where(RunRow.id == run_id).values(state=RunRow.state).returning(RunRow.state)
        )
        if before is None or before == target.value:
            return before == target.value
        if not may_move(RunState(before), target):
            return False
        changes = {"state": target.value, "reason": reason.value, "detail": detail, **_times(before, target, now)}
        await session.execute(update(RunRow).where(RunRow.id == run_id).values(**changes))
        if target.is_final:
            await gates.close_waiting(session, GateRow.run_id == run_id, why="settled", now=now)
        facts: dict[str, object] = {"reason": reason.value, "detail": detail}
        if target is RunState.completed:
            facts["calls"] = await session.scalar(select(func.count()).where(SpendRow.run_id == run_id)) or 0
        if target in {RunState.completed, RunState.failed} and (decision := await _load_decision(session, run_id)):
            facts["decision"] = decision
        ledger.record(session, run_id, _event(before, target), now, payload=facts)
        return True


async def hand_in(database: Database, run_id: str) -> None:
    """Let a run whose pull request could not be tested at first have ended with one that is ready."""
    of_run = (RunRow.id == run_id) & (RunRow.reason == ReasonCode.untested.value)
    await database.execute(update(RunRow).where(of_run).values(reason=ReasonCode.proposed.value))


async def _load_decision(session: AsyncSession, run_id: str) -> str | None:
    """The decision of a run's review; it goes into the event, because checkpoints are deleted earlier."""
    of_review = (CheckpointRow.run_id == run_id) & (CheckpointRow.phase == Phase.review.value)
    return await session.scalar(select(CheckpointRow.output["decision"].as_string()).where(of_review))


async def get(database: Database, run_id: str) -> Run | None:
    row = await database.get(RunRow, run_id)
    return None if row is None else row.as_run()


async def count_begun(database: Database, run: Run, since: datetime) -> RunCounts:
    """How many runs events of pull requests began since a time, up to this run; refused runs do not count."""
    query = (
        select(func.count())
        .select_from(RunRow)
        .where(
            RunRow.repository_id == run.repository.id,
            RunRow.trigger == Trigger.pull_request.value,
            RunRow.reason != ReasonCode.guard.value,
            RunRow.created_at > since,
            RunRow.id <= run.id,
        )
    )
    async with database.transaction() as session:
        sender_id = await session.scalar(_select_sender(run.id))
        return RunCounts(
            on_pull_request=await session.scalar(query.where(RunRow.number == run.number)) or 0,
            by_sender=await session.scalar(query.where(RunRow.sender_id == sender_id)) or 0,
            in_repository=await session.scalar(query) or 0,
        )


async def get_started_at(database: Database, run_id: str) -> datetime | None:
    """When a run began to work."""
    row = await database.get(RunRow, run_id)
    return None if row is None else row.started_at


async def find_requester(database: Database, run_id: str) -> int | None:
    """The account whose delivery began a run; None if it is not known."""
    return await database.scalar(_select_sender(run_id))


def _select_sender(run_id: str) -> Select[int | None]:
    return select(RunRow.sender_id).where(RunRow.id == run_id)


async def is_current(database: Database, run: Run) -> bool:
    """Whether the run still holds its pull request's fencing token."""
    async with database.transaction() as session:
        return await _load_fence(session, run.repository.id, run.fence_number) == run.fence


async def list_latest(database: Database, limit: int = 50, state: RunState | None = None) -> Sequence[RunRow]:
    """The latest runs, newest first."""
    query = select(RunRow).order_by(RunRow.created_at.desc(), RunRow.id.desc()).limit(limit)
    return await database.scalars(query if state is None else query.where(RunRow.state == state.value))


async def list_for_pull_request(
    database: Database, repository_id: int, number: int, *, with_questions: bool = False
) -> Sequence[PastRun]:
    """Every run on a pull request or an issue, newest first, without the deployments.

    :param with_questions: also those that only hold what an answer cost, and those of instructions.
    """
    beside = [Trigger.deployment.value] if with_questions else _BESIDE
    rows = await database.scalars(_select_for_pull_request(repository_id, number).where(RunRow.trigger.not_in(beside)))
    return [PastRun(row.as_run(), row.started_at or row.created_at, row.finished_at) for row in rows]


async def find_newest(
    database: Database, repository_id: int, number: int, *, head_sha: str | None = None
) -> Run | None:
    """The newest run on a pull request or an issue, of those that :func:`list_for_pull_request` lists.

    :param head_sha: the only head that counts; None for any.
    """
    query = _select_for_pull_request(repository_id, number).where(RunRow.trigger.not_in(_BESIDE)).limit(1)
    row = await database.scalar(query if head_sha is None else query.where(RunRow.head_sha == head_sha))
    return None if row is None else row.as_run()


def _select_for_pull_request(repository_id: int, number: int) -> Select[RunRow]:
    return (
        select(RunRow).where(RunRow.repository_id == repository_id, RunRow.number == number).order_by(RunRow.id.desc())
    )


async def list_for_head(database: Database, repository_id: int, head_sha: str) -> Sequence[Run]:
    """Runs of pull requests on this head, newest first."""
    query = (
        select(RunRow)
        .where(
            RunRow.repository_id == repository_id,
            RunRow.head_sha == head_sha,
            RunRow.trigger.not_in(NOT_REVIEWS),
        )
        .order_by(RunRow.id.desc())
    )
    return [row.as_run() for row in await database.scalars(query)]


async def list_into(database: Database, repository_id: int, base_ref: str, most: int) -> Sequence[Run]:
    """The newest review of each pull request into a branch, of the newest pull requests."""
    newest = (
        select(func.max(RunRow.id))
        .where(RunRow.repository_id == repository_id, RunRow.base_ref == base_ref, RunRow.trigger.not_in(NOT_REVIEWS))
        .group_by(RunRow.number)
        .order_by(RunRow.number.desc())
        .limit(most)
    )
    return [row.as_run() for row in await database.scalars(select(RunRow).where(RunRow.id.in_(newest)))]


async def list_active(database: Database, installation_id: int, repository_ids: Sequence[int] | None) -> Sequence[Run]:
    """Runs of an installation that are not over, in all its repositories or in some."""
    query = select(RunRow).where(RunRow.installation_id == installation_id, RunRow.state.not_in(_FINAL))
    if repository_ids is not None:
        query = query.where(RunRow.repository_id.in_(repository_ids))
    return [row.as_run() for row in await database.scalars(query)]


async def list_repositories(database: Database, installation_id: int) -> Sequence[int]:
    """The ids of the repositories in which an installation ever ran something."""
    query = select(RunRow.repository_id).where(RunRow.installation_id == installation_id).distinct()
    return await database.scalars(query)


async def find_transferred(database: Database, installation_id: int, repository_ids: Collection[int]) -> set[int]:
    """Which of these repositories belong to another installation by now, by their newest run."""
    newest = select(func.max(RunRow.id)).where(RunRow.repository_id.in_(repository_ids)).group_by(RunRow.repository_id)
    query = select(RunRow.repository_id).where(RunRow.id.in_(newest), RunRow.installation_id != installation_id)
    return set(await database.scalars(query))


async def list_access_lost(database: Database, installation_id: int, since: datetime) -> Sequence[Run]:
    """The runs of an installation that ended since a time because Forge lost its access."""
    query = select(RunRow).where(
        RunRow.installation_id == installation_id,
        RunRow.reason == ReasonCode.access_lost.value,
        RunRow.finished_at > since,
    )
    return [row.as_run() for row in await database.scalars(query)]


_EVENTS = {
    RunState.running: EventType.run_started,
    RunState.waiting: EventType.run_waiting,
    RunState.completed: EventType.run_completed,
    RunState.failed: EventType.run_failed,
    RunState.cancelled: EventType.run_cancelled,
}


def _event(before: str, target: RunState) -> EventType:
    if before in {RunState.waiting.value, RunState.completed.value} and target is RunState.running:
        return EventType.run_resumed
    return _EVENTS[target]


def _times(before: str, target: RunState, now: datetime) -> dict[str, datetime]:
    if before == RunState.pending.value and target is RunState.running:
        return {"started_at": now}
    return {"finished_at": now} if target.is_final else {}


async def lock_fence(session: AsyncSession, database: Database, repository_id: int, number: int) -> int:
    """Lock the pull request's row, added if missing, until the end of the transaction; returns its fencing token."""
    values = {"repository_id": repository_id, "number": number, "fence": 0}
    held = upsert(database.dialect, PullRequestRow, values, {"fence": PullRequestRow.fence})
    return (await session.execute(held.returning(PullRequestRow.fence))).scalar_one()


async def _load_fence(session: AsyncSession, repository_id: int, number: int) -> int:
    return (
        await session.scalar(
            select(PullRequestRow.fence).where(
                PullRequestRow.repository_id == repository_id, PullRequestRow.number == number
            )
        )
    ) or 0


@dataclass(frozen=True)
class _Ending:
    """Why runs end.

    :param by: the run or delivery that ends them.
    :param detail: the reason as text for people.
    """

    reason: ReasonCode
    by: str
    detail: str

    @classmethod
    def by_run(cls, row: RunRow) -> "_Ending":
        return cls(ReasonCode.superseded, row.id, f"superseded by {row.id}")


async def _take_fence(
    session: AsyncSession,
    repository_id: int,
    number: int,
    current: int,
    ending: _Ending,
    now: datetime,
    title: str = "",
) -> tuple[Run, ...]:
    """Raise the fence from its current value and cancel the runs that held it or an older one.

    :param title: of the pull request or issue now; empty: not known.
    """
    active = list(
        await session.scalars(
            select(RunRow).where(
                RunRow.repository_id == repository_id,
                _fence_number == number,
                RunRow.fence <= current,
                RunRow.state.not_in(_FINAL),
            )
        )
    )
    await session.execute(
        update(PullRequestRow)
        .where(PullRequestRow.repository_id == repository_id, PullRequestRow.number == number)
        .values(fence=current + 1, **_keep_title(title))
    )
    await gates.close_waiting(
        session,
        GateRow.repository_id == repository_id,
        GateRow.run_id.in_([row.id for row in active]),
        why=ending.reason.value,
        now=now,
    )
    told = {"reason": ending.reason.value, "detail": ending.detail}
    for row in active:
        row.state, row.reason, row.detail, row.finished_at = RunState.cancelled.value, *told.values(), now
        row.ended_by = ending.by
        ledger.record(session, row.id, EventType.run_cancelled, now, payload=told)
    return tuple(row.as_run() for row in active)


def _keep_title(title: str) -> dict[str, str]:
    """What of a title is kept: as much as GitHub takes, with credentials masked."""
    return {"title": redact_outgoing(title)[:_LONGEST_TITLE]} if title else {}


async def _find_admission(session: AsyncSession, admitted_by: str) -> Admission | None:
    row = await session.scalar(select(RunRow).where(RunRow.admitted_by == admitted_by))
    if row is None:
        return None
    return Admission(row.as_run(), await _find_ended(session, row.repository_id, row.number, row.id))


async def _choose_attempt(
    session: AsyncSession, candidate: Candidate, seen_fence: int, current_fence: int
) -> Admission | int:
    """The attempt of a new run on this head, or the result if there is none."""
    known = await _find_admission(session, candidate.admitted_by)
    if known is not None:
        return known
    if current_fence != seen_fence:
        return Admission(None, stale=True)
    same_head = (
        RunRow.repository_id == candidate.repository.id,
        RunRow.number == candidate.number,
        RunRow.head_sha == candidate.head_sha,
        RunRow.trigger.not_in(_BESIDE),
    )
    looked_at = (
        (*same_head[:2], same_head[-1]) if candidate.repeat is Repeat.anew else same_head
    )  # an issue has no head
    last = await session.scalar(select(RunRow).where(*looked_at).order_by(RunRow.id.desc()).limit(1))
    if last is None:
        return 1
    # The newest run counts: if it was against another base, an older verdict on this base does not.
    same_base = _is_same_base(last, candidate) or candidate.repeat is Repeat.anew
    if same_base and not is_due(candidate.repeat, RunState(last.state), ReasonCode(last.reason)):
        return Admission(None, known=last.as_run())
    highest = select(func.max(RunRow.attempt)).where(*same_head, RunRow.base_sha == candidate.base_sha)
    return (await session.scalar(highest) or 0) + 1


def _is_same_base(row: RunRow, candidate: Candidate) -> bool:
    """Whether a run's verdict is about a merge into the same branch and commit, under the same check name."""
    known = (row.base_ref, row.base_sha, row.check_name)
    return known == (candidate.base_ref, candidate.base_sha, candidate.check_name)


async def _find_ended(session: AsyncSession, repository_id: int, number: int, ended_by: str) -> tuple[Run, ...]:
    same = {"repository_id": repository_id, "ended_by": ended_by}
    found = await session.scalars(select(RunRow).filter_by(**same).where(_fence_number == number))
    return tuple(row.as_run() for row in found)


async def _find_sender(session: AsyncSession, admitted_by: str) -> int | None:
    """The account that sent the delivery of an admission, which is named GUID#NUMBER."""
    guid, _, _ = admitted_by.rpartition("#")
    return await session.scalar(select(number_in(DeliveryRow.command["sender"]["id"])).where(DeliveryRow.guid == guid))


def make_lane(run_id: str) -> int:
    """The number of a fencing token beside those of pull requests: below zero, where none of them is."""
    return -1 - (int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8]) >> 2)


def build_row(candidate: Candidate, attempt: int, fence: int, now: datetime, lane: int | None = None) -> RunRow:
    """The row of a run that begins."""
    return RunRow(
        id=new_id(),
        admitted_by=candidate.admitted_by,
        installation_id=candidate.repository.installation_id,
        repository_id=candidate.repository.id,
        owner=candidate.repository.owner,
        name=candidate.repository.name,
        number=candidate.number,
        head_sha=candidate.head_sha,
        base_sha=candidate.base_sha,
        base_ref=candidate.base_ref,
        check_name=candidate.check_name,
        mode=candidate.mode,
        lane=lane,
        trigger=candidate.trigger.value,
        attempt=attempt,
        fence=fence,
        state=RunState.pending.value,
        reason="",
        detail="",
        created_at=now,
        started_at=None,
        finished_at=None,
    )
