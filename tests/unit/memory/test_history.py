"""What breakers and guards are told of a run in one look, on both databases."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from domain.events import EventType
from domain.runs.run import Phase
from memory import call_facts, ledger
from memory.call_facts import RunCallFacts
from memory.db.engine import Connection, Database
from memory.db.tables.runs import AnswerRow
from memory.runs import model_answers
from memory.runs.model_answers import RecordedToolUse
from safety.breakers import RunTransition
from safety.guards import Iteration, to_step
from tests.rows import active_run

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RUN = active_run("01J9ZQ4T7M8K5N3P2R6S1V0WXY")
READ: dict[str, Any] = {
    "key": "read 1",
    "text": "I read.",
    "uses": [{"tool": "read_file", "arguments": {"path": "a.py"}}],
    "problem": None,
}
SEEN = to_step(Iteration("I read.", "read_file {'path': 'a.py'}", "total = 1"))


async def load_history(database: Database) -> RunCallFacts:
    asked = call_facts.bind_values(RUN, Phase.review, NOW, NOW - MINUTE, "s", "anthropic")

    def look(connection: Connection) -> RunCallFacts:
        return call_facts.load(connection, RUN, asked, 7)

    return await database.run_in_transaction(look)


async def read(database: Database) -> None:
    """An answer that was acted on."""
    await model_answers.keep(database, RUN, "digest", READ, NOW)
    await model_answers.record_outcome(
        database, RUN, Phase.review, "digest", [RecordedToolUse("read_file", "total = 1")], NOW
    )


async def test_of_a_run_of_which_nothing_is_known(database: Database) -> None:
    found = await load_history(database)
    assert (found.gates, found.turns, found.moves, found.calls) == ((), [], [], [])
    assert (found.sums.permit, found.sums.gates, found.sums.calls, found.sums.open) == ((False, False, None), 0, 0, 0)
    assert found.sums.totals.model_dump() == {"phase": 0, "run": 0, "day": 0, "installation": 7}


async def test_of_one_that_began_and_answered(database: Database) -> None:
    async with database.transaction() as session:
        ledger.record(session, RUN.id, EventType.run_started, NOW)
    await read(database)
    await model_answers.keep(database, RUN, "tokens", {"held": []}, NOW)  # which no step asked a model for
    found = await load_history(database)
    assert found.moves == [RunTransition(NOW, running=True)]
    assert [(each.question, each.key, each.step, each.at) for each in found.turns] == [("digest", "read 1", SEEN, NOW)]


async def test_of_one_that_came_through_phases(database: Database) -> None:
    told = [
        (EventType.run_started, None),
        (EventType.phase_entered, Phase.planning),
        (EventType.run_waiting, None),
        (EventType.run_resumed, None),
        (EventType.phase_completed, Phase.planning),
        (EventType.run_admitted, None),
    ]
    async with database.transaction() as session:
        for minute, (kind, phase) in enumerate(told):
            ledger.record(session, RUN.id, kind, NOW + minute * MINUTE, phase=phase)
    plan = Phase.planning
    running = [(True, None), (True, plan), (False, plan), (True, plan), (True, None)]
    assert (await load_history(database)).moves == [
        RunTransition(NOW + n * MINUTE, *each) for n, each in enumerate(running)
    ]


async def test_what_is_kept_beside_an_answer_is_what_it_came_to(database: Database) -> None:
    await read(database)
    value = await model_answers.find(database, RUN, "digest")
    assert value is not None
    assert value == {**READ, "results": ["total = 1"], "errors": [False], "wrong": []}
    (kept,) = await database.run_in_transaction(lambda connection: model_answers.load_turns(connection, RUN.id))
    assert kept.step == to_step(model_answers.to_iteration("digest", value)) == SEEN


async def test_an_answer_of_another_version_is_seen(database: Database) -> None:
    """Of one that kept more beside it, and less."""
    await read(database)
    turn = {"key": "read 1", "step": {"did": SEEN.did, "mood": "good"}}
    async with database.transaction() as session:
        await session.execute(update(AnswerRow).values(turn=turn))
        assert await session.scalar(select(AnswerRow.turn)) == turn
    (seen,) = (await load_history(database)).turns
    assert (seen.key, seen.step.did) == ("read 1", SEEN.did)
