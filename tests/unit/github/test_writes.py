"""Writes: one at a time, what is awaited first, no faster than GitHub wants, never repeated (T-G1)."""

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from datetime import datetime, timedelta

import httpx
import pytest

from domain.errors import LeftOut, NotFound, RateLimited, Unavailable, Unprocessable
from domain.github.pull_requests import DraftReview, InlineComment
from github.pacing import Write, WriteBudget, WriteLanes
from safety.github_limits import (
    CONTENT_BURST,
    CONTENT_INTERVAL,
    Importance,
    WritesSpent,
    use_importance,
)
from tests.unit.github.kit import API, BEGAN, HEAD, OTHER_INSTALLATION, REPO, Kit, MovableClock, in_turn

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


def record_starts(kit: Kit, path: str = REVIEWS, takes: float = 0.25) -> list[float]:
    """When each write to this path began, in seconds from now; each takes some time."""
    starts: list[float] = []
    began = kit.clock.now().timestamp()

    def answer(_request: httpx.Request) -> httpx.Response:
        starts.append(round(kit.clock.now().timestamp() - began, 3))
        kit.clock.advance(takes)
        return httpx.Response(200, json={"id": 1})

    kit.github.post(path).mock(side_effect=answer)
    return starts


async def test_writes_come_in_a_burst_and_then_at_the_steady_rate(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    starts = record_starts(kit, takes=0)
    await asyncio.gather(*(kit.host.create_review(REPO, 1, REVIEW) for _ in range(25)))
    assert starts == [0.0] * 20 + [1.0, 2.0, 3.0, 4.0, 5.0]
    kit.clock.advance(3)  # three more are there
    starts.clear()
    await asyncio.gather(*(kit.host.create_review(REPO, 1, REVIEW) for _ in range(5)))
    assert starts == [8.0, 8.0, 8.0, 9.0, 10.0]


async def test_another_process_has_the_same_budget(lasting: Kit) -> None:
    lasting.write_interval_s = 1.0
    lasting.restart()
    other = lasting.host
    lasting.restart()
    starts = record_starts(lasting, takes=0)
    for host in (other, lasting.host) * 11:
        await host.create_review(REPO, 1, REVIEW)
    assert starts == [0.0] * 20 + [1.0, 2.0]
    await other.aclose()


async def test_what_is_awaited_goes_first_and_what_informs_is_left_out(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    done: list[str] = []

    async def write(what: str, importance: Importance) -> None:
        with use_importance(importance):
            try:
                await kit.host.create_review(REPO, 1, REVIEW)
            except LeftOut:
                what += " left out"
        done.append(what)

    record_starts(kit, takes=0)
    kinds = (("tidied", Importance.tidying), ("shown", Importance.informing), ("answered", Importance.awaited))
    await asyncio.gather(*(write(*kinds[2]) for _ in range(20)))
    done.clear()
    await asyncio.gather(*(write(*kind) for kind in kinds))
    assert [each for each in done if each != "shown left out"] == ["answered", "tidied"]
    assert len(done) == 3


async def test_a_flood_in_one_repository_does_not_keep_another_waiting(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    flood = record_starts(kit, takes=0)
    await asyncio.gather(*(kit.host.create_review(REPO, 1, REVIEW) for _ in range(20)))
    flooding = [asyncio.create_task(kit.host.create_review(REPO, 1, REVIEW)) for _ in range(12)]
    await asyncio.sleep(0)
    other = record_starts(kit, "/repos/acme/quiet/pulls/1/reviews", takes=0)
    await kit.host.create_review(REPO.model_copy(update={"name": "quiet"}), 1, REVIEW)
    assert other == [1.0] or other == [2.0]
    await asyncio.gather(*flooding)
    assert len(flood) == 32


async def test_a_flood_of_mutations_does_not_keep_another_repository_waiting(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    record_starts(kit, takes=0)
    await asyncio.gather(*(kit.host.create_review(REPO, 1, REVIEW) for _ in range(20)))
    order: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        order.append(json.loads(request.content)["variables"]["thread"])
        return httpx.Response(200, json={"data": {}})

    kit.github.post("/graphql").mock(side_effect=answer)
    flood = [kit.host.resolve_thread(REPO, f"noisy {number}") for number in range(12)]
    await asyncio.gather(*flood, kit.host.resolve_thread(REPO.model_copy(update={"name": "quiet"}), "quiet"))
    assert "quiet" in order[:2]


async def test_who_would_wait_for_long_comes_again_later(kit: Kit) -> None:
    """It must not keep one of the places for work meanwhile."""
    kit.write_interval_s = 1.0
    kit.restart()
    starts = record_starts(kit, takes=0)
    writes = [kit.host.create_review(REPO, 1, REVIEW) for _ in range(60)]
    ended = await asyncio.gather(*writes, return_exceptions=True)
    late = [each for each in ended if isinstance(each, RateLimited)]
    assert (len(starts), len(late)) == (35, 25)
    assert all(each.until > kit.clock.now() for each in late)


async def test_an_hour_has_no_more_content_than_github_allows(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    starts = record_starts(kit, takes=0)
    while kit.clock.now() < BEGAN + timedelta(hours=1):
        try:
            await kit.host.create_review(REPO, 1, REVIEW)
        except RateLimited as limit:
            kit.clock.advance((limit.until - kit.clock.now()).total_seconds())
    assert 490 <= len(starts) <= 500


class Days:
    """A clock that moves to the next moment somebody sleeps for once nobody has anything else to do."""

    def __init__(self) -> None:
        self.clock = MovableClock()
        self._asleep: list[tuple[datetime, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._asleep.append((self.clock.now() + timedelta(seconds=seconds), woken))
        await woken.wait()

    async def pass_until_done(self, *work: Coroutine[object, object, None]) -> None:
        tasks = [asyncio.create_task(each) for each in work]
        while not all(task.done() for task in tasks):
            for _ in range(100):
                await asyncio.sleep(0)
            if self._asleep:
                next_up = min(self._asleep, key=lambda each: each[0])
                self._asleep.remove(next_up)
                self.clock.at = max(self.clock.at, next_up[0])
                next_up[1].set()
        await asyncio.gather(*tasks)


class Writers:
    """Writes of one installation whose content of the hour is used up; each comes back when it is told to."""

    def __init__(self) -> None:
        self.days = Days()
        self._lanes = WriteLanes(1.0, self.days.clock, self.days.sleep, UsedUp(self.days.clock))
        self.at: dict[str, float] = {}
        self.attempts: Counter[str] = Counter()

    async def write(self, what: str, method: str, path: str) -> None:
        while True:
            self.attempts[what] += 1
            try:
                async with self._lanes.turn(7, Write.to(method, path)):
                    self.at[what] = (self.days.clock.now() - BEGAN).total_seconds()
                    return
            except RateLimited as limit:
                await self.days.sleep((limit.until - self.days.clock.now()).total_seconds())


class UsedUp(WriteBudget):
    """A budget of which the hour's content was used up at the beginning."""

    def __init__(self, clock: MovableClock) -> None:
        super().__init__(clock, None)
        self._spent[7] = WritesSpent(BEGAN, BEGAN + CONTENT_INTERVAL * CONTENT_BURST)


async def test_who_waits_for_the_hours_content_is_in_nobodys_way() -> None:
    writers = Writers()
    comments = [writers.write(f"comment {number}", "POST", "repos/o/noisy/issues/1/comments") for number in range(5)]
    checks = [writers.write(where, "PATCH", f"repos/o/{where}/check-runs/5") for where in ("noisy", "quiet")]
    await writers.days.pass_until_done(*comments, *checks)
    assert (writers.at["noisy"], writers.at["quiet"]) == (0.0, 0.0)
    assert sorted(writers.at[f"comment {number}"] for number in range(5)) == [10.0, 20.0, 30.0, 40.0, 50.0]


async def test_who_comes_again_later_comes_when_there_is_a_turn() -> None:
    """Each attempt of a workflow replays what it did before."""
    writers = Writers()
    comments = [writers.write(f"comment {number}", "POST", "repos/o/noisy/issues/1/comments") for number in range(30)]
    await writers.days.pass_until_done(*comments)
    assert max(writers.at.values()) == 300.0
    assert max(writers.attempts.values()) <= 2


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
    assert b"Two remarks" in kit.list_requests(moved)[0].content


async def test_a_write_is_never_turned_into_a_read(kit: Kit) -> None:
    kit.github.post(REVIEWS).respond(301, headers={"location": f"{API}/repositories/99/pulls/1/reviews"})
    with pytest.raises(NotFound, match="renamed or transferred"):
        await kit.host.create_review(REPO, 1, REVIEW)
    assert kit.count_requests() == 1


async def test_a_refused_position_is_told_in_githubs_words(kit: Kit) -> None:
    errors = [
        "Pull request review thread line must be part of the diff",
        {"resource": "X", "field": "path", "code": "invalid"},
    ]
    kit.github.post(REVIEWS).respond(422, json={"message": "Unprocessable Entity", "errors": errors})
    with pytest.raises(Unprocessable, match=r"line must be part of the diff; X\.path invalid"):
        await kit.host.create_review(REPO, 1, REVIEW)
