"""Keeps deployments and who works in each environment: one at a time, and the newest of those that wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.commands import Repeat, Sender
from domain.deployments.deployment import Cause, Deployment, DeploymentState, Step, Wish, list_replaced
from domain.events import EventType
from domain.review.review import RiskLevel
from domain.runs.run import Phase, RepositoryRef, Run, RunState, Trigger
from domain.text.redaction import PROCESS_REDACTOR
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import DeploymentRow
from memory.db.tables.runs import PullRequestRow, RunRow
from memory.learned import memories
from memory.repositories import addresses
from memory.runs.runs import Candidate, build_row, lock_fence, make_lane

_OVER = [state.value for state in DeploymentState if state.is_over]


_THERE = [state.value for state in DeploymentState if state.is_there]


@dataclass(frozen=True)
class PastDeployment:
    """A deployment.

    :param steps: that were rolled out, in order.
    """

    deployment: Deployment
    steps: Sequence[Step] = ()


async def list_past(database: Database, repository_id: int, limit: int) -> Sequence[PastDeployment]:
    """The latest deployments of a repository, newest first."""
    query = (
        select(DeploymentRow)
        .where(DeploymentRow.repository_id == repository_id)
        .order_by(DeploymentRow.created_at.desc(), DeploymentRow.run_id.desc())
        .limit(limit)
    )
    return [
        PastDeployment(parse_deployment(row), tuple(Step.model_validate(each) for each in row.steps))
        for row in await database.scalars(query)
    ]


async def list_there(database: Database, repository_id: int) -> Sequence[Deployment]:
    """What each environment of a repository runs as far as Forge knows, by the environment's name."""
    newest = (
        select(func.max(DeploymentRow.run_id))
        .where(DeploymentRow.repository_id == repository_id, DeploymentRow.state.in_(_THERE))
        .group_by(DeploymentRow.environment)
    )
    query = select(DeploymentRow).where(DeploymentRow.run_id.in_(newest)).order_by(DeploymentRow.environment)
    return [parse_deployment(row) for row in await database.scalars(query)]


async def count_by_state(database: Database) -> dict[DeploymentState, int]:
    """How many deployments there are in each state."""
    query = select(DeploymentRow.state, func.count()).group_by(DeploymentRow.state)
    return {DeploymentState(state): count for state, count in await database.rows(query)}


@dataclass(frozen=True)
class DeploymentOrder:
    """What is to be deployed where.

    :param admitted_by: the delivery and the environment, so that a repeated step admits it once.
    :param sender: who merged or asked.
    """

    admitted_by: str
    repository: RepositoryRef
    number: int
    environment: str
    is_production: bool
    sha: str
    cause: Cause
    risk: RiskLevel | None
    sender: Sender


async def admit(database: Database, order: DeploymentOrder, now: datetime) -> tuple[Run, Sequence[Deployment]]:
    """Admit a deployment as a run; the run, and the deployments that it replaces. May be repeated.

    Whatever waits for its turn or for a person in the same environment is to be replaced: the caller ends it.
    """
    async with database.transaction() as session:
        # First: many orders of one number at the same moment would all count the same attempts.
        await lock_fence(session, database, order.repository.id, order.number)
        known = await session.scalar(select(RunRow).where(RunRow.admitted_by == order.admitted_by))
        if known is None:
            known = await _add(session, order, now)
        new = parse_deployment(await session.get_one(DeploymentRow, known.id))
        return known.as_run(), list_replaced(new, await _list_open(session, order.repository.id, order.environment))


async def _add(session: AsyncSession, order: DeploymentOrder, now: datetime) -> RunRow:
    candidate = Candidate(
        order.admitted_by,
        order.repository,
        order.number,
        order.sha,
        order.sha,
        Trigger.deployment,
        Repeat.always,
        check_name="",
    )
    same = (
        RunRow.repository_id == order.repository.id,
        RunRow.number == order.number,
        RunRow.head_sha == order.sha,
        RunRow.trigger == Trigger.deployment.value,
    )
    attempt = (await session.scalar(select(func.max(RunRow.attempt)).where(*same)) or 0) + 1
    row = build_row(candidate, attempt, 1, now)
    row.lane, row.sender_id = make_lane(row.id), order.sender.id
    session.add(row)
    session.add(PullRequestRow(repository_id=order.repository.id, number=row.lane, fence=1))
    session.add(
        DeploymentRow(
            run_id=row.id,
            repository_id=order.repository.id,
            number=order.number,
            environment=order.environment,
            is_production=order.is_production,
            sha=order.sha,
            cause=order.cause.value,
            ordered_by=order.sender.login,
            risk=None if order.risk is None else order.risk.value,
            state=DeploymentState.queued.value,
            created_at=now,
        )
    )
    await addresses.clear_purge(session, order.repository.id)
    payload = {"trigger": row.trigger, "attempt": attempt, "environment": order.environment, "cause": order.cause.value}
    ledger.record(session, row.id, EventType.run_admitted, now, phase=Phase.deployment, payload=payload)
    await session.flush()
    return row


async def get(database: Database, run_id: str) -> Deployment | None:
    """The deployment that a run carries out."""
    row = await database.get(DeploymentRow, run_id)
    return None if row is None else parse_deployment(row)


async def list_steps(database: Database, run_id: str) -> Sequence[Step]:
    """What a deployment rolled out so far, in order."""
    row = await database.get(DeploymentRow, run_id)
    return () if row is None else tuple(Step.model_validate(each) for each in row.steps)


async def get_github_id(database: Database, run_id: str) -> int | None:
    """The id of the deployment on GitHub; None if it is not there yet."""
    return await database.scalar(select(DeploymentRow.github_id).where(DeploymentRow.run_id == run_id))


async def list_for_number(database: Database, repository_id: int, number: int) -> Sequence[Deployment]:
    """The latest deployments that a pull request or a command there led to, newest first."""
    query = (
        select(DeploymentRow)
        .where(DeploymentRow.repository_id == repository_id, DeploymentRow.number == number)
        .order_by(DeploymentRow.created_at.desc(), DeploymentRow.run_id.desc())
        .limit(20)
    )
    return [parse_deployment(row) for row in await database.scalars(query)]


async def list_latest(
    database: Database, repository_id: int | None = None, environment: str | None = None, limit: int = 20
) -> Sequence[Deployment]:
    """The latest deployments, newest first.

    :param repository_id: of one repository only; None: of all.
    """
    query = select(DeploymentRow).order_by(DeploymentRow.created_at.desc(), DeploymentRow.run_id.desc()).limit(limit)
    if repository_id is not None:
        query = query.where(DeploymentRow.repository_id == repository_id)
    if environment is not None:
        query = query.where(DeploymentRow.environment == environment)
    return [parse_deployment(row) for row in await database.scalars(query)]


async def list_open(database: Database, repository_id: int, environment: str | None = None) -> Sequence[Deployment]:
    """The deployments of a repository that are not over, oldest first."""
    async with database.transaction() as session:
        return await _list_open(session, repository_id, environment)


async def find_there(
    database: Database, repository_id: int, environment: str, other_than: str = ""
) -> Deployment | None:
    """What an environment runs, as far as Forge deployed it; None if it does not know.

    :param other_than: a commit that is not meant: to find what to go back to.
    """
    async with database.transaction() as session:
        return await _find_there(session, repository_id, environment, other_than)


async def find_way_back(database: Database, repository_id: int, environment: str) -> Deployment | None:
    """What an environment ran before what it runs now; None if Forge does not know.

    After a deployment that failed nobody knows what runs there: then it is what ran before that.
    """
    has_changed = DeploymentRow.state.in_([*_THERE, DeploymentState.failed.value])
    async with database.transaction() as session:
        newest = await session.scalar(_select_newest(repository_id, environment, has_changed))
        return None if newest is None else await _find_there(session, repository_id, environment, newest.sha)


async def was_taken_back(database: Database, deployment: Deployment) -> bool:
    """Whether a person had an environment go back from what a deployment had brought there."""
    query = (
        select(DeploymentRow.cause)
        .where(
            DeploymentRow.repository_id == deployment.repository_id,
            DeploymentRow.environment == deployment.environment,
            DeploymentRow.state.in_([*_THERE, DeploymentState.failed.value]),
            DeploymentRow.sha != deployment.sha,
            DeploymentRow.finished_at > deployment.finished_at,
        )
        .order_by(DeploymentRow.finished_at, DeploymentRow.run_id)
        .limit(1)
    )
    return await database.scalar(query) == Cause.rollback.value


async def find_failure(database: Database, repository_id: int, environment: str) -> Deployment | None:
    """The newest deployment that changed anything in an environment, if it failed."""
    is_over = DeploymentRow.state.in_(_OVER), DeploymentRow.state != DeploymentState.stopped.value
    newest = await database.scalar(_select_newest(repository_id, environment, *is_over))
    return parse_deployment(newest) if newest is not None and newest.state == DeploymentState.failed.value else None


async def _find_there(
    session: AsyncSession, repository_id: int, environment: str, other_than: str = ""
) -> Deployment | None:
    """The newest one that is there and well, or nearly; after a roll-back that is an older one."""
    is_there = DeploymentRow.state.in_(_THERE), DeploymentRow.sha != other_than
    row = await session.scalar(_select_newest(repository_id, environment, *is_there))
    return None if row is None else parse_deployment(row)


def _select_newest(repository_id: int, environment: str, *conditions: ColumnElement[bool]) -> Select[DeploymentRow]:
    """The deployment to an environment that ended last of those that meet the conditions."""
    here = DeploymentRow.repository_id == repository_id, DeploymentRow.environment == environment
    newest_first = DeploymentRow.finished_at.desc(), DeploymentRow.run_id.desc()
    return select(DeploymentRow).where(*here, *conditions).order_by(*newest_first).limit(1)


async def _list_open(session: AsyncSession, repository_id: int, environment: str | None = None) -> Sequence[Deployment]:
    query = select(DeploymentRow).where(DeploymentRow.repository_id == repository_id, DeploymentRow.state.not_in(_OVER))
    if environment is not None:
        query = query.where(DeploymentRow.environment == environment)
    rows = await session.scalars(query.order_by(DeploymentRow.created_at, DeploymentRow.run_id))
    return [parse_deployment(row) for row in rows]


async def claim_environment(database: Database, run: Run, environment: str) -> bool:
    """Take an environment for a run, unless another one works there or came first; whether it has it now."""
    here = {"repository_id": run.repository.id, "environment": environment}
    async with database.transaction() as session:
        await memories.lock_repository(session, database.dialect, run.repository.id)
        holder = await session.scalar(select(DeploymentRow.run_id).filter_by(**here, holds=True))
        if holder is None or await _is_run_over(session, holder):
            opened = await _list_open(session, run.repository.id, environment)
            earlier = [each for each in opened if not await _is_run_over(session, each.run_id)]
            if not earlier or earlier[0].run_id == run.id:
                both = update(DeploymentRow).where(DeploymentRow.run_id.in_([run.id, holder or run.id]))
                await session.execute(both.values(holds=DeploymentRow.run_id == run.id))
                await _note_previous(session, run, environment)
                return True
        return holder == run.id


async def _is_run_over(session: AsyncSession, run_id: str) -> bool:
    """Whether a run ended, perhaps without leaving its environment."""
    state = await session.scalar(select(RunRow.state).where(RunRow.id == run_id))
    return state is None or RunState(state).is_final


async def _note_previous(session: AsyncSession, run: Run, environment: str) -> None:
    """Keep what the environment runs when a deployment begins: it goes back to that."""
    previous = await _find_there(session, run.repository.id, environment, run.head_sha)
    of_run = update(DeploymentRow).where(DeploymentRow.run_id == run.id)
    await session.execute(of_run.values(previous_sha="" if previous is None else previous.sha))


async def keep(database: Database, run_id: str, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what later executions of the run need, once; what is kept."""
    async with database.transaction() as session:
        row = await session.get_one(DeploymentRow, run_id, with_for_update=True)
        if name not in row.kept:
            row.kept = {**row.kept, name: PROCESS_REDACTOR.redact_values(dict(value))}
        return row.kept[name]


async def load_kept(database: Database, run_id: str, name: str) -> Mapping[str, Any] | None:
    """What an execution of the run kept under a name; None if none did."""
    async with database.transaction() as session:
        row = await session.get_one(DeploymentRow, run_id)
        return row.kept.get(name)


async def move(
    database: Database,
    run: Run,
    state: DeploymentState,
    now: datetime,
    *,
    detail: str = "",
    percentage: int | None = None,
    step: Step | None = None,
) -> None:
    """Record where a deployment stands, once; one that is over stays as it is, and leaves its environment.

    :param percentage: of the traffic that it has now; None: as before.
    :param step: that was deployed and watched.
    """
    async with database.transaction() as session:
        row = await session.get_one(DeploymentRow, run.id, with_for_update=True)
        if row.state in _OVER:
            return
        share = row.percentage if percentage is None else percentage
        steps = row.steps if step is None else [*row.steps, step.model_dump(mode="json")]
        if (row.state, row.percentage, len(row.steps)) == (state.value, share, len(steps)):
            return
        row.state, row.detail, row.percentage, row.steps = state.value, detail, share, steps
        told = {"state": state.value, "percentage": share, "environment": row.environment, "detail": detail}
        if state.is_over:
            row.finished_at, row.wish = now, None
            row.holds = False
        ledger.record(session, run.id, EventType.deployment_moved, now, phase=Phase.deployment, payload=told)


async def keep_risk(database: Database, run_id: str, risk: RiskLevel | None) -> None:
    """Keep the risk of all that goes live, once that is known."""
    value = None if risk is None else risk.value
    await database.execute(update(DeploymentRow).where(DeploymentRow.run_id == run_id).values(risk=value))


async def keep_github_id(database: Database, run_id: str, github_id: int) -> None:
    """Keep the id of the deployment on GitHub."""
    await database.execute(update(DeploymentRow).filter_by(run_id=run_id).values(github_id=github_id))


async def wish(database: Database, run_id: str, wanted: Wish, by: str) -> Deployment | None:
    """Keep what a person asks of a deployment under way; None if it is over or unknown."""
    async with database.transaction() as session:
        row = await session.get(DeploymentRow, run_id, with_for_update=True)
        if row is None or row.state in _OVER:
            return None
        row.wish, row.wished_by = wanted.value, by
        return parse_deployment(row)


async def fulfil_wish(database: Database, run_id: str, wanted: Wish) -> None:
    """Forget what a person asked for, because it is being done."""
    done = update(DeploymentRow).where(DeploymentRow.run_id == run_id, DeploymentRow.wish == wanted.value)
    await database.execute(done.values(wish=None))


def parse_deployment(row: DeploymentRow) -> Deployment:
    """The deployment that a row holds."""
    return Deployment.model_validate(row, from_attributes=True)
