"""What breakers and guards are told of a run in one look, on both databases."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from domain.events import EventType
from domain.runs.run import Phase
from memory.budgets import model_answers, totals
from memory.budgets.model_answers import Used
from memory.db.engine import Connection, Database
from memory.db.tables import AnswerRow
from memory.ledger import ledger
from memory.reservations import call_facts
from memory.reservations.call_facts import History
from safety.breakers import Move
from safety.loop_detection import Iteration, step
from tests.rows import working

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RUN = working("01J9ZQ4T7M8K5N3P2R6S1V0WXY")
READ: dict[str, Any] = {
    "key": "read 1",
    "text": "I read.",
    "uses": [{"tool": "read_file", "arguments": {"path": "a.py"}}],
    "problem": None,
}
SEEN = step(Iteration("I read.", "read_file {'path': 'a.py'}", "total = 1"))


async def of(database: Database) -> History:
    asked = totals.of_call(RUN, Phase.review, NOW, "s", "anthropic") | totals.since(NOW - MINUTE, "anthropic")

    def look(connection: Connection) -> History:
        return call_facts.of_run(connection, RUN, asked, 7)

    return await database.at_once(look)


async def read(database: Database) -> None:
    """An answer that was acted on."""
    await model_answers.keep(database, RUN, "digest", READ, NOW)
    await model_answers.acted(database, RUN, Phase.review, "digest", [Used("read_file", "total = 1")], NOW)


async def test_of_a_run_of_which_nothing_is_known(database: Database) -> None:
    found = await of(database)
    assert (found.gates, found.turns, found.moves, found.calls) == ((), [], [], [])
    assert (found.sums.standing, found.sums.gates, found.sums.calls, found.sums.open) == ((False, False, None), 0, 0, 0)
    assert found.sums.totals.model_dump() == {"phase": 0, "run": 0, "day": 0, "installation": 7}


async def test_of_one_that_began_and_answered(database: Database) -> None:
    async with database.transaction() as session:
        ledger.tell(session, RUN.id, EventType.run_started, NOW)
    await read(database)
    await model_answers.keep(database, RUN, "tokens", {"held": []}, NOW)  # which no step asked a model for
    found = await of(database)
    assert found.moves == [Move(NOW, running=True)]
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
            ledger.tell(session, RUN.id, kind, NOW + minute * MINUTE, phase=phase)
    plan = Phase.planning
    running = [(True, None), (True, plan), (False, plan), (True, plan), (True, None)]
    assert (await of(database)).moves == [Move(NOW + n * MINUTE, *each) for n, each in enumerate(running)]


async def test_what_is_kept_beside_an_answer_is_what_it_came_to(database: Database) -> None:
    await read(database)
    value = await model_answers.find(database, RUN, "digest")
    assert value is not None
    assert value == {**READ, "results": ["total = 1"], "errors": [False], "wrong": []}
    (kept,) = await database.at_once(lambda connection: model_answers.of_run(connection, RUN.id))
    assert kept.step == step(model_answers.iteration("digest", value)) == SEEN


async def test_an_answer_of_another_version_is_seen(database: Database) -> None:
    """Of one that kept nothing beside it, and of one that kept more, and less."""
    await read(database)
    for turn in (None, {"key": "read 1", "step": {"did": SEEN.did, "mood": "good"}}):
        async with database.transaction() as session:
            await session.execute(update(AnswerRow).values(turn=turn))
            assert await session.scalar(select(AnswerRow.turn)) == turn
        (seen,) = (await of(database)).turns
        assert (seen.key, seen.step.did) == ("read 1", SEEN.did)
