"""Tells what has neither come to its end nor waits for a moment on the clock."""

import asyncio
import functools
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, bindparam, column, literal, or_, select, table, union_all

from domain.gates import GateState
from memory.db.engine import Database
from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import RunRow, WaitRow
from simulator import Simulator

_SOON = timedelta(seconds=5)


async def settle(github: Simulator, database: Database, seconds: float) -> None:
    """Wait until everything came to its end in processes that work for a GitHub.

    :raises TimeoutError: it takes longer than these seconds.
    """
    async with asyncio.timeout(seconds):
        await github.settle()
        while await find_unfinished(database, datetime.now(UTC)):  # noqa: ASYNC110  # it is another process
            await asyncio.sleep(0.1)


async def find_unfinished(database: Database, now: datetime) -> list[tuple[str, str]]:
    """(kind, id) of what is on its way.

    Deliveries without an outcome, runs that are not final and wait for nobody, workflows that are not done, and gates
    that are answered, or whose time is over, without their run having been told. Who waits for a moment that comes
    by itself while one looks on is on its way, too.
    """
    found = await database.rows(_build_statement(database.dialect).params(now=now, soon=now + _SOON))
    return [(kind, key) for kind, key in found]


@functools.cache
def _build_statement(dialect: str) -> Select[Any, Any]:
    """One statement, so that nothing slips through between two."""
    schema = None if dialect == "sqlite" else "dbos"
    workflow = table("workflow_status", column("workflow_uuid"), column("status"), schema=schema)
    is_told = select(workflow).where(workflow.c.workflow_uuid == GateRow.run_id + "/" + GateRow.id)
    is_answered = GateRow.state.in_([GateState.approved, GateState.rejected, GateState.expired])
    gates = (
        select(literal("gate"), GateRow.id)
        .join(RunRow, RunRow.id == GateRow.run_id)
        .where(
            RunRow.state == "waiting",
            RunRow.reason == "gate",
            or_(is_answered, (GateRow.state == GateState.waiting) & (GateRow.until <= bindparam("now"))),
            ~is_told.exists(),
        )
    )
    deliveries = select(literal("delivery"), DeliveryRow.guid).where(
        DeliveryRow.finished_at.is_(None), DeliveryRow.outcome == "accepted"
    )
    runs = select(literal("run"), RunRow.id).where(RunRow.state.in_(["pending", "running"]))
    workflows = select(literal("workflow"), workflow.c.workflow_uuid).where(
        workflow.c.status.in_(["PENDING", "ENQUEUED"])
    )
    found = union_all(gates, deliveries, runs, workflows).subquery("found")
    kind, key = found.c
    waits = select(WaitRow).where(WaitRow.workflow_id == key, WaitRow.until > bindparam("soon"))
    return select(kind, key).where(~waits.exists())
