"""Runs give way to deliveries, so that a burst of pull requests is told first."""

import asyncio

import pytest
from dbos import DBOS, EnqueueOptions

from pipeline.durable.queues import DELIVERY
from pipeline.worker.queues import FEW, count_in_flight, give_way
from tests.stories.driver import Story
from tests.world.waiting import until

pytestmark = pytest.mark.own_forge


async def test_a_run_waits_while_more_than_a_few_deliveries_are_under_way(story: Story) -> None:
    stuck = [await queue_for_nobody(number) for number in range(FEW + 1)]
    waiting = asyncio.create_task(give_way(longest=3600))
    await asyncio.to_thread(count_in_flight, DELIVERY, FEW + 1)
    await asyncio.sleep(0.5)
    assert not waiting.done()
    await DBOS.cancel_workflow_async(stuck[0])
    await waiting
    for each in stuck[1:]:
        await DBOS.cancel_workflow_async(each)


async def test_deliveries_that_take_long_hold_up_no_run_for_ever(story: Story) -> None:
    stuck = [await queue_for_nobody(number) for number in range(FEW + 1)]
    repository, alice = story.repository({"app.py": "print()\n"})
    head = await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repository, "feature", "main")
    await until(lambda: any(each.status == "completed" for each in story.github.check_runs(repository, head)))
    assert story.check(repository, head).conclusion == "neutral"
    for each in stuck:
        await DBOS.cancel_workflow_async(each)


async def queue_for_nobody(number: int) -> str:
    """The id of a delivery's workflow that no process takes."""
    options: EnqueueOptions = {
        "workflow_name": DELIVERY.name,
        "queue_name": DELIVERY.queue,
        "workflow_id": f"stuck-{number}",
        "app_version": "of nobody",
    }
    await DBOS.enqueue_workflow_with_options_async(options, f"stuck-{number}")
    return f"stuck-{number}"
