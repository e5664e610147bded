"""App signature and installation tokens: cached, renewed in time, and once on 401 (T-G4, T-G5)."""

import asyncio
import base64
import json
from datetime import timedelta

import httpx
import jwt
import pytest

from domain.errors import Forbidden, NotFound, Unauthorized, Unavailable
from domain.github.pull_requests import DraftReview
from tests.unit.github.kit import OTHER_INSTALLATION, PUBLIC_PEM, REPO, Kit, in_turn, pull

PULL = "/repos/acme/app/pulls/1"


async def test_many_requests_at_once_cause_one_token(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull())
    await asyncio.gather(*(kit.host.pull_request(REPO, 1) for _ in range(30)))
    assert kit.token_route.call_count == 1


async def test_each_installation_has_its_own_token(kit: Kit) -> None:
    route = kit.github.get(PULL).respond(json=pull())
    await kit.host.pull_request(REPO, 1)
    await kit.host.pull_request(OTHER_INSTALLATION, 1)
    assert [request.headers["authorization"] for request in kit.list_requests(route)] == [
        "token ghs_token1",
        "token ghs_token2",
    ]


async def test_a_token_is_renewed_five_minutes_before_it_expires(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull())
    await kit.host.pull_request(REPO, 1)
    kit.clock.advance(55 * 60 - 1)
    await kit.host.pull_request(REPO, 1)
    assert len(kit.tokens) == 1
    kit.clock.advance(1)
    await kit.host.pull_request(REPO, 1)
    assert len(kit.tokens) == 2


async def test_a_clock_far_ahead_does_not_mean_a_token_per_request(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull())
    past = (kit.clock.now() - timedelta(hours=2)).isoformat()
    kit.token_route.mock(side_effect=None, return_value=httpx.Response(201, json={"token": "t", "expires_at": past}))
    for _ in range(5):
        await kit.host.pull_request(REPO, 1)
    assert kit.token_route.call_count == 1


async def test_401_renews_the_token_once_and_goes_on(kit: Kit) -> None:
    route = kit.github.get(PULL).mock(side_effect=in_turn(httpx.Response(401), httpx.Response(200, json=pull())))
    await kit.host.pull_request(REPO, 1)
    assert [request.headers["authorization"] for request in kit.list_requests(route)] == [
        "token ghs_token1",
        "token ghs_token2",
    ]


async def test_a_second_401_is_final(kit: Kit) -> None:
    route = kit.github.get(PULL).respond(401, json={"message": "Bad credentials"})
    with pytest.raises(Unauthorized, match=r"Could not read pull request acme/app#1.*Bad credentials"):
        await kit.host.pull_request(REPO, 1)
    assert (route.call_count, len(kit.tokens)) == (2, 2)


async def test_a_write_refused_with_401_is_sent_again(kit: Kit) -> None:
    route = kit.github.post("/repos/acme/app/pulls/1/reviews")
    route.mock(side_effect=in_turn(httpx.Response(401), httpx.Response(200, json={"id": 3})))
    review = DraftReview(head_sha="a" * 40, body="Hello", comments=())
    assert await kit.host.create_review(REPO, 1, review) == 3
    assert route.call_count == 2


async def test_the_signature_is_backdated_and_short(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull())
    await kit.host.pull_request(REPO, 1)
    scheme, _, signature = kit.list_requests(kit.token_route)[0].headers["authorization"].partition(" ")
    claims = jwt.decode(signature, PUBLIC_PEM, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False})
    now = int(kit.clock.now().timestamp())
    assert scheme.lower() == "bearer"
    assert claims == {"iat": now - 60, "exp": now - 60 + 9 * 60, "iss": "42"}


async def test_making_a_token_is_retried(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull())
    expires = (kit.clock.now() + timedelta(hours=1)).isoformat()
    good = httpx.Response(201, json={"token": "t", "expires_at": expires})
    kit.token_route.mock(side_effect=in_turn(httpx.Response(502), httpx.ReadTimeout("slow"), good))
    assert (await kit.host.pull_request(REPO, 1)).number == 1


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (403, Forbidden, "suspended"),
        (404, NotFound, "not installed any more"),
        (401, Unauthorized, "FORGE_PRIVATE_KEY"),
        (500, Unavailable, "get a token"),
    ],
)
async def test_why_there_is_no_token_is_told(kit: Kit, status: int, error: type[Exception], said: str) -> None:
    kit.token_route.mock(side_effect=None, return_value=httpx.Response(status, json={"message": "No"}))
    with pytest.raises(error, match=said):
        await kit.host.pull_request(REPO, 1)


async def test_a_malformed_token_answer_is_not_repeated_in_the_message(kit: Kit) -> None:
    answer = httpx.Response(201, json={"token": "ghs_verysecret", "expires_at": "ghs_oops"})
    kit.token_route.mock(side_effect=None, return_value=answer)
    with pytest.raises(Unavailable) as caught:
        await kit.host.pull_request(REPO, 1)
    assert "ghs_" not in str(caught.value)
    assert "expires_at" in str(caught.value)


async def test_git_gets_the_token_as_basic_credentials(kit: Kit) -> None:
    header = await kit.host.git_credentials(REPO)
    assert base64.b64decode(header.removeprefix("Basic ")) == b"x-access-token:ghs_token1"
    assert kit.host.clone_url(REPO) == "https://github.com/acme/app.git"


async def test_the_token_request_has_no_body_that_could_widen_it(kit: Kit) -> None:
    await kit.host.git_credentials(REPO)
    assert json.loads(kit.list_requests(kit.token_route)[0].content or b"{}") == {}
