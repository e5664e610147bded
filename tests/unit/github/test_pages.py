"""Lists are whole or an error (T-G3)."""

import httpx
import pytest
import respx

from domain.errors import CodeHostError, Unavailable
from tests.unit.github.kit import API, BASE, HEAD, REPO, Kit, check_run, in_turn

CHECKS = f"/repos/acme/app/commits/{HEAD}/check-runs"
COMPARE = f"/repos/acme/app/dependency-graph/compare/{BASE}...{HEAD}"


def _link(url: str) -> dict[str, str]:
    return {"link": f'<{url}>; rel="next", <{url}>; rel="last"'}


def _checks(ids: range, total: int, following: str | None = None) -> httpx.Response:
    runs = [check_run(one, external_id=f"run-{one}") for one in ids]
    headers = _link(following) if following else {}
    return httpx.Response(200, json={"total_count": total, "check_runs": runs}, headers=headers)


def _pages(kit: Kit, *answers: httpx.Response | Exception) -> respx.Route:
    return kit.github.get(path=CHECKS).mock(side_effect=in_turn(*answers))


async def test_all_pages_are_read(kit: Kit) -> None:
    route = _pages(kit, _checks(range(100), 150, f"{API}{CHECKS}?page=2"), _checks(range(100, 150), 150))
    found = await kit.host.find_check_run(REPO, HEAD, "run-149")
    assert found is not None
    assert found.id == 149
    first = kit.list_requests(route)[0].url.params
    assert dict(first) == {"filter": "all", "app_id": "42", "per_page": "100"}


@pytest.mark.parametrize(
    "second",
    [
        httpx.Response(500),
        httpx.Response(404, json={"message": "Not Found"}),
        httpx.ReadError("reset"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"total_count": 150}),
        httpx.Response(200, json={"check_runs": []}),
        httpx.Response(200, json={"total_count": 150, "check_runs": {}}),
        httpx.Response(200, json={"total_count": 150, "check_runs": [{"id": "x"}] * 50}),
        httpx.Response(200, content=b'{"total_count": 150, "che', headers={"content-type": "application/json"}),
        _checks(range(100, 140), 150),
    ],
)
async def test_a_bad_second_page_is_an_error_not_half_a_list(kit: Kit, second: httpx.Response | Exception) -> None:
    _pages(kit, _checks(range(100), 150, f"{API}{CHECKS}?page=2"), second)
    with pytest.raises(CodeHostError):
        await kit.host.find_check_run(REPO, HEAD, "run-1")


async def test_a_page_that_leads_back_is_noticed(kit: Kit) -> None:
    route = _pages(kit, _checks(range(100), 500, f"{API}{CHECKS}?page=2"))
    with pytest.raises(Unavailable, match="pages without an end"):
        await kit.host.find_check_run(REPO, HEAD, "run-1")
    assert route.call_count == 2


async def test_pages_end_at_a_cap(kit: Kit) -> None:
    count = 0

    def endless(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        return _checks(range(1), 1, f"{API}{CHECKS}?page={count}x")

    kit.github.get(path=CHECKS).mock(side_effect=endless)
    with pytest.raises(Unavailable, match="pages without an end"):
        await kit.host.find_check_run(REPO, HEAD, "run-1")
    assert count == 50


async def test_a_link_elsewhere_never_gets_the_token(kit: Kit) -> None:
    other = kit.github.route(host="evil.example").respond(200)
    _pages(kit, _checks(range(100), 150, "https://evil.example/page2"))
    with pytest.raises(Unavailable, match="outside its API"):
        await kit.host.find_check_run(REPO, HEAD, "run-1")
    assert not other.called


async def test_a_plain_list_must_be_one(kit: Kit) -> None:
    kit.github.get(path=COMPARE).respond(json={"message": "surprise"})
    with pytest.raises(Unavailable, match="not a list"):
        await kit.host.dependency_changes(REPO, BASE, HEAD)
