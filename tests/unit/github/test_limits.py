"""Rate limits: a durable wait and no hammering (T-G2)."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from domain.errors import Forbidden, RateLimited
from github.limits import Limit, find_limit, next_block, next_wait
from github.transport import Answer
from memory.db.engine import Database
from memory.process import rate_limits
from memory.process.rate_limits import RateLimitPause
from tests.unit.github.kit import OTHER_INSTALLATION, REPO, Kit, in_turn, pull

PULL = "/repos/acme/app/pulls/1"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDARY = httpx.Response(403, json={"message": "You have exceeded a secondary rate limit."})


async def _get_wait(kit: Kit) -> float:
    with pytest.raises(RateLimited) as caught:
        await kit.host.pull_request(REPO, 1)
    return (caught.value.until - kit.clock.now()).total_seconds()


@pytest.mark.parametrize("status", [403, 429])
async def test_primary_limit_waits_for_its_reset(kit: Kit, status: int) -> None:
    reset = int(kit.clock.now().timestamp()) + 1800
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
    kit.github.get(PULL).respond(status, json={"message": "API rate limit exceeded"}, headers=headers)
    assert await _get_wait(kit) == 1800


async def test_secondary_limit_waits_as_told(kit: Kit) -> None:
    kit.github.get(PULL).respond(403, json={"message": "slow down"}, headers={"retry-after": "3600"})
    assert await _get_wait(kit) == 3600


async def test_secondary_limit_does_not_wait_for_the_reset_of_a_budget_that_is_not_spent(kit: Kit) -> None:
    reset = int(kit.clock.now().timestamp()) + 3000
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4000", "x-ratelimit-reset": str(reset)}
    kit.github.get(PULL).respond(429, headers=headers)
    assert await _get_wait(kit) == 60


async def test_nothing_is_sent_while_blocked_and_work_goes_on_afterwards(kit: Kit) -> None:
    route = kit.github.get(PULL).mock(side_effect=in_turn(SECONDARY, httpx.Response(200, json=pull())))
    await _get_wait(kit)
    for _ in range(10):
        await _get_wait(kit)
        kit.clock.advance(5.9)
    assert route.call_count == 1
    kit.clock.advance(1)
    assert (await kit.host.pull_request(REPO, 1)).number == 1


async def test_the_block_survives_a_restart(lasting: Kit) -> None:
    route = lasting.github.get(PULL).mock(return_value=SECONDARY)
    await _get_wait(lasting)
    lasting.restart()
    assert await _get_wait(lasting) == 60
    assert route.call_count == 1
    assert len(lasting.tokens) == 1 + 1  # the App itself is not blocked


async def test_a_block_by_another_process_is_seen(lasting: Kit, database: Database) -> None:
    route = lasting.github.get(PULL).respond(json=pull())
    await lasting.host.pull_request(REPO, 1)
    elsewhere = RateLimitPause(lasting.clock.now() + timedelta(minutes=9), "elsewhere", 1)
    await rate_limits.remember(database, REPO.installation_id, elsewhere)
    lasting.clock.advance(5)
    assert await _get_wait(lasting) == 9 * 60 - 5
    assert route.call_count == 1


async def test_other_installations_go_on(kit: Kit) -> None:
    kit.github.get(PULL).mock(side_effect=in_turn(SECONDARY, httpx.Response(200, json=pull())))
    await _get_wait(kit)
    assert (await kit.host.pull_request(OTHER_INSTALLATION, 1)).number == 1


async def test_the_wait_grows_with_every_limit_in_a_row_also_over_a_restart(lasting: Kit) -> None:
    lasting.github.get(PULL).mock(return_value=SECONDARY)
    waits: list[float] = []
    for _ in range(4):
        waits.append(await _get_wait(lasting))
        lasting.clock.advance(waits[-1] + 1)
        lasting.restart()
    assert waits == [60, 120, 240, 480]
    lasting.clock.advance(3700)
    assert await _get_wait(lasting) == 60


async def test_a_process_without_a_database_counts_its_own_limits_in_a_row(kit: Kit) -> None:
    kit.github.get(PULL).mock(return_value=SECONDARY)
    waits: list[float] = []
    for _ in range(3):
        waits.append(await _get_wait(kit))
        kit.clock.advance(waits[-1] + 1)
    assert waits == [60, 120, 240]


async def test_limits_named_to_requests_under_way_are_one_limit(lasting: Kit, database: Database) -> None:
    lasting.github.get(PULL).mock(return_value=SECONDARY)
    results = await asyncio.gather(*(lasting.host.pull_request(REPO, 1) for _ in range(10)), return_exceptions=True)
    assert all(isinstance(result, RateLimited) for result in results)
    block = await rate_limits.get_latest(database, REPO.installation_id)
    assert block is not None
    assert (block.streak, block.until) == (1, lasting.clock.now() + timedelta(seconds=60))


async def test_a_limit_on_the_app_itself_stops_tokens_for_all(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull())
    kit.token_route.mock(side_effect=None, return_value=httpx.Response(429, headers={"retry-after": "30"}))
    await _get_wait(kit)
    with pytest.raises(RateLimited):
        await kit.host.pull_request(OTHER_INSTALLATION, 1)
    assert kit.token_route.call_count == 1


async def test_a_plain_403_is_no_limit(kit: Kit) -> None:
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4000", "x-ratelimit-reset": "99999999999"}
    message = "Resource not accessible by integration"
    kit.github.get(PULL).respond(403, json={"message": message}, headers=headers)
    with pytest.raises(Forbidden, match=message):
        await kit.host.pull_request(REPO, 1)


@pytest.mark.parametrize(
    ("errors", "is_limit"),
    [
        ([{"resource": "PullRequestReview", "code": "abuse"}], True),
        (["was submitted too quickly"], True),
        ([{"resource": "PullRequestReview", "field": "path", "code": "invalid"}], False),
        (["Pull request review thread line must be part of the diff"], False),
        ([{"code": 7}, None, "abuse"], False),
        ("abuse", False),
    ],
)
def test_a_422_for_too_much_content_is_a_limit(errors: object, is_limit: bool) -> None:
    body = json.dumps({"message": "Validation Failed", "errors": errors}).encode()
    assert (find_limit(Answer(422, {}, body), NOW) is not None) == is_limit


async def test_reads_slow_down_when_few_requests_remain(kit: Kit) -> None:
    reset = int(kit.clock.now().timestamp()) + 600
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "400", "x-ratelimit-reset": str(reset)}
    kit.github.get(PULL).respond(json=pull(), headers=headers)
    await kit.host.pull_request(REPO, 1)
    assert kit.sleeps.seconds == []
    await kit.host.pull_request(REPO, 1)
    assert kit.sleeps.seconds == [1.5]


@pytest.mark.parametrize("value", ["0", "-5", "soon", "9" * 30, ""])
def test_a_senseless_retry_after_still_means_a_wait(value: str) -> None:
    limit = find_limit(Answer(429, {"retry-after": value}, b""), NOW)
    assert limit is not None
    block = next_block(limit, None, NOW)
    assert timedelta(seconds=60) <= block.until - NOW <= timedelta(hours=24)


def test_retry_after_may_be_a_date() -> None:
    limit = find_limit(Answer(403, {"retry-after": "Sun, 01 Mar 2026 12:10:00 GMT"}, b""), NOW)
    assert limit == Limit("Forbidden", NOW + timedelta(minutes=10))


def test_a_reset_that_has_passed_by_our_clock_still_means_a_wait() -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp()) - 100)}
    limit = find_limit(Answer(403, headers, b'{"message": "API rate limit exceeded"}'), NOW)
    assert limit is not None
    assert next_block(limit, None, NOW).until == NOW + timedelta(seconds=60)


def test_a_later_block_is_never_shortened() -> None:
    long = RateLimitPause(NOW + timedelta(hours=1), "x", 2)
    assert next_block(Limit("y", NOW + timedelta(seconds=5)), long, NOW) == RateLimitPause(long.until, "y", 2)


def test_own_wait_ends_at_an_hour() -> None:
    assert [next_wait(streak).total_seconds() for streak in (1, 2, 6, 7, 10_000)] == [60, 120, 1920, 3600, 3600]
