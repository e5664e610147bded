"""Attempts to recover are kept once, counted over the runs of an issue, and summed up."""

from datetime import timedelta

import pytest

from domain.gates import Choice
from domain.runs.metrics import TroubleFact
from domain.runs.recovery import AgentMake, RecoveryOutcome, Strategy
from memory.db.engine import Database
from memory.db.tables.runs import RecoveryRow
from memory.reports import retention
from memory.reports.metric_facts import CountedAttempt, load_troubles, sum_up
from memory.runs import checkpoints, recoveries
from tests.rows import NOON, active_run, run_row
from tests.unit.domain.recoveries import build_attempt

RUN = active_run("run")


async def _load_outcomes(database: Database) -> list[str]:
    return [each.outcome.value for each in await recoveries.list_of_issue(database, RUN.repository.id, RUN.number)]


async def test_an_attempt_is_kept_once(database: Database) -> None:
    first, second = build_attempt(1, outcome=RecoveryOutcome.open), build_attempt(2, outcome=RecoveryOutcome.open)
    await recoveries.add(database, RUN, first, [])
    await recoveries.add(database, RUN, first.model_copy(update={"id": "another"}), [])
    assert list(await recoveries.list_of_issue(database, RUN.repository.id, RUN.number)) == [first]
    await recoveries.add(database, RUN, second, [first.id])
    assert await _load_outcomes(database) == ["hidden", "open"]
    await recoveries.mark_mended(database, "run", "implement T2")
    assert await _load_outcomes(database) == ["hidden", "open"]
    await recoveries.mark_mended(database, "run", "implement T1")
    assert await _load_outcomes(database) == ["hidden", "mended"]
    assert not await recoveries.list_of_issue(database, RUN.repository.id, 2)


async def test_what_people_answered_is_kept_once(database: Database) -> None:
    asked = build_attempt(1, strategy=None, outcome=RecoveryOutcome.escalated)
    await recoveries.add(database, RUN, asked, [])
    later = NOON + timedelta(hours=1)
    answered = await recoveries.keep_answer(database, asked, Choice.other_agent, Strategy.cause, AgentMake.other, later)
    assert (answered.answer, answered.strategy, answered.agent) == (
        Choice.other_agent,
        Strategy.cause,
        AgentMake.other,
    )
    again = await recoveries.keep_answer(database, asked, Choice.reject, None, AgentMake.own, later)
    assert again == answered
    await recoveries.add(database, RUN, build_attempt(2), [asked.id])
    assert await _load_outcomes(database) == ["escalated", "hidden"]


async def test_the_figures_of_some_time(database: Database) -> None:
    await recoveries.add(database, RUN, build_attempt(1, outcome=RecoveryOutcome.mended), [])
    async with database.transaction() as session:
        since = NOON - timedelta(hours=1)
        [trouble] = await load_troubles(session, since, [RUN.repository.id])
        assert (trouble.attempts, trouble.is_mended, trouble.is_escalated) == (1, True, False)
        assert not await load_troubles(session, NOON + timedelta(hours=1), None)
        assert not await load_troubles(session, since, [99])


def test_each_piece_of_work_counts_once() -> None:
    tried = [
        ("a", "T1", True, RecoveryOutcome.hidden),
        ("a", "T1", True, RecoveryOutcome.mended),
        ("b", "T1", True, RecoveryOutcome.escalated),
        ("b", "T1", True, RecoveryOutcome.mended),
        ("b", "T2", False, RecoveryOutcome.escalated),
        ("c", "T1", True, RecoveryOutcome.open),
    ]
    found = sum_up(CountedAttempt(run, work, NOON, made, outcome) for run, work, made, outcome in tried)
    assert found == [
        TroubleFact(NOON, 2, is_mended=True, is_escalated=False),
        TroubleFact(NOON, 2, is_mended=False, is_escalated=True),
        TroubleFact(NOON, 0, is_mended=False, is_escalated=True),
        TroubleFact(NOON, 1, is_mended=False, is_escalated=False),
    ]


@pytest.mark.parametrize(("days", "is_kept"), [(89, True), (91, False)])
async def test_they_are_kept_for_ninety_days(database: Database, days: int, is_kept: bool) -> None:
    async with database.transaction() as session:
        session.add(run_row("run", finished_at=NOON))
    await recoveries.add(database, RUN, build_attempt(1), [])
    removed = await retention.remove(database, {RUN.repository.id: 1}, NOON + timedelta(days=days))
    assert (RecoveryRow.__tablename__ in removed) is not is_kept


async def test_they_go_with_their_repository(database: Database) -> None:
    async with database.transaction() as session:
        session.add(run_row("run"))
    await recoveries.add(database, RUN, build_attempt(1), [])
    await checkpoints.purge(database, [RUN.repository.id])
    assert not await recoveries.list_of_issue(database, RUN.repository.id, RUN.number)
