"""Keeps gates and their decisions, and counts how and how fast people answer.

A gate is decided once, however many people try.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, cast

from sqlalchemy import ColumnElement, Row, Select, bindparam, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.errors import Superseded
from domain.events import EventType
from domain.gates import DecisionAttempt, Gate, GateDecision, GateRequest, GateState
from domain.money import NO_EXTENSION
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import new_id
from memory import ledger
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import PullRequestRow, RunRow
from memory.repositories import budgets

_EVENTS = {
    GateState.approved: EventType.gate_approved,
    GateState.rejected: EventType.gate_rejected,
    GateState.expired: EventType.gate_expired,
    GateState.void: EventType.gate_voided,
}
ANSWERED = tuple(state.value for state in _EVENTS if state is not GateState.void)
"""The states of gates whose runs go on."""


async def ask(database: Database, run: Run, request: GateRequest, now: datetime) -> Gate:
    """Open a gate of a run, or return its gate of the same name and subject; a void one is replaced by a new gate.

    If the last gate of this name on the pull request is void, the new one takes over its comment. If the new one shows
    something of its own, it gets a new comment, so that people are notified.

    :raises Superseded: if another run owns the pull request by now.
    """
    gate_id = new_id()
    values = _values(gate_id, run, request, now)
    async with database.transaction() as session:
        await _set_aside(session, run.id, request)
        await session.execute(insert_new(database.dialect, GateRow, values))
        row = (
            await session.scalars(
                _select_for_run(run.id).where(GateRow.name == request.name, GateRow.subject == request.subject)
            )
        ).one()
        if not await _is_current(session, row):
            raise Superseded(f"Run {run.id} may not write any more.")
        if row.id == gate_id:
            row.comment_id = None if request.shows else await _find_vacant_comment(session, row)
            facts = {"gate": row.id, "name": row.name, "until": request.seconds, "reasons": _texts(request)}
            ledger.record(session, run.id, EventType.gate_requested, now, phase=request.phase, payload=facts)
        return parse_gate(row)


async def decide(database: Database, gate_id: str, state: GateState, decision: GateDecision) -> DecisionAttempt:
    """Decide a gate and grant its extension, unless it is decided or expired, or its run lost the pull request."""
    async with database.transaction() as session:
        row = await _lock(session, gate_id)
        if row.state != GateState.waiting.value:
            _record(session, row, EventType.gate_contested, decision, said=state.value)
            return DecisionAttempt(parse_gate(row), counted=False)
        if row.until <= decision.at:
            _close(session, row, GateState.expired, GateDecision(at=decision.at, via="timeout"))
            return DecisionAttempt(parse_gate(row), counted=False)
        if not await _is_current(session, row):
            return DecisionAttempt(parse_gate(row), counted=False)
        _close(session, row, state, decision)
        gate = parse_gate(row)
        if decision.grants != NO_EXTENSION:
            await budgets.extend_within(
                session, database.dialect, gate.run_id, gate.request.phase, decision.grants, decision.at
            )
        return DecisionAttempt(gate, counted=True)


async def delegate(database: Database, gate_id: str, to_login: str, by: GateDecision) -> Gate:
    """Record to whom a person delegated a gate."""
    async with database.transaction() as session:
        row = await _lock(session, gate_id)
        row.delegate = to_login
        _record(session, row, EventType.gate_delegated, by, to=to_login)
        return parse_gate(row)


async def expire(database: Database, now: datetime) -> int:
    """Expire every gate whose time is over, and return how many there were. Silence never approves."""
    due = select(GateRow.id).where(GateRow.state == GateState.waiting.value, GateRow.until <= now)
    async with database.transaction() as session:
        if await session.scalar(due.limit(1)) is None:
            return 0
        rows = [await _lock(session, gate_id) for gate_id in (await session.scalars(due)).all()]
        for row in rows:
            if row.state == GateState.waiting.value:
                _close(session, row, GateState.expired, GateDecision(at=now, via="timeout"))
        return len(rows)


async def void(database: Database, run_id: str, keep: Sequence[str], why: str, now: datetime) -> Sequence[Gate]:
    """Make the gates void that a run does not need any more, and return them.

    :param keep: the gates it still needs.
    """
    async with database.transaction() as session:
        return await close_waiting(session, GateRow.run_id == run_id, GateRow.id.not_in(keep), why=why, now=now)


async def take_back(database: Database, ids: Sequence[str], now: datetime) -> None:
    """Make rejected gates void, because whoever may took the rejection back."""
    held = update(GateRow).where(GateRow.id.in_(ids), GateRow.state == GateState.rejected.value)
    async with database.transaction() as session:
        for row in (await session.scalars(held.values(state=GateRow.state).returning(GateRow))).all():
            _close(session, row, GateState.void, GateDecision(at=now, via="taken_back"))


async def close_waiting(session: AsyncSession, *where: ColumnElement[bool], why: str, now: datetime) -> Sequence[Gate]:
    """Make waiting gates void within a transaction, because what they asked about is gone."""
    held = update(GateRow).where(GateRow.state == GateState.waiting.value, *where).values(state=GateRow.state)
    rows = (await session.scalars(held.returning(GateRow), execution_options={"populate_existing": True})).all()
    for row in rows:
        _close(session, row, GateState.void, GateDecision(at=now, via=why))
    return [parse_gate(row) for row in rows]


async def record_escalation(database: Database, gate: Gate, to: Sequence[str], now: datetime) -> None:
    """Record, once, that people were notified because nobody answered."""
    facts = {"gate": gate.id, "name": gate.name, "to": [*to]}
    kind, phase = EventType.gate_escalated, gate.request.phase
    async with database.transaction() as session:
        await ledger.record_once(session, gate.run_id, kind, now, key="gate", payload=facts, phase=phase)


async def save_location(
    database: Database, gate_id: str, *, check_id: int | None = None, comment_id: int | None = None
) -> None:
    """Record where a gate is shown on GitHub."""
    values = {"check_id": check_id, "comment_id": comment_id}
    await database.execute(
        update(GateRow)
        .where(GateRow.id == gate_id)
        .values(**{name: value for name, value in values.items() if value is not None})
    )


async def get(database: Database, gate_id: str) -> Gate | None:
    row = await database.get(GateRow, gate_id)
    return None if row is None else parse_gate(row)


async def list_for_run(database: Database, run_id: str) -> Sequence[Gate]:
    """All gates of a run, in order."""
    return await database.run_in_transaction(lambda connection: list_within(connection, run_id))


_SELECT_FOR_RUN = select(GateRow.__table__).where(GateRow.run_id == bindparam("run")).order_by(GateRow.id)


def list_within(connection: Connection, run_id: str) -> Sequence[Gate]:
    """The same as :func:`list_for_run`, within a transaction."""
    return [parse_gate(row) for row in connection.execute(_SELECT_FOR_RUN, {"run": run_id})]


async def list_for_pull_request(
    database: Database, repository_id: int, number: int, *, waiting: bool = False
) -> Sequence[Gate]:
    """All gates of a pull request, in order, or only those that wait."""
    query = select(GateRow).where(GateRow.repository_id == repository_id, GateRow.number == number).order_by(GateRow.id)
    return await _load(database, query.where(GateRow.state == GateState.waiting.value) if waiting else query)


async def list_approved(
    database: Database, repository_id: int, number: int, names: Collection[str], base_ref: str
) -> Sequence[Gate]:
    """The gates of these names that were approved in a pull request while it went into a branch, in order.

    What goes into another branch is another change.

    :param base_ref: the branch; empty for any.
    """
    approved = (GateRow.state == GateState.approved.value, GateRow.name.in_(names))
    here = (GateRow.repository_id == repository_id, GateRow.number == number)
    query = select(GateRow).join(RunRow, RunRow.id == GateRow.run_id).where(*here, *approved).order_by(GateRow.id)
    return await _load(database, query.where(RunRow.base_ref == base_ref) if base_ref else query)


async def list_latest(database: Database, limit: int, state: GateState | None = None) -> Sequence[Gate]:
    """The gates of all repositories, newest first."""
    query = select(GateRow).order_by(GateRow.id.desc()).limit(limit)
    return await _load(database, query if state is None else query.where(GateRow.state == state.value))


async def list_waiting(database: Database, repository_id: int, limit: int) -> Sequence[Gate]:
    """The gates of a repository that wait, those that expire first at the top."""
    query = select(GateRow).where(GateRow.repository_id == repository_id, GateRow.state == GateState.waiting.value)
    return await _load(database, query.order_by(GateRow.until, GateRow.id).limit(limit))


async def find_by_short_id(database: Database, shown_id: str) -> Sequence[Gate]:
    """The gates whose id ends like this: ``G-`` and six characters, or a whole id."""
    ends = GateRow.id.endswith(shown_id.removeprefix("G-"), autoescape=True)
    return await _load(database, select(GateRow).where(ends).limit(5))


async def list_answered(database: Database) -> Sequence[tuple[Gate, Run]]:
    """The decided gates whose run still waits, with that run, which must be resumed."""
    query = (
        select(GateRow, RunRow)
        .join(RunRow, RunRow.id == GateRow.run_id)
        .where(
            RunRow.state == RunState.waiting.value,
            RunRow.reason == ReasonCode.gate.value,
            GateRow.state.in_(ANSWERED),
        )
    )
    return [(parse_gate(gate), run.as_run()) for gate, run in (await database.rows(query))]


async def _load(database: Database, query: Select[GateRow]) -> Sequence[Gate]:
    return [parse_gate(row) for row in await database.scalars(query)]


def _select_for_run(run_id: str) -> Select[GateRow]:
    return select(GateRow).where(GateRow.run_id == run_id).order_by(GateRow.id)


async def _set_aside(session: AsyncSession, run_id: str, request: GateRequest) -> None:
    """Change the subject of a void gate, so that the same question can be asked again."""
    void = update(GateRow).where(
        GateRow.run_id == run_id,
        GateRow.name == request.name,
        GateRow.subject == request.subject,
        GateRow.state == GateState.void.value,
    )
    await session.execute(void.values(subject=GateRow.subject + " until " + GateRow.id))


async def _lock(session: AsyncSession, gate_id: str) -> GateRow:
    """The gate's row, held until the end of the transaction."""
    held = update(GateRow).where(GateRow.id == gate_id).values(state=GateRow.state).returning(GateRow)
    return (await session.scalars(held, execution_options={"populate_existing": True})).one()


async def _is_current(session: AsyncSession, row: GateRow) -> bool:
    """Whether the run that asked still owns its pull request."""
    query = select(func.count()).where(
        RunRow.id == row.run_id,
        PullRequestRow.repository_id == row.repository_id,
        PullRequestRow.number == func.coalesce(RunRow.lane, RunRow.number),
        PullRequestRow.fence == RunRow.fence,
    )
    return bool(await session.scalar(query))


async def _find_vacant_comment(session: AsyncSession, row: GateRow) -> int | None:
    """The comment of the last gate of this name here, if that gate is void."""
    last = await session.scalar(
        select(GateRow)
        .where(
            GateRow.repository_id == row.repository_id,
            GateRow.number == row.number,
            GateRow.name == row.name,
            GateRow.id != row.id,
        )
        .order_by(GateRow.id.desc())
        .limit(1)
    )
    return None if last is None or last.state != GateState.void.value else last.comment_id


def _close(session: AsyncSession, row: GateRow, state: GateState, decision: GateDecision) -> None:
    told = cast(dict[str, Any], PROCESS_REDACTOR.redact_values(decision.model_dump(mode="json")))
    row.state, row.decision, row.decided_at = state.value, told, decision.at
    _record(session, row, _EVENTS[state], decision)


def _record(session: AsyncSession, row: GateRow, kind: EventType, decision: GateDecision, **more: str) -> None:
    """Record a decision for the audit: who, how, in which words, and after how long."""
    facts = {
        "gate": row.id,
        "name": row.name,
        "head": row.head_sha,
        **decision.model_dump(mode="json", exclude={"at"}),
        **more,
    }
    seconds = max(0.0, (decision.at - row.asked_at).total_seconds())
    ledger.record(session, row.run_id, kind, decision.at, source="gate", payload=facts, duration=seconds)


def _texts(request: GateRequest) -> list[str]:
    return [reason.text for reason in request.reasons]


def _values(gate_id: str, run: Run, request: GateRequest, now: datetime) -> dict[str, object]:
    return {
        "id": gate_id,
        "run_id": run.id,
        "installation_id": run.repository.installation_id,
        "repository_id": run.repository.id,
        "owner": run.repository.owner,
        "repository_name": run.repository.name,
        "number": run.number,
        "head_sha": run.head_sha,
        "name": request.name,
        "subject": request.subject,
        "request": PROCESS_REDACTOR.redact_values(request.model_dump(mode="json")),
        "state": GateState.waiting.value,
        "asked_at": now,
        "until": now + request.timeout,
        "decision": None,
    }


def parse_gate(row: GateRow | Row[Any]) -> Gate:
    """The gate of a row, or of its columns."""
    return Gate(
        id=row.id,
        run_id=row.run_id,
        repository=RepositoryRef(
            installation_id=row.installation_id, id=row.repository_id, owner=row.owner, name=row.repository_name
        ),
        number=row.number,
        head_sha=row.head_sha,
        request=GateRequest.model_validate(row.request),
        state=GateState(row.state),
        asked_at=row.asked_at,
        until=row.until,
        decision=None if row.decision is None else GateDecision.model_validate(row.decision),
        delegate=row.delegate,
        check_id=row.check_id,
        comment_id=row.comment_id,
    )


_BY_PEOPLE = {GateState.approved.value, GateState.rejected.value}


@dataclass(frozen=True)
class GateStatistics:
    """How the gates of one name were answered.

    :param median_seconds: from question to answer, of the gates that people answered; None if there are none.
    """

    name: str
    counts: Counter[str]
    median_seconds: float | None

    @property
    def total(self) -> int:
        return self.counts.total()


async def list_waiting_first(database: Database, limit: int, state: GateState | None = None) -> Sequence[Gate]:
    """The newest gates, waiting ones first."""
    if state is not None:
        return await list_latest(database, limit, state)
    waiting = await list_latest(database, limit, GateState.waiting)
    rest = [gate for gate in await list_latest(database, limit) if not gate.is_waiting]
    return [*waiting, *rest][:limit]


async def load_statistics(database: Database) -> Sequence[GateStatistics]:
    """The statistics of all gates, by name."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    rows = await database.rows(select(GateRow.name, GateRow.state, GateRow.asked_at, GateRow.decided_at))
    for name, state, asked_at, decided_at in rows:
        counts[name][state] += 1
        if state in _BY_PEOPLE and decided_at is not None:
            seconds[name].append(max(0.0, (decided_at - asked_at).total_seconds()))
    return [
        GateStatistics(name, counts[name], median(seconds[name]) if seconds[name] else None) for name in sorted(counts)
    ]
