"""When the turns of a phase are said to bring it no further."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.config.configuration import Configuration
from domain.events import EventType
from domain.runs.run import Phase
from memory import call_facts, ledger
from memory.db.engine import Connection, Database
from memory.runs import model_answers
from memory.runs.model_answers import RecordedToolUse
from pipeline.model_calls.guards import CallGuards
from tests.rows import active_run

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUN = active_run("01J9ZQ4T7M8K5N3P2R6S1V0WXY")


@pytest.mark.parametrize(
    ("turns", "stops"),
    [
        (["a1"], False),
        (["a1", "a2", "a3", "a4"], False),  # each saw something else
        (["a1", "b1", "c1", "d1", "b1", "c1", "a1"], True),
        (["a1", "b1", "c1", "d1", "b1", "c1", "a2"], False),
        (["a1", "b1", "c1", "b1", "c1", "d1"], False),
        (["a1", "b1", "b1", "a1"], False),
        (["a1", "b1", "b1", "a1", "b1"], True),
        (["if x:\n  y()1", "if x:\n    y()2", "if x:\n      y()1", "if x:\n        y()2"], False),
    ],
)
async def test_turns_that_do_and_see_nothing_new(database: Database, turns: list[str], stops: bool) -> None:
    """:param turns: each an action and a digit, its result; none of them goes round in a circle."""
    async with database.transaction() as session:
        ledger.record(session, RUN.id, EventType.run_started, NOW)
    for number, (*did, result) in enumerate(turns):
        action = "".join(did)
        value = {"key": f"read {number}", "text": "", "uses": [{"tool": "edit", "arguments": action}], "problem": None}
        at = NOW + timedelta(seconds=number)
        await model_answers.keep(database, RUN, f"digest {number}", value, at)
        await model_answers.record_outcome(
            database, RUN, Phase.review, f"digest {number}", [RecordedToolUse("edit", f"{result}%")], at
        )
    watch, now = CallGuards(RUN, Phase.review, Configuration()), NOW + timedelta(minutes=1)

    def find_guard(connection: Connection) -> str | None:
        asked = call_facts.bind_values(RUN, Phase.review, now, NOW, "s", "anthropic")
        refusal = watch.find_refusal(connection, call_facts.load(connection, RUN, asked, 0), now)
        return None if refusal is None else refusal.check.name

    assert await database.run_in_transaction(find_guard) == ("stagnation" if stops else None)
