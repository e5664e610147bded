"""What all checks before one call of a model take in a large ledger, and how soon a decided run goes on."""

import random
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Engine, event, insert, select, text
from ulid import ULID

from bot.clock import SystemClock
from domain.config.configuration import Configuration
from domain.events import EventType
from domain.money import NO_CEILINGS, CallOutcome, Limits, Receipt, Reservation
from domain.ports import ModelBudget
from domain.runs.run import Phase, Run
from memory.db.engine import Connection, Database
from memory.db.tables.deliveries import ExecutorRow
from memory.db.tables.runs import EventRow, PullRequestRow, RunRow, SpendRow
from memory.reservations import PhaseBudget
from memory.runs import model_answers
from pipeline.context import Services
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext
from tests.databases import Backend, create_database, drop_database
from tests.rows import active_run, run_row
from tests.stories.driver import open_story
from tests.world.gates import open_protected

EVENTS, SPEND, RUNS, REPOSITORIES = 100_000, 20_000, 2_000, 50
ROUNDS, DECISIONS = 200, 9
ANSWERS = 8
PLENTY = Limits(run=10**12, day=10**12, phase=dict.fromkeys(Phase, 10**12))
TYPES = [EventType.tool_executed, EventType.budget_reserved, EventType.budget_settled, EventType.phase_entered]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_checks_of_an_iteration(backend: Backend, tmp_path: Path) -> None:
    """From halt to reservation, as it is asked before each call; a bare read and a bare write beside it.

    The checks are done when the first row of the reservation is written, as a bare read is when it is answered; that
    row and the commit are what it costs to hold the money.
    """
    url = create_database(backend, tmp_path)
    database = Database(url)
    run = await _fill(database)
    services = _Only(database)
    journal = cast(Any, None)  # nothing is asked but the limits
    guarded = BudgetedCalls(RunContext(services, run, journal), Phase.review, Configuration()).budget
    money = PhaseBudget(database, run, Phase.review, PLENTY, SystemClock())
    reserved: list[Reservation] = []

    taken: dict[str, list[float]] = defaultdict(list)
    decided: list[float] = []

    @event.listens_for(Engine, "before_cursor_execute")
    def on_execute(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO spend"):
            decided.append(time.perf_counter())

    async def read() -> None:
        def ask(connection: Connection) -> float:
            connection.execute(text("SELECT 1")).all()
            return time.perf_counter()

        began = time.perf_counter()
        answered = await database.run_in_transaction(ask)
        taken["read"].append(answered - began)

    async def write() -> None:
        began = time.perf_counter()
        await database.run_in_transaction(lambda connection: connection.execute(text("UPDATE executors SET pid = pid")))
        taken["write"].append(time.perf_counter() - began)

    async def reserve(purse: ModelBudget, name: str) -> None:
        began = time.perf_counter()
        found = await purse.reserve(f"step {len(reserved)}", "anthropic:claude-haiku-4-5", 1)
        taken[name].append(time.perf_counter() - began)
        taken[f"{name} decided"].append(decided[-1] - began)
        assert isinstance(found, Reservation), found
        reserved.append(found)

    async def settle() -> None:
        for each in reserved[-2:]:
            await money.settle(each, Receipt(outcome=CallOutcome.answered, amount=0))
        async with database.transaction() as session:  # an iteration is one call: the limit of calls is not the matter
            await session.execute(text("DELETE FROM spend WHERE step LIKE 'step %'"))

    try:
        for _ in range(ROUNDS):  # in turn, so that what else the machine does hits all of them
            await read()
            await write()
            await reserve(money, "without guards")
            await reserve(guarded, "all")
            await settle()
    finally:
        event.remove(Engine, "before_cursor_execute", on_execute)
    median = {name: statistics.median(each) for name, each in taken.items()}
    print(
        f"\n\nChecks before a call of a model on {backend}, {EVENTS:,} events and {SPEND:,} calls, median of {ROUNDS}"
    )
    _print("an empty call: SELECT 1, answered", median["read"], median["read"])
    _print("all checks together, decided", median["all decided"], median["read"])
    _print("  beyond an empty call", median["all decided"] - median["read"], median["read"])
    _print("the same without guards", median["without guards decided"], median["read"])
    _print("an empty write, durable", median["write"], median["write"])
    _print("all checks and the reservation, durable", median["all"], median["write"])
    _print("  beyond an empty write", median["all"] - median["write"], median["write"])
    await database.close()
    drop_database(url)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_decision_to_going_on(backend: Backend, tmp_path: Path) -> None:
    """From the moment a comment with `/forge approve` is stored to the run's going on, with the usual polling."""
    seconds: list[float] = []
    for number in range(DECISIONS):
        folder = tmp_path / str(number)
        folder.mkdir()
        url = create_database(backend, folder)
        async with open_story(url, folder, queue_polling=0.2) as told:
            _, _, carol, pull, _ = await open_protected(told)
            told.clock.move(seconds=5)  # GitHub tells seconds only: an answer must be younger than the question
            await carol.comment(pull, "/forge approve")
            await told.settle()
            told.answers(pull)
            told.questions(pull)
            async with told.forge.services.database.transaction() as session:
                accepted = await session.scalar(
                    text(
                        "SELECT max(received_at) FROM deliveries WHERE event = 'issue_comment' AND outcome = 'accepted'"
                    )
                )
                moved = await session.scalar(
                    select(EventRow.time).where(EventRow.type == EventType.run_resumed.value).limit(1)
                )
        drop_database(url)
        assert accepted is not None
        assert moved is not None
        seconds.append((moved - _moment(accepted)).total_seconds())
    median, worst = statistics.median(seconds), max(seconds)
    print(f"\n\nDecision to going on, {backend}, {DECISIONS} times:")
    print(f"median {median * 1000:.0f} ms, worst {worst * 1000:.0f} ms")
    print(f"against the second it may take: {median:.2f}; against one look into a queue (0.2 s): {median / 0.2:.1f}")


class _Only(Services):
    """Services of which only the database, the clock and the ceilings are used."""

    def __init__(self, database: Database) -> None:
        object.__setattr__(self, "database", database)
        object.__setattr__(self, "clock", SystemClock())
        object.__setattr__(self, "ceilings", NO_CEILINGS)


async def _fill(database: Database) -> Run:
    """A ledger as after some months, and the newest run, which works and has made some calls."""
    chance, now = random.Random(4), datetime.now(UTC)
    ids = [str(ULID.from_datetime(now - timedelta(minutes=RUNS - number))) for number in range(RUNS)]
    rows = [run_row(each, number % REPOSITORIES, state="running") for number, each in enumerate(ids)]
    run = active_run(ids[-1], (RUNS - 1) % REPOSITORIES)
    lease = ExecutorRow(id="bench", instance="bench", host="bench", pid=1, lease_until=now)  # for the empty write
    async with database.transaction() as session:
        session.add(PullRequestRow(repository_id=run.repository.id, number=run.number, fence=run.fence))
        session.add_all([lease, *rows[:-1], run_row(run.id, run.repository.id, state="running")])
    for number in range(ANSWERS):
        use = {"tool": "read_file", "arguments": {"path": f"src/module_{number}.py"}}
        results = [f"{line}: total = {chance.random()}" for line in range(80)]
        value = {"key": f"turn {number}", "text": "I read on.", "uses": [use], "results": ["\n".join(results)]}
        await model_answers.keep(database, run, f"digest {number}", value, now - timedelta(minutes=ANSWERS - number))
    await _insert(database, EventRow, [_event(chance, ids, now, number) for number in range(EVENTS)])
    await _insert(database, SpendRow, [_spend(chance, ids, now, number) for number in range(SPEND)])
    async with database.transaction() as session:
        await session.execute(text("ANALYZE"))
    return run


def _event(chance: random.Random, ids: Sequence[str], now: datetime, number: int) -> dict[str, object]:
    trace, moved = chance.choice(ids), number % 10 == 0
    at = now - timedelta(minutes=3)
    kind = EventType.run_started if moved else chance.choice(TYPES)
    return {
        "id": str(ULID()),
        "trace": trace,
        "time": at,
        "source": "bench",
        "type": kind.value,
        "phase": "review",
        "payload": {"step": f"question {number}", "amount": number},
        "tokens": 0,
        "cost": 0.0,
        "duration": None,
    }


def _spend(chance: random.Random, ids: Sequence[str], now: datetime, number: int) -> dict[str, object]:
    place = chance.randrange(len(ids) - 1)
    at = now - timedelta(minutes=chance.randrange(60 * 24 * 30))
    return {
        "id": str(ULID()),
        "run_id": ids[place],
        "repository_id": place % REPOSITORIES,
        "installation_id": 1,
        "phase": "review",
        "step": f"q{number}",
        "model": "anthropic:claude-haiku-4-5",
        "day": at.date().isoformat(),
        "state": "settled",
        "reserved": 1000,
        "amount": 1000,
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "outcome": "answered",
        "problem": "",
        "seconds": 1.0,
        "reserved_at": at,
        "settled_at": at,
    }


async def _insert(
    database: Database, table: type[RunRow | EventRow | SpendRow], rows: Sequence[dict[str, object]]
) -> None:
    for start in range(0, len(rows), 5_000):
        async with database.transaction() as session:
            await session.execute(insert(table), [*rows[start : start + 5_000]])


def _moment(stored: str | datetime) -> datetime:
    moment = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _print(name: str, seconds: float, baseline: float) -> None:
    print(f"{name:45} {seconds * 1000:7.2f} ms   {seconds / baseline:6.1f}")
