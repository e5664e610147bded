"""Gates in the database: asked once, decided once whoever races, and closed by time that counts in UTC alone."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from domain.commands import Repeat
from domain.errors import Superseded
from domain.events import EventType
from domain.gates import Gate, GateDecision, GateRequest, GateState
from domain.money import BudgetExtension
from domain.runs.run import Phase, ReasonCode, RepositoryRef, Run, RunState, Trigger
from domain.verdicts import Reason
from memory import gates, ledger, reservations
from memory.db.engine import Database
from memory.db.tables.runs import BudgetRow
from memory.runs import runs
from memory.runs.runs import Candidate

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)  # in the night that follows, clocks in Europe are put forward
DAY = timedelta(days=1)
SHOP = RepositoryRef(installation_id=3, id=7, owner="octo", name="shop")
APPROVED, REJECTED, EXPIRED, VOID = GateState.approved, GateState.rejected, GateState.expired, GateState.void


@dataclass(frozen=True)
class GateDatabase:
    """A database, and a second connection pool on it as another process has one."""

    one: Database
    two: Database

    async def run(self, head: str = "b" * 40) -> Run:
        """A run that owns pull request 1 now."""
        fence = await runs.get_fence(self.one, SHOP.id, 1)
        wish = Candidate(f"delivery of {head}", SHOP, 1, head, "a" * 40, Trigger.pull_request, Repeat.always)
        admitted = await runs.admit(self.one, wish, fence, NOW)
        assert admitted.run is not None
        await runs.move(self.one, admitted.run.id, RunState.running, NOW)
        return admitted.run

    async def waits(self, run: Run) -> None:
        await runs.move(self.one, run.id, RunState.waiting, NOW, ReasonCode.gate)

    async def state(self, gate: Gate) -> GateState:
        found = await gates.get(self.two, gate.id)
        assert found is not None
        return found.state

    async def list_events(self, run: Run, kind: EventType) -> Sequence[dict[str, object]]:
        return [event.payload for event in await ledger.load_events(self.two, run.id) if event.type is kind]


@pytest.fixture
async def books(url: str) -> AsyncGenerator[GateDatabase]:
    opened = GateDatabase(Database(url), Database(url))
    yield opened
    await opened.one.close()
    await opened.two.close()


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> Generator[str]:
    """The machine's own time zone, which has nothing to say."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def request(name: str = "human_review", subject: str = "this", timeout: timedelta = DAY) -> GateRequest:
    return GateRequest(
        name=name,
        phase=Phase.review,
        subject=subject,
        prompt="Is it right?",
        reasons=(Reason(code="why", text="Because."),),
        role="write",
        not_author=True,
        not_requester=False,
        seconds=timeout.total_seconds(),
        options=(),
    )


def by(account: int, at: datetime = NOW, grants: BudgetExtension | None = None) -> GateDecision:
    return GateDecision(
        at=at,
        by_id=account,
        by_login=f"user-{account}",
        via="command",
        cause=f"d{account}",
        grants=grants or BudgetExtension(),
    )


async def test_the_same_question_is_asked_once(books: GateDatabase) -> None:
    run = await books.run()
    asked = await asyncio.gather(*(gates.ask(each, run, request(), NOW) for each in (books.one, books.two) * 5))
    assert len({gate.id for gate in asked}) == 1
    assert len(await books.list_events(run, EventType.gate_requested)) == 1
    other = await gates.ask(books.one, run, request(subject="that"), NOW)
    assert other.id != asked[0].id


async def test_twenty_people_at_once_give_one_decision_and_all_are_in_the_ledger(books: GateDatabase) -> None:
    """T-P9: who came second changed nothing, and the audit says that they tried."""
    run = await books.run()
    gate = await gates.ask(books.one, run, request(), NOW)
    answers = [(APPROVED if n % 2 else REJECTED, by(n, grants=BudgetExtension(amount=5, calls=1))) for n in range(20)]
    outcomes = await asyncio.gather(
        *(gates.decide((books.one, books.two)[n % 2], gate.id, *answer) for n, answer in enumerate(answers))
    )

    counted = [outcome for outcome in outcomes if outcome.counted]
    assert len(counted) == 1
    assert {(outcome.gate.state, outcome.gate.decision) for outcome in outcomes} == {
        (counted[0].gate.state, counted[0].gate.decision)
    }
    decided = [
        *await books.list_events(run, EventType.gate_approved),
        *await books.list_events(run, EventType.gate_rejected),
    ]
    contested = await books.list_events(run, EventType.gate_contested)
    assert len(decided) == 1
    assert {each["by_id"] for each in (*decided, *contested)} == set(range(20))
    assert all(each["said"] in {"approved", "rejected"} for each in contested)
    async with books.one.transaction() as session:  # what goes with an approval is granted with the one that counted
        row = await session.get(BudgetRow, f"run:{run.id}/review")
    assert row is not None
    assert row.granted == 5


@pytest.mark.parametrize(("late", "state"), [(-1, APPROVED), (0, EXPIRED), (1, EXPIRED), (86_400, EXPIRED)])
async def test_an_approval_counts_until_its_time_is_over(books: GateDatabase, late: int, state: GateState) -> None:
    run = await books.run()
    gate = await gates.ask(books.one, run, request(), NOW)
    outcome = await gates.decide(books.one, gate.id, APPROVED, by(1, gate.until + timedelta(seconds=late)))
    assert (outcome.counted, outcome.gate.state) == (state is APPROVED, state)


async def test_an_approval_and_the_end_of_its_time_at_once(books: GateDatabase) -> None:
    """Whichever comes first stands, and the run is told of one outcome."""
    run = await books.run()
    asked = [await gates.ask(books.one, run, request(subject=f"{n}"), NOW) for n in range(10)]
    end = asked[0].until
    before = end - timedelta(microseconds=1)
    await asyncio.gather(
        *(gates.decide(books.one, gate.id, APPROVED, by(n, before)) for n, gate in enumerate(asked)),
        *(gates.expire(books.two, end) for _ in range(3)),
    )
    states = [await books.state(gate) for gate in asked]
    approved = await books.list_events(run, EventType.gate_approved)
    expired = await books.list_events(run, EventType.gate_expired)
    assert {each["gate"] for each in approved} == {
        gate.id for gate, s in zip(asked, states, strict=True) if s is APPROVED
    }
    assert {each["gate"] for each in expired} == {
        gate.id for gate, s in zip(asked, states, strict=True) if s is EXPIRED
    }
    assert len(approved) + len(expired) == 10


async def test_the_end_of_time_is_counted_in_utc(books: GateDatabase, zone: str) -> None:
    """T-D7: a day is 24 hours, also in the night in which clocks are put forward, and wherever the machine stands."""
    run = await books.run()
    gate = await gates.ask(books.one, run, request(), NOW)
    stored = await gates.get(books.two, gate.id)
    assert stored is not None
    assert stored.until == NOW + DAY, zone
    assert await gates.expire(books.one, NOW + DAY - timedelta(seconds=1)) == 0
    assert await gates.expire(books.one, NOW + DAY) == 1
    assert await books.state(gate) is EXPIRED


async def test_a_clock_that_jumps_never_approves(books: GateDatabase) -> None:
    """T-D7: an hour back it waits on, a day ahead it expires, and back again that stands."""
    run = await books.run()
    gate = await gates.ask(books.one, run, request(), NOW)
    assert await gates.expire(books.one, NOW - timedelta(hours=1)) == 0
    assert await books.state(gate) is GateState.waiting
    assert await gates.expire(books.one, NOW + DAY) == 1
    assert await gates.expire(books.one, NOW - timedelta(hours=1)) == 0
    outcome = await gates.decide(books.one, gate.id, APPROVED, by(1, NOW))
    assert (outcome.counted, outcome.gate.state) == (False, EXPIRED)
    [told] = await books.list_events(run, EventType.gate_expired)
    assert (told["by_id"], told["via"]) == (None, "timeout")


async def test_only_what_is_due_expires(books: GateDatabase) -> None:
    run = await books.run()
    short = await gates.ask(books.one, run, request("cost_overrun", timeout=timedelta(hours=2)), NOW)
    long = await gates.ask(books.one, run, request(), NOW)
    assert await gates.expire(books.one, NOW + timedelta(hours=3)) == 1
    assert [await books.state(short), await books.state(long)] == [EXPIRED, GateState.waiting]


async def test_a_push_takes_the_object_away(books: GateDatabase) -> None:
    """T-P8: the question is void with the run that asked it, and an answer to it decides nothing."""
    old = await books.run()
    gate = await gates.ask(books.one, old, request(), NOW)
    await gates.save_location(books.one, gate.id, check_id=5, comment_id=6)
    new = await books.run("c" * 40)
    outcome = await gates.decide(books.one, gate.id, APPROVED, by(1))
    assert (outcome.counted, outcome.gate.state) == (False, VOID)
    with pytest.raises(Superseded):
        await gates.ask(books.one, old, request(subject="more"), NOW)

    again = await gates.ask(books.one, new, request(), NOW)
    assert (again.id == gate.id, again.comment_id, again.check_id) == (False, 6, None)
    assert await books.state(again) is GateState.waiting


async def test_an_approval_and_a_push_at_once(books: GateDatabase) -> None:
    """T-P8, T-P9: whichever comes first, no approval of the old head counts for the new one."""
    for number in range(8):
        old = await books.run(f"{number:040}")
        gate = await gates.ask(books.one, old, request(), NOW)
        outcome, _ = await asyncio.gather(
            gates.decide(books.one, gate.id, APPROVED, by(1)), books.run(f"{number + 100:040}")
        )
        state = await books.state(gate)
        assert state is (APPROVED if outcome.counted else VOID)
        assert not await gates.list_for_pull_request(books.two, SHOP.id, 1, waiting=True)


async def test_the_comment_of_a_decided_question_is_not_taken_over(books: GateDatabase) -> None:
    old = await books.run()
    gate = await gates.ask(books.one, old, request(), NOW)
    await gates.save_location(books.one, gate.id, comment_id=6)
    await gates.decide(books.one, gate.id, REJECTED, by(1))
    new = await books.run("c" * 40)
    assert (await gates.ask(books.one, new, request(), NOW)).comment_id is None


async def test_what_is_not_needed_any_more_is_void(books: GateDatabase) -> None:
    run = await books.run()
    kept, dropped = [await gates.ask(books.one, run, request(name), NOW) for name in ("one", "two")]
    closed = await gates.void(books.one, run.id, [kept.id], "settled", NOW)
    assert [gate.id for gate in closed] == [dropped.id]
    assert [await books.state(kept), await books.state(dropped)] == [GateState.waiting, VOID]


async def test_a_run_is_found_that_was_answered_and_not_told(books: GateDatabase) -> None:
    """Whoever decided may have died before the run was queued; what is void makes nobody go on."""
    run = await books.run()
    first, second = [await gates.ask(books.one, run, request(name), NOW) for name in ("one", "two")]
    await gates.void(books.one, run.id, [first.id], "settled", NOW)
    await books.waits(run)
    assert await gates.list_answered(books.one) == []
    await gates.decide(books.one, first.id, REJECTED, by(1))
    assert [(gate.id, of.id) for gate, of in await gates.list_answered(books.two)] == [(first.id, run.id)]
    await runs.move(books.one, run.id, RunState.running, NOW)
    assert await gates.list_answered(books.one) == []
    assert await books.state(second) is VOID


async def test_a_decision_repeated_by_the_same_delivery_grants_once(books: GateDatabase) -> None:
    run = await books.run()
    gate = await gates.ask(books.one, run, request("guard"), NOW)
    for _ in range(3):
        await gates.decide(books.one, gate.id, APPROVED, by(1, grants=BudgetExtension(calls=5)))
    async with books.one.transaction() as session:
        row = await session.get(BudgetRow, f"calls:{run.id}/review")
    assert row is not None
    assert row.granted == 5
    assert await reservations.close(books.one, run.id, NOW) == 0


async def test_passing_it_on_decides_nothing(books: GateDatabase) -> None:
    run = await books.run()
    gate = await gates.ask(books.one, run, request(), NOW)
    passed = await gates.delegate(books.one, gate.id, "dora", by(1))
    assert (passed.delegate, passed.state) == ("dora", GateState.waiting)
    [told] = await books.list_events(run, EventType.gate_delegated)
    assert (told["by_id"], told["to"]) == (1, "dora")


async def test_a_gate_is_named_by_its_last_characters_and_by_no_wildcard(books: GateDatabase) -> None:
    run = await books.run()
    gate = await gates.ask(books.one, run, request(), NOW)
    assert [each.id for each in await gates.find_by_short_id(books.one, gate.short_id)] == [gate.id]
    assert [each.id for each in await gates.find_by_short_id(books.one, f"G-{gate.id}")] == [gate.id]
    for wildcard in ("G-%%%%%%", "G-______", f"G-%{gate.id[-5:]}"):
        assert await gates.find_by_short_id(books.one, wildcard) == []
