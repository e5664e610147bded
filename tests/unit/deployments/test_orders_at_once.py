"""Orders of deployments that come at the same moment are all kept, on both databases."""

import asyncio

from domain.commands import Sender
from domain.deployments.deployment import Cause
from memory.db.engine import Database
from memory.deployments import deployments
from tests.rows import NOON
from tests.unit.memories.records import SHOP

AT_ONCE = 40


async def test_forty_orders_of_one_commit_are_forty_deployments(database: Database) -> None:
    orders = [
        deployments.DeploymentOrder(
            admitted_by=f"delivery-{number}#28#s{number}",
            repository=SHOP,
            number=28,
            environment=f"s{number}",
            is_production=False,
            sha="a" * 40,
            cause=Cause.command,
            risk=None,
            sender=Sender(id=1, login="carol"),
        )
        for number in range(AT_ONCE)
    ]
    admitted = await asyncio.gather(*(deployments.admit(database, order, NOON) for order in (*orders, *orders)))
    assert len({run.id for run, _ in admitted}) == AT_ONCE
    assert {run.attempt for run, _ in admitted} == set(range(1, AT_ONCE + 1))
