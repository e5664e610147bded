"""Keeps the problems that monitoring told of: one row for each, with counters, and never more than so many."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, case, delete, func, select, update

from domain.deployments.deployment import DeploymentState
from domain.deployments.problems import (
    ISSUE_WINDOW,
    MOST_ISSUES,
    MOST_OPEN,
    AnomalyReport,
    AnyReport,
    ErrorReport,
    ProblemKind,
    ProductionProblem,
    Suspect,
    make_fingerprint,
)
from domain.events import EventType
from domain.value import new_id
from memory import ledger
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.repositories import DeploymentRow, ProblemRow

SOURCE = "production"
MOST_ENVIRONMENTS = 20
"""Environments of a problem that are counted apart."""
_LOST_AFTER = timedelta(hours=1)
"""A workflow that has not begun with its problem by then is queued once more."""
_STALE_AFTER = timedelta(days=1)
"""A problem without an issue that was not seen for so long gives way to a new one."""


class UnknownDeployment(Exception):
    """The report names a deployment that the repository does not have."""


class TooManyProblems(Exception):
    """The repository has as many problems as Forge keeps, and none of them gives way."""


@dataclass(frozen=True)
class RecordedReport:
    """A report that was counted.

    :param issue: the issue that is open about it, as far as Forge knows.
    :param is_repeated: the problem was known, and not solved.
    :param is_due: a workflow has to begin with it; what is told before that is told with it.
    :param held: run id of the deployment under way that has to be asked to hold.
    """

    problem_id: str
    fingerprint: str
    issue: int | None
    is_repeated: bool
    is_due: bool
    held: str | None


def record_report(connection: Connection, repository_id: int, report: AnyReport, now: datetime) -> RecordedReport:
    """Count a report, in one transaction with what follows from it.

    :raises UnknownDeployment: it names a deployment that is not of this repository.
    :raises TooManyProblems: there is no room for a problem that is new.
    """
    fingerprint = make_fingerprint(report)
    new = _build_row(repository_id, fingerprint, report, now)
    inserted = insert_new(connection.dialect.name, ProblemRow, new).returning(ProblemRow.id)
    is_new = connection.execute(inserted).first() is not None
    is_same = ProblemRow.repository_id == repository_id, ProblemRow.fingerprint == fingerprint
    known = connection.execute(_select_row(*is_same).with_for_update()).one()
    named = _find_named(connection, repository_id, report)
    if is_new:
        _make_room(connection, repository_id, now)
        facts = {"problem": known.id, "repository": repository_id, "kind": known.kind, "fingerprint": fingerprint}
        facts["environment"] = report.environment
        ledger.record(connection, f"{repository_id}", EventType.problem_found, now, source=SOURCE, payload=facts)
    else:
        connection.execute(update(ProblemRow).where(*is_same).values(**_count(known, report, now)))
    is_due = is_new or known.queued_at is None or now - known.queued_at >= _LOST_AFTER
    held = _find_held(named, known.held_deployment_id)
    if is_due or held:
        marked = {"queued_at": now} if is_due else {}
        marked |= {"held_deployment_id": held} if held else {}
        connection.execute(update(ProblemRow).where(*is_same).values(**marked))
    is_open = known.closed_at is None
    issue = known.issue if is_open else None
    return RecordedReport(known.id, fingerprint, issue, not is_new and is_open, is_due, held)


def _build_row(repository_id: int, fingerprint: str, report: AnyReport, now: datetime) -> dict[str, Any]:
    return {
        "id": new_id(),
        "repository_id": repository_id,
        "fingerprint": fingerprint,
        "kind": (ProblemKind.anomaly if isinstance(report, AnomalyReport) else ProblemKind.error).value,
        "report": report.model_dump(mode="json", exclude_defaults=True),
        "reports": 1,
        "occurrences": _weigh(report),
        "affected_users": _count_users(report),
        "environments": _count_there({}, report, now),
        "first_seen": report.moment,
        "last_seen": now,
    }


def _count(known: Row[Any], report: AnyReport, now: datetime) -> dict[str, Any]:
    """What another report changes."""
    return {
        "report": report.model_dump(mode="json", exclude_defaults=True),
        "resolved_at": None,
        "reports": known.reports + 1,
        "occurrences": known.occurrences + _weigh(report),
        "affected_users": max(known.affected_users, _count_users(report)),
        "environments": _count_there(known.environments, report, now),
        "first_seen": min(known.first_seen, report.moment),
        "last_seen": now,
    }


def _count_there(known: dict[str, Any], report: AnyReport, now: datetime) -> dict[str, Any]:
    before = known.get(report.environment)
    if before is None and len(known) >= MOST_ENVIRONMENTS:
        return known
    count = (0 if before is None else before["count"]) + _weigh(report)
    return {**known, report.environment: {"count": count, "last": now.isoformat()}}


def _weigh(report: AnyReport) -> int:
    return report.frequency if isinstance(report, ErrorReport) else 1


def _count_users(report: AnyReport) -> int:
    return (report.affected_users or 0) if isinstance(report, ErrorReport) else 0


def record_resolution(
    connection: Connection, repository_id: int, fingerprint: str, now: datetime
) -> RecordedReport | None:
    """Keep that monitoring says a problem is over; None if Forge knows of none that is not."""
    table = ProblemRow
    is_same = table.repository_id == repository_id, table.fingerprint == fingerprint, table.resolved_at.is_(None)
    known = connection.execute(_select_row(*is_same).with_for_update()).one_or_none()
    if known is None:
        return None
    is_due = known.queued_at is None or now - known.queued_at >= _LOST_AFTER
    marked = {"queued_at": now} if is_due else {}
    connection.execute(update(table).where(*is_same).values(resolved_at=now, **marked))
    return RecordedReport(known.id, fingerprint, known.issue, True, is_due, None)


def _make_room(connection: Connection, repository_id: int, now: datetime) -> None:
    """Remove problems that were not seen for a while and have no issue, where there are too many.

    :raises TooManyProblems: there are still too many.
    """
    is_open = ProblemRow.repository_id == repository_id, ProblemRow.closed_at.is_(None)
    count = connection.scalar(select(func.count()).where(*is_open)) or 0
    if count <= MOST_OPEN:
        return
    is_stale = ProblemRow.issue.is_(None), ProblemRow.last_seen < now - _STALE_AFTER
    gone = connection.execute(delete(ProblemRow).where(*is_open, *is_stale).returning(ProblemRow.id)).all()
    if count - len(gone) > MOST_OPEN:
        raise TooManyProblems


def _find_named(connection: Connection, repository_id: int, report: AnyReport) -> Row[str, str, str] | None:
    """The deployment that a report names; None if it names none.

    :raises UnknownDeployment: there is none.
    """
    if not isinstance(report, AnomalyReport) or report.deployment is None:
        return None
    row = DeploymentRow
    columns = select(row.run_id, row.state, row.environment).where(row.repository_id == repository_id)
    ending = report.deployment.removeprefix("D-")
    found = connection.execute(columns.where(row.run_id.endswith(ending)).order_by(row.created_at.desc())).first()
    if found is None or found.environment != report.environment:
        raise UnknownDeployment
    return found


def _find_held(named: Row[str, str, str] | None, held_before: str | None) -> str | None:
    """The deployment that has to hold: one that is rolling out, once for each problem. People decide what follows."""
    if named is None or named.state != DeploymentState.rolling_out.value or named.run_id == held_before:
        return None
    return named.run_id


async def load(database: Database, problem_id: str) -> ProductionProblem | None:
    """The problem; None if it gave way to others, or its repository was lost."""
    row = await database.get(ProblemRow, problem_id)
    return None if row is None else _parse(row)


async def begin(database: Database, problem_id: str) -> ProductionProblem | None:
    """The problem as it is now. A report after this queues another workflow."""
    begun = update(ProblemRow).where(ProblemRow.id == problem_id).values(queued_at=None)
    async with database.transaction() as session:
        await session.execute(begun)
        row = await session.get(ProblemRow, problem_id, populate_existing=True)
        return None if row is None else _parse(row)


async def keep_origin(
    database: Database, problem_id: str, deployment_id: str | None, suspects: Sequence[Suspect]
) -> None:
    """Keep with which deployment a problem came, and what of its stack is in files that this one changed."""
    values = {"deployment_id": deployment_id, "suspects": [each.model_dump(mode="json") for each in suspects]}
    await database.execute(update(ProblemRow).where(ProblemRow.id == problem_id).values(**values))


async def keep_issue(database: Database, problem: ProductionProblem, number: int, trace: str, now: datetime) -> None:
    """Keep the issue that was opened about a problem; may be repeated."""
    values = {
        "issue": number,
        "opened": problem.opened + 1,
        "opened_at": now,
        "shown_at": now,
        "closed_at": None,
        "learned_from": None,
        "said": "",
    }
    table = ProblemRow
    opened = update(table).where(table.id == problem.id, table.opened == problem.opened).values(**values)
    async with database.transaction() as session:
        if (await session.execute(opened.returning(table.id))).first() is None:
            return
        facts = {"problem": problem.id, "repository": problem.repository_id, "issue": number}
        ledger.record(session, trace, EventType.problem_issue_opened, now, source=SOURCE, payload=facts)


async def note_shown(database: Database, problem_id: str, now: datetime) -> None:
    """Keep that the issue says what is known now."""
    await _update(database, problem_id, shown_at=now, said="")


async def note_unsaid(database: Database, problem_id: str, why: str) -> None:
    """Keep why nobody was told of a problem."""
    await _update(database, problem_id, said=why[:500])


async def note_closed(database: Database, problem_id: str, at: datetime | None) -> None:
    """Keep when people closed the issue about a problem; None: they opened it again."""
    await _update(database, problem_id, closed_at=at)


async def note_solved(
    database: Database, problem: ProductionProblem, pull_number: int, trace: str, now: datetime
) -> None:
    """Keep which pull request solved a problem, once; the merge closes its issue."""
    table = ProblemRow
    unsolved = table.id == problem.id, table.learned_from.is_(None)
    solved = update(table).where(*unsolved).values(learned_from=pull_number, closed_at=now).returning(table.id)
    async with database.transaction() as session:
        if (await session.execute(solved)).first() is not None:
            facts = {"problem": problem.id, "repository": problem.repository_id, "pull_request": pull_number}
            facts["issue"] = problem.issue or 0
            ledger.record(session, trace, EventType.problem_solved, now, source=SOURCE, payload=facts)


async def record_hold(
    database: Database, repository_id: int, deployment_id: str, problem_id: str, now: datetime
) -> None:
    """Record that monitoring asked a deployment under way to hold."""
    facts = {"problem": problem_id, "repository": repository_id, "deployment": deployment_id}
    async with database.transaction() as session:
        ledger.record(session, deployment_id, EventType.problem_held_deployment, now, source=SOURCE, payload=facts)


async def _update(database: Database, problem_id: str, **values: Any) -> None:
    await database.execute(update(ProblemRow).where(ProblemRow.id == problem_id).values(**values))


async def reserve_issue(database: Database, problem_id: str, repository_id: int, now: datetime) -> bool:
    """Count an issue about a problem before it is opened; whether the repository's limit leaves room for it.

    Several problems of a repository are told at the same time, so whoever counts shuts out the others meanwhile.
    May be repeated.
    """
    table = ProblemRow
    lately = table.repository_id == repository_id, table.opened_at > now - ISSUE_WINDOW, table.id != problem_id
    async with database.transaction() as session:
        if database.dialect == "postgresql":
            await session.execute(select(func.pg_advisory_xact_lock(repository_id)))
        await session.execute(update(table).where(table.id == problem_id).values(opened_at=now))
        if (await session.scalar(select(func.count()).where(*lately)) or 0) < MOST_ISSUES:
            return True
        await session.rollback()
        return False


async def list_with_issues(database: Database, repository_id: int) -> Sequence[ProductionProblem]:
    """The problems of a repository that have an issue and were not solved."""
    query = select(ProblemRow).where(
        ProblemRow.repository_id == repository_id, ProblemRow.issue.is_not(None), ProblemRow.learned_from.is_(None)
    )
    return [_parse(row) for row in await database.scalars(query.order_by(ProblemRow.id))]


async def list_latest(
    database: Database, repository_id: int | None = None, limit: int = 50
) -> Sequence[ProductionProblem]:
    """The problems that were seen last, newest first.

    :param repository_id: None: of all repositories.
    """
    query = select(ProblemRow).order_by(ProblemRow.last_seen.desc(), ProblemRow.id.desc()).limit(limit)
    if repository_id is not None:
        query = query.where(ProblemRow.repository_id == repository_id)
    return [_parse(row) for row in await database.scalars(query)]


async def find_deployment(database: Database, repository_id: int, shown: str) -> str | None:
    """The run id of the newest deployment that is shown so.

    :param shown: ``D-`` and six characters, or the whole id.
    """
    row = DeploymentRow
    is_shown = row.run_id.endswith(shown.removeprefix("D-"), autoescape=True)
    query = select(row.run_id).where(row.repository_id == repository_id, is_shown)
    return await database.scalar(query.order_by(row.created_at.desc()).limit(1))


async def find_deployment_of_commit(
    database: Database, repository_id: int, environment: str, commit: str
) -> str | None:
    """The newest deployment of a commit, in this environment rather than another; its run id.

    :param commit: whole or its beginning.
    """
    row = DeploymentRow
    is_here = case((row.environment == environment, 0), else_=1)
    query = select(row.run_id).where(row.repository_id == repository_id, row.sha.startswith(commit, autoescape=True))
    return await database.scalar(query.order_by(is_here, row.created_at.desc(), row.run_id.desc()).limit(1))


def _select_row(*conditions: ColumnElement[bool]) -> Select[Any]:
    return select(ProblemRow.__table__).where(*conditions)


_COUNTED = (*ProductionProblem.model_fields.keys() - {"report"},)


def _parse(row: ProblemRow) -> ProductionProblem:
    known: dict[str, Any] = {name: getattr(row, name) for name in _COUNTED}
    kind = AnomalyReport if row.kind == ProblemKind.anomaly.value else ErrorReport
    return ProductionProblem(report=kind.model_validate(row.report), **known)
