"""A worker process that competes with others for the money of a repository: ``racing.py URL NUMBER RUNS``.

Each run reserves 15 cents of a daily dollar, waits a little, and settles. Prints how many were let through.
"""

import asyncio
import sys

from domain.money import MICRO, CallOutcome, Limits, Receipt, Refusal, to_micro
from domain.runs.run import Phase, RepositoryRef, Run, RunState, Trigger
from memory.db.engine import Database
from memory.reservations import PhaseBudget
from tests.clock import MovableClock

WANTED = to_micro("0.15")
LIMITS = Limits(day=MICRO)


def run(name: str) -> Run:
    return Run(
        id=name,
        repository=RepositoryRef(installation_id=3, id=7, owner="octo", name="shop"),
        number=1,
        head_sha="b" * 40,
        base_sha="a" * 40,
        trigger=Trigger.pull_request,
        attempt=1,
        fence=1,
        state=RunState.running,
    )


async def race(url: str, worker: int, runs: int) -> int:
    """How many of the runs of this worker got their money."""
    database = Database(url)

    async def one(index: int) -> int:
        purse = PhaseBudget(database, run(f"run-{worker}-{index}"), Phase.review, LIMITS, MovableClock())
        got = await purse.reserve("ask", "m", WANTED)
        if isinstance(got, Refusal):
            return 0
        await asyncio.sleep(0.01)
        await purse.settle(got, Receipt(outcome=CallOutcome.answered, amount=WANTED))
        return 1

    let_through = sum(await asyncio.gather(*map(one, range(runs))))
    await database.close()
    return let_through


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(race(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
