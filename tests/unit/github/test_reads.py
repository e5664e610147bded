"""Reads: repeated by error class, redirected within GitHub only, cached per installation (T-G1, T-G6, T-X5)."""

import asyncio

import httpx
import pytest

from domain.errors import CodeHostError, NotFound, Unavailable, Unprocessable
from github.client import EtagCache
from github.transport import Answer
from tests.unit.github.kit import API, OTHER_INSTALLATION, REPO, Kit, in_turn, pull

PULL = "/repos/acme/app/pulls/1"
GOOD = httpx.Response(200, json=pull())


@pytest.mark.parametrize(
    "fault",
    [
        httpx.Response(500),
        httpx.Response(502, html="<html>Unicorn!</html>"),
        httpx.Response(503),
        httpx.ReadTimeout("slow"),
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
        httpx.Response(200, content=b'{"number": 1, "ti', headers={"content-type": "application/json"}),
        httpx.Response(200, html="<html>Sign in to the proxy</html>"),
        httpx.Response(200),
    ],
    ids=lambda fault: type(fault).__name__ if isinstance(fault, Exception) else str(fault),
)
async def test_a_passing_fault_is_repeated_at_most_twice(kit: Kit, fault: httpx.Response | Exception) -> None:
    route = kit.github.get(PULL).mock(side_effect=in_turn(fault))
    with pytest.raises(Unavailable, match="Could not read pull request acme/app#1"):
        await kit.host.pull_request(REPO, 1)
    is_surprise = isinstance(fault, httpx.Response) and fault.status_code == 200 and not fault.content.startswith(b"{")
    assert route.call_count == (1 if is_surprise else 3)  # what came whole but makes no sense is not asked for again


async def test_the_third_attempt_may_succeed_after_growing_pauses(kit: Kit) -> None:
    kit.github.get(PULL).mock(side_effect=in_turn(httpx.Response(500), httpx.ReadTimeout("slow"), GOOD))
    assert (await kit.host.pull_request(REPO, 1)).number == 1
    first, second = kit.sleeps.seconds
    assert 0.25 <= first <= 0.75
    assert 0.5 <= second <= 1.5


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFound), (410, NotFound), (422, Unprocessable), (409, Unprocessable)]
)
async def test_other_errors_are_not_repeated(kit: Kit, status: int, error: type[CodeHostError]) -> None:
    route = kit.github.get(PULL).respond(status, json={"message": "No"})
    with pytest.raises(error):
        await kit.host.pull_request(REPO, 1)
    assert (route.call_count, kit.sleeps.seconds) == (1, [])


async def test_a_renamed_repository_is_followed(kit: Kit) -> None:
    kit.github.get(PULL).respond(301, headers={"location": f"{API}/repositories/99/pulls/1"})
    moved = kit.github.get("/repositories/99/pulls/1").respond(json=pull())
    assert (await kit.host.pull_request(REPO, 1)).number == 1
    assert kit.list_requests(moved)[0].headers["authorization"] == "token ghs_token1"


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example/repos",
        "http://api.github.com/repos",
        "https://api.github.com:8443/",
        "//evil.example/",
        "https://user:pass@api.github.com/x",
        "http://[",
    ],
)
async def test_a_redirect_elsewhere_never_gets_the_token(kit: Kit, location: str) -> None:
    other = kit.github.route(host="evil.example").respond(200)
    kit.github.get(PULL).respond(302, headers={"location": location})
    with pytest.raises(Unavailable, match="outside its API"):
        await kit.host.pull_request(REPO, 1)
    assert not other.called


async def test_a_redirect_loop_ends(kit: Kit) -> None:
    kit.github.get(PULL).respond(302, headers={"location": f"{API}{PULL}"})
    with pytest.raises(Unavailable, match="redirected more than"):
        await kit.host.pull_request(REPO, 1)


async def test_a_name_that_belongs_to_another_repository_now_is_noticed(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull(base={"sha": "b" * 40, "ref": "main", "repo": {"id": 100}}))
    with pytest.raises(NotFound, match="another repository now"):
        await kit.host.pull_request(REPO, 1)


async def test_an_unchanged_answer_comes_from_memory(kit: Kit) -> None:
    good = httpx.Response(200, json=pull(), headers={"etag": '"v1"'})
    route = kit.github.get(PULL).mock(side_effect=in_turn(good, httpx.Response(304)))
    first = await kit.host.pull_request(REPO, 1)
    assert await kit.host.pull_request(REPO, 1) == first
    assert [request.headers.get("if-none-match") for request in kit.list_requests(route)] == [None, '"v1"']


async def test_no_installation_is_served_anothers_answer(kit: Kit) -> None:
    route = kit.github.get(PULL).respond(json=pull(), headers={"etag": '"v1"'})
    await kit.host.pull_request(REPO, 1)
    await kit.host.pull_request(OTHER_INSTALLATION, 1)
    assert "if-none-match" not in kit.list_requests(route)[1].headers


async def test_a_304_nobody_asked_for_is_unavailable(kit: Kit) -> None:
    kit.github.get(PULL).respond(304)
    with pytest.raises(Unavailable):
        await kit.host.pull_request(REPO, 1)


def test_the_cache_is_bounded_and_forgets_the_least_used() -> None:
    cache = EtagCache(max_entries=2)
    answer = Answer(200, {"etag": "x"}, b"{}")
    for url in ("a", "b"):
        cache.keep(1, url, answer)
    assert cache.find(1, "a")
    cache.keep(1, "c", answer)
    assert [url for url in "abc" if cache.find(1, url)] == ["a", "c"]


def test_the_cache_keeps_nothing_large_and_nothing_stale() -> None:
    cache = EtagCache()
    cache.keep(1, "a", Answer(200, {"etag": "x"}, b"{}"))
    cache.keep(1, "a", Answer(200, {"etag": "y"}, b"x" * 300_000))
    assert cache.find(1, "a") is None


def test_the_cache_is_bounded_by_its_bytes() -> None:
    cache = EtagCache(max_bytes=2_000)
    for url in "abcb":
        cache.keep(1, url, Answer(200, {"etag": url}, b"x" * 900))
    assert [url for url in "abc" if cache.find(1, url)] == ["b", "c"]
    cache.keep(1, "d", Answer(200, {"etag": "d"}, b"x" * 100))
    cache.keep(1, "b", Answer(404, {}, b""))
    cache.keep(1, "e", Answer(200, {"etag": "e"}, b"x" * 1000))
    assert [url for url in "abcde" if cache.find(1, url)] == ["c", "d", "e"]


async def test_few_reads_are_under_way_at_once(kit: Kit) -> None:
    now, most, enough = 0, 0, asyncio.Event()

    async def slow(request: httpx.Request) -> httpx.Response:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 20:
            enough.set()
        await enough.wait()
        await asyncio.sleep(0.01)
        now -= 1
        return httpx.Response(200, json=pull())

    kit.github.get(PULL).mock(side_effect=slow)
    await asyncio.gather(*(kit.host.pull_request(REPO, 1) for _ in range(60)))
    assert most == 20


async def test_errors_show_no_secret(kit: Kit) -> None:
    leak = "bad ghs_abcdefghijklmnop and eyJhbGciOi.eyJpc3Mi.c2ln\n\x1b[31m Bearer abc.def" + "x" * 2000
    kit.github.get(PULL).respond(422, json={"message": leak})
    with pytest.raises(Unprocessable) as caught:
        await kit.host.pull_request(REPO, 1)
    text = str(caught.value)
    assert not any(secret in text for secret in ("ghs_", "eyJ", "abc.def", "\x1b", "\n"))
    assert len(text) < 700


async def test_a_network_error_does_not_carry_the_request_along(kit: Kit) -> None:
    kit.github.get(PULL).mock(side_effect=httpx.ReadError("boom"))
    with pytest.raises(Unavailable) as caught:
        await kit.host.pull_request(REPO, 1)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
