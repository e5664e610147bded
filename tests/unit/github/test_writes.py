"""Writes: one at a time, with distance, never repeated (T-G1)."""

import asyncio

import httpx
import pytest

from domain.errors import NotFound, RateLimited, Unavailable, Unprocessable
from domain.pulls import DraftReview, InlineComment
from tests.unit.github.kit import API, HEAD, OTHER_INSTALLATION, REPO, Kit, in_turn

REVIEWS = "/repos/acme/app/pulls/1/reviews"
REVIEW = DraftReview(
    head_sha=HEAD,
    body="Two remarks",
    comments=(
        InlineComment(path="a.py", start_line=3, line=3, body="one line"),
        InlineComment(path="a.py", start_line=3, line=5, body="a range"),
    ),
)


@pytest.mark.parametrize(
    "fault", [httpx.Response(502), httpx.ReadTimeout("slow"), httpx.ReadError("reset"), httpx.Response(200)]
)
async def test_a_write_is_never_repeated(kit: Kit, fault: httpx.Response | Exception) -> None:
    route = kit.github.post(REVIEWS).mock(side_effect=in_turn(fault))
    with pytest.raises(Unavailable):
        await kit.host.create_review(REPO, 1, REVIEW)
    assert route.call_count == 1


async def test_writes_of_an_installation_keep_their_distance(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    starts: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        starts.append(kit.clock.now().timestamp())
        kit.clock.advance(0.25)
        return httpx.Response(200, json={"id": 1})

    kit.github.post(REVIEWS).mock(side_effect=answer)
    began = kit.clock.now().timestamp()
    await asyncio.gather(*(kit.host.create_review(REPO, 1, REVIEW) for _ in range(3)))
    assert [start - began for start in starts] == [0.0, 1.0, 2.0]


async def test_writes_of_an_installation_are_one_at_a_time_and_installations_independent(kit: Kit) -> None:
    under_way: dict[str, int] = {}
    together = 0

    async def slow(request: httpx.Request) -> httpx.Response:
        nonlocal together
        who = request.headers["authorization"]
        under_way[who] = under_way.get(who, 0) + 1
        assert under_way[who] == 1
        together = max(together, sum(under_way.values()))
        await asyncio.sleep(0.01)
        under_way[who] -= 1
        return httpx.Response(200, json={"id": 1})

    kit.github.post(REVIEWS).mock(side_effect=slow)
    both = [kit.host.create_review(repository, 1, REVIEW) for repository in (REPO, OTHER_INSTALLATION) * 4]
    await asyncio.gather(*both)
    assert together == 2
    assert kit.sleeps.seconds == []  # an interval of 0 disables the pauses


async def test_writes_in_the_queue_are_not_sent_after_a_limit(kit: Kit) -> None:
    route = kit.github.post(REVIEWS).respond(403, headers={"retry-after": "60"})
    results = await asyncio.gather(*(kit.host.create_review(REPO, 1, REVIEW) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, RateLimited) for result in results)
    assert route.call_count == 1


async def test_a_write_while_blocked_does_not_wait_for_its_turn(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    kit.github.post(REVIEWS).respond(403, headers={"retry-after": "60"})
    for _ in range(3):
        with pytest.raises(RateLimited):
            await kit.host.create_review(REPO, 1, REVIEW)
    assert kit.sleeps.seconds == []


async def test_a_renamed_repository_gets_the_same_write(kit: Kit) -> None:
    kit.github.post(REVIEWS).respond(307, headers={"location": f"{API}/repositories/99/pulls/1/reviews"})
    moved = kit.github.post("/repositories/99/pulls/1/reviews").respond(json={"id": 4})
    assert await kit.host.create_review(REPO, 1, REVIEW) == 4
    assert b"Two remarks" in kit.sent(moved)[0].content


async def test_a_write_is_never_turned_into_a_read(kit: Kit) -> None:
    kit.github.post(REVIEWS).respond(301, headers={"location": f"{API}/repositories/99/pulls/1/reviews"})
    with pytest.raises(NotFound, match="renamed or transferred"):
        await kit.host.create_review(REPO, 1, REVIEW)
    assert kit.count() == 1


async def test_a_refused_position_is_told_in_githubs_words(kit: Kit) -> None:
    errors = [
        "Pull request review thread line must be part of the diff",
        {"resource": "X", "field": "path", "code": "invalid"},
    ]
    kit.github.post(REVIEWS).respond(422, json={"message": "Unprocessable Entity", "errors": errors})
    with pytest.raises(Unprocessable, match=r"line must be part of the diff; X\.path invalid"):
        await kit.host.create_review(REPO, 1, REVIEW)
