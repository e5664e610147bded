"""The outbox: one row per write to GitHub, claimed under the pull request's fencing token (DESIGN invariant 2)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update

from domain.errors import Superseded
from domain.ids import new_id
from domain.runs import Run
from memory.database import Database, insert_new
from memory.tables import OutboxRow, PullRequestRow


@dataclass(frozen=True)
class Claim:
    """The right to make one write.

    ``remote_id`` is set once the write is known to have happened; ``tried_before`` says that an earlier attempt
    may have taken effect, so that its effect must be looked for first.
    """

    id: str
    remote_id: int | None
    done: bool
    tried_before: bool


async def claim(database: Database, run: Run, step: str, kind: str, now: datetime) -> Claim:
    """Claim a write for a run, in one transaction with the check of its fencing token.

    :raises Superseded: if another run owns the pull request by now.
    """
    row_id = new_id()
    values = {
        "id": row_id,
        "run_id": run.id,
        "step": step,
        "kind": kind,
        "state": "pending",
        "remote_id": None,
        "created_at": now,
        "done_at": None,
    }
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, OutboxRow, values))
        row = (
            await session.scalars(
                select(OutboxRow).where(OutboxRow.run_id == run.id, OutboxRow.step == step, OutboxRow.kind == kind)
            )
        ).one()
        if row.state != "done":
            fence = await session.scalar(
                select(PullRequestRow.fence).where(
                    PullRequestRow.repository_id == run.repository.id, PullRequestRow.number == run.number
                )
            )
            if fence != run.fence:
                raise Superseded(f"Run {run.id} no longer owns pull request {run.number}.")
        return Claim(row.id, row.remote_id, row.state == "done", row.id != row_id)


async def done(database: Database, claim_id: str, remote_id: int, now: datetime) -> None:
    """Record that a claimed write took effect."""
    async with database.transaction() as session:
        await session.execute(
            update(OutboxRow).where(OutboxRow.id == claim_id).values(state="done", remote_id=remote_id, done_at=now)
        )


async def remote_id(database: Database, run_id: str, step: str, kind: str) -> int | None:
    """GitHub's id of what a run wrote in a step, if that is known."""
    async with database.transaction() as session:
        return await session.scalar(
            select(OutboxRow.remote_id).where(
                OutboxRow.run_id == run_id, OutboxRow.step == step, OutboxRow.kind == kind
            )
        )
