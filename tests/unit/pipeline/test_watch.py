"""When the turns of a phase are said to bring it no further."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from domain.configuration import Configuration
from domain.events import EventType
from domain.runs import Phase
from memory import answers, history, ledger, totals
from memory.database import Connection, Database
from pipeline.services import Services
from pipeline.watch import Watch
from tests.rows import working

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUN = working("01J9ZQ4T7M8K5N3P2R6S1V0WXY")


@pytest.mark.parametrize(
    ("actions", "stops"),
    [
        (["a"], False),
        (["a", "a", "a"], False),  # the first of them was new
        (["a", "a", "a", "a"], True),
        (["a", "b", "c", "d", "b", "c", "a"], True),
        (["a", "b", "c", "b", "c", "d"], False),
        (["if x:\n  y()", "if x:\n    y()", "if x:\n      y()", "if x:\n        y()"], False),
    ],
)
async def test_turns_that_do_nothing_new(database: Database, actions: list[str], stops: bool) -> None:
    """Each gets another result, so that none of it is a loop."""
    async with database.transaction() as session:
        ledger.tell(session, RUN.id, EventType.run_started, NOW)
    for number, action in enumerate(actions):
        value = {"key": f"read {number}", "text": "", "uses": [{"tool": "edit", "arguments": action}], "problem": None}
        at = NOW + timedelta(seconds=number)
        await answers.keep(database, RUN, f"digest {number}", value, at)
        await answers.acted(database, RUN, Phase.review, f"digest {number}", ["edit"], [(f"{number}%", False)], at)
    watch, now = Watch(cast(Services, None), RUN, Phase.review, Configuration()), NOW + timedelta(minutes=1)

    def stopped(connection: Connection) -> str | None:
        asked = totals.of_call(RUN, Phase.review, now, "s", "anthropic") | totals.since(NOW, "anthropic")
        refusal = watch.stopped(connection, history.of_run(connection, RUN, asked, 0), now)
        return None if refusal is None else refusal.check.name

    assert await database.at_once(stopped) == ("stagnation" if stops else None)
