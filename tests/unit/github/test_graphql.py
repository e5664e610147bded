"""GraphQL answers 200 whatever happened: its errors become the same tree as REST's (T-G1, T-G2, T-G3)."""

import json
from datetime import timedelta

import httpx
import pytest

from domain.errors import Forbidden, ForgeError, NotFound, RateLimited, Unavailable, Unprocessable
from github.request import find_graphql_address
from tests.unit.github.kit import REPO, Kit, in_turn


def _threads(*nodes: object, following: str | None = None, repository: int = 99) -> httpx.Response:
    page = {"hasNextPage": following is not None, "endCursor": following}
    pull = {"reviewThreads": {"pageInfo": page, "nodes": nodes}}
    return httpx.Response(200, json={"data": {"repository": {"databaseId": repository, "pullRequest": pull}}})


def _node(thread_id: str) -> dict[str, object]:
    comments = {
        "pageInfo": {"hasNextPage": False},
        "nodes": [{"fullDatabaseId": "9007199254740993", "author": {"databaseId": 5}}, _by({}), _by(None)],
    }
    return {"id": thread_id, "isResolved": False, "isOutdated": True, "comments": comments}


def _by(author: object) -> dict[str, object]:
    return {"fullDatabaseId": "12", "author": author}


def _error(kind: str | None, message: str = "No", data: object = None) -> httpx.Response:
    named = {"type": kind} if kind else {}
    return httpx.Response(200, json={"data": data, "errors": [{**named, "message": message}]})


@pytest.mark.parametrize(
    ("api_url", "expected"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://ghe.example.com/api/v3", "https://ghe.example.com/api/graphql"),
    ],
)
def test_where_graphql_is(api_url: str, expected: str) -> None:
    assert find_graphql_address(api_url) == expected


async def test_values_travel_beside_the_query(kit: Kit) -> None:
    route = kit.github.post("/graphql").mock(
        side_effect=in_turn(_threads(_node("a"), following="x"), _threads(_node("b")))
    )
    threads = await kit.host.review_threads(REPO, 1)
    first, second = [json.loads(request.content) for request in kit.list_requests(route)]
    assert first["variables"] == {"owner": "acme", "name": "app", "number": 1, "after": None}
    assert second["variables"]["after"] == "x"
    assert "acme" not in first["query"]
    assert [thread.id for thread in threads] == ["a", "b"]
    assert [(one.id, one.author_id) for one in threads[0].comments] == [(9007199254740993, 5), (12, None), (12, None)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_error("NOT_FOUND"), NotFound),
        (_error("NOT_FOUND", "Could not resolve to a node 'timeout'"), NotFound),
        (_error("FORBIDDEN"), Forbidden),
        (_error("INSUFFICIENT_SCOPES"), Forbidden),
        (_error("UNPROCESSABLE"), Unprocessable),
        (_error(None, "Field 'x' doesn't exist"), Unprocessable),
        (_error(None, "Something went wrong while executing your query."), Unavailable),
        (_error("NOT_FOUND", data={"repository": {"databaseId": 99}}), NotFound),  # a part is not the whole
        (httpx.Response(200, json={"data": None}), Unavailable),
        (httpx.Response(200, json=[]), Unavailable),
        (httpx.Response(502), Unavailable),
        (_threads(repository=98), NotFound),
        (_threads({"id": "a"}), Unavailable),
    ],
)
async def test_errors_are_sorted(kit: Kit, answer: httpx.Response, expected: type[ForgeError]) -> None:
    kit.github.post("/graphql").mock(return_value=answer)
    with pytest.raises(expected):
        await kit.host.review_threads(REPO, 1)


async def test_a_limit_in_the_errors_is_waited_out(kit: Kit) -> None:
    reset = kit.clock.now() + timedelta(minutes=20)
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(reset.timestamp()))}
    limited = httpx.Response(
        200, headers=headers, json={"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    )
    route = kit.github.post("/graphql").mock(return_value=limited)
    for _ in range(2):
        with pytest.raises(RateLimited) as caught:
            await kit.host.review_threads(REPO, 1)
        assert caught.value.until == reset
    assert route.call_count == 1


async def test_pages_that_lead_back_are_an_error(kit: Kit) -> None:
    kit.github.post("/graphql").mock(side_effect=in_turn(_threads(_node("a"), following="x")))
    with pytest.raises(Unavailable, match="without an end"):
        await kit.host.review_threads(REPO, 1)


@pytest.mark.parametrize(
    "fault", [httpx.Response(502), httpx.ReadTimeout("slow"), _error(None, "Something went wrong")]
)
async def test_a_mutation_is_never_repeated(kit: Kit, fault: httpx.Response | Exception) -> None:
    route = kit.github.post("/graphql").mock(side_effect=in_turn(fault))
    with pytest.raises(Unavailable):
        await kit.host.resolve_thread(REPO, "PRRT_1")
    assert route.call_count == 1


async def test_mutations_keep_their_distance(kit: Kit) -> None:
    kit.write_interval_s = 1.0
    kit.restart()
    kit.github.post("/graphql").respond(json={"data": {"resolveReviewThread": {"thread": {"isResolved": True}}}})
    for _ in range(22):
        await kit.host.resolve_thread(REPO, "PRRT_1")
    assert kit.sleeps.seconds == [1.0, 1.0]  # after a burst of 20
