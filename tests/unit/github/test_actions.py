"""What the adapter makes of answers about workflows that the simulator does not give."""

import httpx
import pytest
import respx

from domain.errors import NotFound, Unavailable
from github.transport import choose_address
from tests.unit.github.kit import API, HEAD, PUBLIC, REPO, Kit, in_turn

RUNS = "/repos/acme/app/actions/runs"
LOG = "/repos/acme/app/actions/jobs/5/logs"
STORAGE = "https://logs.example/5?sig=s3cret"


def _run(number: int = 1, **changes: object) -> dict[str, object]:
    return {
        "id": number,
        "name": "CI",
        "head_sha": HEAD,
        "path": ".github/workflows/ci.yml",
        "event": "push",
        "status": "completed",
        "conclusion": "success",
        "run_attempt": 1,
        "html_url": "https://github.com/acme/app/actions/runs/1",
        **changes,
    }


def _mock_list(kit: Kit, *runs: dict[str, object]) -> respx.Route:
    answer = httpx.Response(200, json={"total_count": len(runs), "workflow_runs": runs})
    return kit.github.get(path=RUNS).mock(return_value=answer)


def _leads_to(kit: Kit, address: str) -> respx.Route:
    return kit.github.get(path=LOG).mock(return_value=httpx.Response(302, headers={"location": address}))


def _mock_log(kit: Kit, *answers: httpx.Response | Exception) -> respx.Route:
    return kit.github.get(STORAGE.replace("logs.example", PUBLIC)).mock(side_effect=in_turn(*answers))


async def test_a_filter_is_not_taken_at_its_word(kit: Kit) -> None:
    route = _mock_list(kit, _run(1), _run(2, head_sha="b" * 40))
    assert [run.id for run in await kit.host.workflow_runs(REPO, HEAD)] == [1]
    assert kit.list_requests(route)[0].url.params["head_sha"] == HEAD


async def test_a_run_that_is_listed_twice_counts_once_in_its_newest_attempt(kit: Kit) -> None:
    _mock_list(kit, _run(1, run_attempt=2, conclusion="failure"), _run(2), _run(1))
    found = await kit.host.workflow_runs(REPO, HEAD)
    assert [(run.id, run.attempt, run.conclusion) for run in found] == [(2, 1, "success"), (1, 2, "failure")]


async def test_what_github_leaves_out(kit: Kit) -> None:
    _mock_list(kit, _run(1, name=None, status=None, conclusion=None))
    [run] = await kit.host.workflow_runs(REPO, HEAD)
    assert (run.name, run.is_completed, run.conclusion) == (".github/workflows/ci.yml", False, None)


@pytest.mark.parametrize("missing", ["id", "head_sha", "path", "event", "status", "conclusion", "html_url"])
async def test_a_run_of_another_shape_spoils_the_list(kit: Kit, missing: str) -> None:
    shown = _run(2)
    del shown[missing]
    _mock_list(kit, _run(1), shown)
    with pytest.raises(Unavailable, match=missing):
        await kit.host.workflow_runs(REPO, HEAD)


async def test_a_log_is_asked_for_without_any_credential(kit: Kit) -> None:
    _leads_to(kit, STORAGE)
    route = _mock_log(kit, httpx.Response(200, content=b"1 failed\n"))
    assert await kit.host.job_log(REPO, 5, 100) == "1 failed\n"
    [request] = kit.list_requests(route)
    assert "authorization" not in request.headers
    assert not any(token in f"{request.url}{request.headers}" for token in kit.tokens)


INNER = ["10.1.2.3", "192.168.0.9", "fd00::9"]
NEVER = [
    *["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "240.0.0.1", "100.64.0.1"],
    *["::ffff:127.0.0.1", "2002:7f00:1::"],
]


async def test_a_log_is_read_from_the_very_address_that_was_looked_at(kit: Kit) -> None:
    """The name is not asked for again: it could lead elsewhere by then."""
    _leads_to(kit, STORAGE)
    route = _mock_log(kit, httpx.Response(200, content=b"1 failed\n"))
    assert await kit.host.job_log(REPO, 5, 100) == "1 failed\n"
    [request] = kit.list_requests(route)
    assert (request.url.host, request.headers["host"]) == (PUBLIC, "logs.example")
    assert request.extensions["sni_hostname"] == "logs.example"


@pytest.mark.parametrize("address", [*NEVER, *INNER])
async def test_a_host_within_our_network_is_not_asked(kit: Kit, address: str) -> None:
    _leads_to(kit, STORAGE)
    for places in ([address], [PUBLIC, address]):
        kit.places["logs.example"] = places
        with pytest.raises(Unavailable, match="into the network that Forge runs in"):
            await kit.host.job_log(REPO, 5, 100)


@pytest.mark.parametrize("address", INNER)
def test_the_logs_of_an_inner_github_may_be_inner_too(address: str) -> None:
    assert choose_address([address], ["10.0.0.1"]) == address
    assert choose_address([address], [PUBLIC]) is None
    assert choose_address([PUBLIC], ["10.0.0.1"]) == PUBLIC
    assert [
        never for never in NEVER if choose_address([never], ["10.0.0.1"]) or choose_address([never], ["127.0.0.1"])
    ] == []


@pytest.mark.parametrize(
    "address",
    [
        "http://logs.example/5",
        "http://127.0.0.1/5",
        "ftp://logs.example/5",
        "file:///etc/passwd",
        "https://me:word@logs.example/5",
        "/5",
        "",
    ],
)
async def test_an_unsafe_address_is_not_followed(kit: Kit, address: str) -> None:
    _leads_to(kit, address)
    with pytest.raises(Unavailable, match="address that is not safe"):
        await kit.host.job_log(REPO, 5, 100)


async def test_a_success_without_an_address_is_no_log(kit: Kit) -> None:
    kit.github.get(path=LOG).mock(return_value=httpx.Response(200, content=b"log"))
    with pytest.raises(Unavailable, match="no address"):
        await kit.host.job_log(REPO, 5, 100)


@pytest.mark.parametrize("second", [302, 401, 416, 500])
async def test_the_storage_leads_no_further(kit: Kit, second: int) -> None:
    _leads_to(kit, STORAGE)
    _mock_log(kit, httpx.Response(second, headers={"location": f"{API}/app"}))
    with pytest.raises(Unavailable, match=f"answered {second}"):
        await kit.host.job_log(REPO, 5, 100)


async def test_an_address_is_a_secret_and_stays_out_of_errors(kit: Kit) -> None:
    _leads_to(kit, STORAGE)
    _mock_log(kit, httpx.ReadError("reset"))
    with pytest.raises(Unavailable) as caught:
        await kit.host.job_log(REPO, 5, 100)
    assert "s3cret" not in f"{caught.value!r} {caught.value} {caught.value.__cause__}"


async def test_a_log_is_absent_only_where_the_repository_is_in_sight(kit: Kit) -> None:
    kit.github.get(path=LOG).mock(return_value=httpx.Response(410, json={"message": "Server Error"}))
    shown = {
        "id": REPO.id,
        "url": f"{API}/repos/acme/app",
        "default_branch": "main",
        "owner": {"id": 1, "login": "acme"},
    }
    home = kit.github.get(path="/repos/acme/app").mock(return_value=httpx.Response(200, json=shown))
    assert await kit.host.job_log(REPO, 5, 100) is None
    home.mock(return_value=httpx.Response(200, json={**shown, "id": 100}))
    with pytest.raises(NotFound, match="another repository now"):
        await kit.host.job_log(REPO, 5, 100)
