"""Problems are counted, not collected, on both databases; tokens are kept as digests, and removed when they are old."""

import asyncio
from datetime import timedelta

import pytest

from domain.deployments.problems import MOST_ISSUES, MOST_OPEN, ErrorReport
from memory.db.engine import Database
from memory.deployments import feedback_tokens, problems
from memory.deployments.problems import RecordedReport, TooManyProblems
from memory.reports import retention
from tests.rows import NOON
from tests.unit.memories.records import SHOP


def _error(number: int = 0, **more: object) -> ErrorReport:
    stack = f"Error: no\n    at f{'x' * number} (/srv/app/cart.js:1:1)"
    values = {"environment": "production", "stack": stack, "frequency": 2, "first_seen": NOON, "affected_users": 1}
    return ErrorReport.model_validate({**values, **more})


async def _record(database: Database, report: ErrorReport, after: timedelta = timedelta()) -> RecordedReport:
    return await database.run_in_transaction(
        lambda connection: problems.record_report(connection, SHOP.id, report, NOON + after)
    )


async def test_a_report_adds_to_the_counters_of_its_problem(database: Database) -> None:
    first = await _record(database, _error())
    second = await _record(database, _error(environment="staging", affected_users=7), timedelta(minutes=1))
    assert (first.is_repeated, first.is_due) == (False, True)
    assert (second.is_repeated, second.is_due) == (True, False)  # one workflow is on its way already
    [problem] = await problems.list_latest(database, SHOP.id)
    assert (problem.reports, problem.occurrences, problem.affected_users) == (2, 4, 7)
    assert {name: seen.count for name, seen in problem.environments.items()} == {"production": 2, "staging": 2}
    assert await problems.begin(database, problem.id) == problem
    assert (await _record(database, _error(), timedelta(minutes=2))).is_due
    assert (await _record(database, _error(), timedelta(hours=2))).is_due  # the one before seems to be lost


async def test_a_flood_of_different_problems_ends(database: Database) -> None:
    for number in range(MOST_OPEN):
        await _record(database, _error(number))
    with pytest.raises(TooManyProblems):
        await _record(database, _error(MOST_OPEN))
    assert len(await problems.list_latest(database, SHOP.id, 1_000)) == MOST_OPEN
    assert (await _record(database, _error(3))).is_repeated
    later = timedelta(days=1, minutes=1)  # those without an issue, which were not seen since, give way
    await _record(database, _error(MOST_OPEN), later)
    assert len(await problems.list_latest(database, SHOP.id, 1_000)) == 1


async def test_one_environment_more_than_are_counted_apart_adds_to_the_sum(database: Database) -> None:
    for number in range(problems.MOST_ENVIRONMENTS + 1):
        await _record(database, _error(environment=f"e{number}"))
    [problem] = await problems.list_latest(database, SHOP.id)
    assert len(problem.environments) == problems.MOST_ENVIRONMENTS
    assert problem.occurrences == 2 * (problems.MOST_ENVIRONMENTS + 1)


async def test_an_issue_is_kept_once(database: Database) -> None:
    await _record(database, _error())
    [problem] = await problems.list_latest(database, SHOP.id)
    for number in (5, 6):
        await problems.keep_issue(database, problem, number, "trace", NOON)
    [kept] = await problems.list_latest(database, SHOP.id)
    assert (kept.issue, kept.opened) == (5, 1)


async def test_of_problems_told_at_the_same_time_no_more_than_the_limit_get_an_issue(database: Database) -> None:
    for number in range(MOST_ISSUES + 2):
        await _record(database, _error(number))
    ids = [each.id for each in await problems.list_latest(database, SHOP.id)]

    async def reserve(later: timedelta) -> list[bool]:
        return await asyncio.gather(*(problems.reserve_issue(database, each, SHOP.id, NOON + later) for each in ids))

    first = await reserve(timedelta())
    assert sum(first) == MOST_ISSUES
    assert await reserve(timedelta(hours=1)) == first  # a step that is repeated counts nothing twice
    assert sum(await reserve(timedelta(hours=26))) == MOST_ISSUES


async def test_a_token_is_known_by_its_digest(database: Database) -> None:
    made, token = await feedback_tokens.create(database, SHOP, "monitoring", "operator", NOON)

    async def authenticate(text: str) -> str | None:
        found = await database.run_in_transaction(lambda c: feedback_tokens.authenticate(c, text))
        return None if found is None else found.id

    assert await authenticate(token) == made.id
    assert await authenticate(token[:-1] + ("x" if token[-1] != "x" else "y")) is None
    assert await authenticate("") is None
    assert await feedback_tokens.revoke(database, made.id, "operator", NOON)
    assert not await feedback_tokens.revoke(database, made.id, "operator", NOON)
    assert await authenticate(token) is None


async def test_what_is_old_is_removed(database: Database) -> None:
    await _record(database, _error())
    made, _ = await feedback_tokens.create(database, SHOP, "old", "operator", NOON)
    await feedback_tokens.revoke(database, made.id, "operator", NOON)
    kept, _ = await feedback_tokens.create(database, SHOP, "new", "operator", NOON)
    age = timedelta(days=retention.USUAL_DAYS)
    await retention.remove_problems(database, {}, NOON + age - timedelta(days=1))
    assert len(await feedback_tokens.list_tokens(database)) == 2
    removed = await retention.remove_problems(database, {}, NOON + age + timedelta(days=1))
    assert (removed["problems"], removed["feedback_tokens"]) == (1, 1)
    assert [each.id for each in await feedback_tokens.list_tokens(database)] == [kept.id]


async def test_a_repository_may_keep_it_for_another_time(database: Database) -> None:
    await _record(database, _error())
    assert await retention.remove_problems(database, {SHOP.id: 7}, NOON + timedelta(days=6)) == {}
    assert await retention.remove_problems(database, {SHOP.id + 1: 7}, NOON + timedelta(days=8)) == {}
    assert await retention.remove_problems(database, {SHOP.id: 7}, NOON + timedelta(days=8)) == {"problems": 1}
