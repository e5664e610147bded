"""The outbox: one row per write to GitHub, claimed under the pull request's fencing token; and what follows from it.

Which runs belong together (an issue's run, the reviews of the pull request it opened, its deployments) follows from who
opened the pull request, so it is kept nowhere else.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.errors import Superseded
from domain.runs.run import Run
from domain.value import new_id
from memory.db.engine import Database, insert_new
from memory.db.tables.runs import OutboxRow, PullRequestRow, RunRow
from memory.runs import runs

PULL_REQUEST = "pull_request"
"""The kind of write that opens a pull request; its number is kept."""


APPROVAL = "auto_approve"
"""The step of an automatic approving review; more follows it if the approval is repeated or withdrawn."""

TESTED = "concluded"
"""What the step ends in that shows what came of the tests of a head."""

_WITHDRAWAL = "withdrawal"  # the kind of write that withdraws Forge's own approval; the review's id is kept


@dataclass(frozen=True)
class WriteClaim:
    """The right to make one write.

    ``remote_id`` is set once the write is known to have happened; ``tried_before`` says that an earlier attempt may
    have taken effect, so that its effect must be looked for first. If the run has lost its pull request since
    (``lost``), the effect may still be recorded, but nothing more may be written.

    :param tried_at: when that attempt was made.
    """

    id: str
    remote_id: int | None
    tried_before: bool
    lost: bool
    tried_at: datetime


@dataclass(frozen=True)
class TestedHead:
    """The tested head that a check shows.

    :param occasion: tells one testing of this head from another.
    """

    head_sha: str
    occasion: str


def name_test_step(head_sha: str, occasion: str, name: str) -> str:
    """The step of a write to the check of a tested head."""
    return f"tests {head_sha} {occasion}: {name}"


async def claim(
    database: Database, run: Run, step: str, kind: str, now: datetime, tested: TestedHead | None = None
) -> WriteClaim:
    """Claim a write for a run, in one transaction with the check of its fencing token.

    :param tested: the tested head, if this write opens a check of tests; :func:`list_opened_tests` finds it.
    :raises Superseded: if another run owns the pull request by now and this write was never tried.
    """
    async with database.transaction() as session:
        row, is_new = await _get_or_create(session, database.dialect, run.id, step, kind, now, tested)
        fence = await session.scalar(
            select(PullRequestRow.fence).where(
                PullRequestRow.repository_id == run.repository.id, PullRequestRow.number == run.fence_number
            )
        )
        claimed = WriteClaim(
            row.id, row.remote_id, tried_before=not is_new, lost=fence != run.fence, tried_at=row.created_at
        )
        if claimed.lost and not claimed.tried_before:
            raise Superseded(f"Run {run.id} may not write any more.")
        return claimed


async def claim_answer(database: Database, delivery: str, now: datetime) -> WriteClaim:
    """Claim the answer to a delivery. It needs no fencing token: people get an answer whatever runs."""
    async with database.transaction() as session:
        row, is_new = await _get_or_create(session, database.dialect, delivery, "answer", "comment", now)
        return WriteClaim(row.id, row.remote_id, tried_before=not is_new, lost=False, tried_at=row.created_at)


async def is_claimed(database: Database, owner: str, step: str, kind: str) -> bool:
    """Whether a write was made, or at least begun."""
    return bool(await _load_states(database, owner, step, kind))


async def is_done(database: Database, owner: str, step: str, kind: str) -> bool:
    """Whether a write is known to have taken effect."""
    return "done" in await _load_states(database, owner, step, kind)


async def get_done_at(database: Database, owner: str, step: str, kind: str) -> datetime | None:
    """When a write is known to have taken effect; None if it is not."""
    query = select(OutboxRow.done_at).where(OutboxRow.run_id == owner, OutboxRow.step == step, OutboxRow.kind == kind)
    return await database.scalar(query)


async def find_remote_id(database: Database, owner: str, step: str, kind: str) -> int | None:
    """GitHub's id of what was written, which GitHub may not show yet; None if it is not known to be there."""
    query = select(OutboxRow.remote_id).where(OutboxRow.run_id == owner, OutboxRow.step == step, OutboxRow.kind == kind)
    return await database.scalar(query)


async def find_proposal(database: Database, owner: str) -> int | None:
    """The number of the pull request a run opened; None if it opened none."""
    query = select(OutboxRow.remote_id).where(OutboxRow.run_id == owner, OutboxRow.kind == PULL_REQUEST)
    return await database.scalar(query)


async def list_opened_tests(database: Database, owner: str) -> Sequence[TestedHead]:
    """The tested heads of the checks that a run opened."""
    query = select(OutboxRow.head_sha, OutboxRow.occasion).where(OutboxRow.run_id == owner)
    rows = await database.rows(query)
    return [TestedHead(head, occasion) for head, occasion in rows if head is not None and occasion is not None]


async def has_tested(database: Database, repository_id: int, head_sha: str) -> bool:
    """Whether a check of a head shows what came of its tests, whichever run had them."""
    query = (
        select(OutboxRow.id)
        .join(RunRow, RunRow.id == OutboxRow.run_id)
        .where(
            RunRow.repository_id == repository_id,
            OutboxRow.step.startswith(name_test_step(head_sha, "", "").partition(":")[0]),
            OutboxRow.step.endswith(f": {TESTED}"),
            OutboxRow.state == "done",
        )
    )
    return await database.scalar(query.limit(1)) is not None


async def list_pushes(database: Database, owner: str) -> Sequence[str]:
    """The steps of the pushes of a run that are known to have taken effect."""
    query = select(OutboxRow.step).where(OutboxRow.run_id == owner, OutboxRow.kind == "push", OutboxRow.state == "done")
    return await database.scalars(query)


async def find_proposing_run(database: Database, repository_id: int, number: int) -> Run | None:
    """The run that opened a pull request; None if none did."""
    query = (
        select(RunRow)
        .join(OutboxRow, RunRow.id == OutboxRow.run_id)
        .where(OutboxRow.kind == PULL_REQUEST, OutboxRow.remote_id == number, RunRow.repository_id == repository_id)
    )
    row = await database.scalar(query)
    return None if row is None else row.as_run()


async def was_approved(database: Database, repository_id: int, number: int) -> bool:
    """Whether Forge approved a pull request, or was about to."""
    query = (
        select(OutboxRow.id)
        .join(RunRow, RunRow.id == OutboxRow.run_id)
        .where(
            RunRow.repository_id == repository_id,
            RunRow.number == number,
            OutboxRow.step.startswith(APPROVAL, autoescape=True),
        )
    )
    return await database.scalar(query.limit(1)) is not None


async def list_approvals(database: Database, repository_id: int, number: int) -> Mapping[int, str]:
    """The reviews with which Forge approved a pull request: id → the run that did."""
    query = (
        select(OutboxRow.remote_id, OutboxRow.run_id)
        .join(RunRow, RunRow.id == OutboxRow.run_id)
        .where(
            RunRow.repository_id == repository_id,
            RunRow.number == number,
            OutboxRow.step.startswith(APPROVAL, autoescape=True),
            OutboxRow.kind != _WITHDRAWAL,
            OutboxRow.state == "done",
        )
        .order_by(OutboxRow.id)
    )
    return {review_id: run_id for review_id, run_id in await database.rows(query) if review_id is not None}


async def record_withdrawal(database: Database, run: Run, review_id: int, now: datetime) -> None:
    """Record that a run withdrew an approval, and not a person."""
    async with database.transaction() as session:
        row, _ = await _get_or_create(
            session, database.dialect, run.id, f"{APPROVAL} withdrawn {review_id}", _WITHDRAWAL, now
        )
        row.state, row.remote_id, row.done_at = "done", review_id, now


async def list_withdrawn(database: Database, repository_id: int, number: int) -> Collection[int]:
    """The approving reviews of a pull request that Forge itself dismissed."""
    query = (
        select(OutboxRow.remote_id)
        .join(RunRow, RunRow.id == OutboxRow.run_id)
        .where(RunRow.repository_id == repository_id, RunRow.number == number, OutboxRow.kind == _WITHDRAWAL)
    )
    return {review_id for review_id in await database.scalars(query) if review_id is not None}


async def _load_states(database: Database, owner: str, step: str, kind: str) -> Sequence[str]:
    query = select(OutboxRow.state).where(OutboxRow.run_id == owner, OutboxRow.step == step, OutboxRow.kind == kind)
    return await database.scalars(query)


async def _get_or_create(
    session: AsyncSession,
    dialect: str,
    owner: str,
    step: str,
    kind: str,
    now: datetime,
    tested: TestedHead | None = None,
) -> tuple[OutboxRow, bool]:
    """The row of a write, and whether it is new."""
    row_id = new_id()
    values = {
        "id": row_id,
        "run_id": owner,
        "step": step,
        "kind": kind,
        "head_sha": None if tested is None else tested.head_sha,
        "occasion": None if tested is None else tested.occasion,
        "state": "pending",
        "remote_id": None,
        "created_at": now,
        "done_at": None,
    }
    await session.execute(insert_new(dialect, OutboxRow, values))
    query = select(OutboxRow).where(OutboxRow.run_id == owner, OutboxRow.step == step, OutboxRow.kind == kind)
    row = (await session.scalars(query)).one()
    return row, row.id == row_id


async def mark_tried(database: Database, claim_id: str, at: datetime) -> None:
    """Record when a claimed write was last attempted."""
    await database.execute(update(OutboxRow).where(OutboxRow.id == claim_id).values(created_at=at))


async def mark_done(database: Database, claim_id: str, remote_id: int, now: datetime) -> None:
    """Record that a claimed write took effect."""
    await database.execute(
        update(OutboxRow).where(OutboxRow.id == claim_id).values(state="done", remote_id=remote_id, done_at=now)
    )


async def list_trace(database: Database, run_id: str) -> Sequence[str]:
    """The ids of the runs that belong to a run, itself among them, oldest first."""
    run = await runs.get(database, run_id)
    if run is None:
        return [run_id]
    first = run if run.is_of_issue else await find_proposing_run(database, run.repository.id, run.number)
    number = None if first is None else await find_proposal(database, first.id)
    if first is None or number is None:
        return [run_id]
    query = select(RunRow.id).where(RunRow.repository_id == run.repository.id, RunRow.number == number)
    return sorted({first.id, *await database.scalars(query)})


async def find_linked_number(database: Database, run: Run) -> int | None:
    """The pull request that an issue's run opened, or the issue that a pull request is for; None if there is none."""
    if run.is_of_issue:
        return await find_proposal(database, run.id)
    first = await find_proposing_run(database, run.repository.id, run.number)
    return None if first is None else first.number
