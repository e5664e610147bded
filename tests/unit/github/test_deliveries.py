"""The log of deliveries: asked for as the App, page by page, with nothing taken on trust."""

from datetime import UTC, datetime, timedelta

import httpx
import jwt
import pytest

from domain.errors import NotFound, RateLimited, Unavailable
from github.client import Client
from github.host import GitHubHost
from github.settings import GitHubSettings
from tests.unit.github.kit import API, PEM, PUBLIC_PEM, Kit, MovableClock, Sleeps

LOG = "/app/hook/deliveries"


def _build_attempt(**changes: object) -> dict[str, object]:
    return {
        "id": 12345678901234,
        "guid": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
        "delivered_at": "2026-03-01T11:00:00Z",
        "redelivery": False,
        "duration": 0.27,
        "status": "failed to connect to host",
        "status_code": 502,
        "event": "issues",
        "action": "opened",
        "installation_id": 123,
        "repository_id": 456,
        "throttled_at": None,
        **changes,
    }


async def test_a_page_and_the_one_after_it(kit: Kit) -> None:
    link = f'<{API}{LOG}?per_page=100&cursor=v1_12077215967>; rel="next"'
    route = kit.github.get(LOG).mock(return_value=httpx.Response(200, json=[_build_attempt()], headers={"link": link}))
    page = await kit.host.deliveries.attempts(None)
    await kit.host.deliveries.attempts(page.following)
    [attempt] = page.attempts
    assert (attempt.id, attempt.status_code, attempt.is_answered) == (12345678901234, 502, False)
    assert attempt.at == datetime(2026, 3, 1, 11, tzinfo=UTC)
    asked = [dict(request.url.params) for request in kit.list_requests(route)]
    assert asked == [{"per_page": "100"}, {"per_page": "100", "cursor": "v1_12077215967"}]


@pytest.mark.parametrize(
    ("status", "answered"),
    [(200, True), (202, True), (299, True), (199, False), (300, False), (0, False), (None, False)],
)
async def test_only_2xx_is_an_answer(kit: Kit, status: int | None, answered: bool) -> None:
    kit.github.get(LOG).mock(return_value=httpx.Response(200, json=[_build_attempt(status_code=status)]))
    assert [each.is_answered for each in (await kit.host.deliveries.attempts(None)).attempts] == [answered]


async def test_a_delivery_is_sent_again_by_the_app_itself(kit: Kit) -> None:
    route = kit.github.post(f"{LOG}/7/attempts").mock(return_value=httpx.Response(202, json={}))
    await kit.host.deliveries.redeliver(7)
    [request] = kit.list_requests(route)
    signed = request.headers["authorization"].removeprefix("bearer ")
    claims = jwt.decode(signed, PUBLIC_PEM, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False})
    assert claims["iss"] == "42"


async def test_asking_is_never_repeated_and_takes_its_time(kit: Kit) -> None:
    kit.write_interval_s = 1
    kit.restart()
    route = kit.github.post(path__regex=rf"{LOG}/\d+/attempts")
    route.mock(side_effect=[*[httpx.Response(202)] * 21, httpx.Response(502)])
    for number in range(21):
        await kit.host.deliveries.redeliver(number)
    with pytest.raises(Unavailable):
        await kit.host.deliveries.redeliver(21)
    assert route.call_count == 22
    assert kit.sleeps.seconds == [1, 1]  # after a burst of 20


async def test_a_limit_of_the_app_holds(kit: Kit) -> None:
    route = kit.github.post(f"{LOG}/7/attempts")
    route.mock(return_value=httpx.Response(429, headers={"retry-after": "60"}))
    for _ in range(2):
        with pytest.raises(RateLimited):
            await kit.host.deliveries.redeliver(7)
    assert route.call_count == 1


async def test_a_delivery_that_is_gone(kit: Kit) -> None:
    kit.github.post(f"{LOG}/7/attempts").mock(return_value=httpx.Response(404, json={"message": "Not Found"}))
    with pytest.raises(NotFound):
        await kit.host.deliveries.redeliver(7)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, json={"deliveries": []}),
        httpx.Response(200, json=[_build_attempt(guid="")]),
        httpx.Response(200, json=[_build_attempt(delivered_at="yesterday")]),
        httpx.Response(200, json=[_build_attempt(id="seven")]),
        httpx.Response(200, json=[_build_attempt()], headers={"link": f'<{API}{LOG}?page=2>; rel="next"'}),
    ],
)
async def test_a_page_that_is_not_what_github_documents(kit: Kit, answer: httpx.Response) -> None:
    kit.github.get(LOG).mock(return_value=answer)
    with pytest.raises(Unavailable, match="something unexpected"):
        await kit.host.deliveries.attempts(None)


@pytest.mark.parametrize(
    ("api_url", "days"),
    [
        ("https://api.github.com", 3),
        ("https://api.octocorp.ghe.com", 3),
        ("https://github.octocorp.example/api/v3", 7),
        ("https://api.github.com.example/api/v3", 7),
    ],
)
async def test_for_how_long_deliveries_can_be_had(api_url: str, days: int) -> None:
    clock = MovableClock()
    settings = GitHubSettings(api_url, "https://github.com", 42, PEM)
    host = GitHubHost(Client(settings, clock, None, Sleeps(clock)))
    assert host.deliveries.redeliverable_for == timedelta(days=days)
    await host.aclose()
