"""Reviews: only the App's own count, and positions are sent as GitHub wants them (T-O5)."""

import json

import pytest

from domain.errors import Unavailable
from domain.github.pull_requests import DraftReview, InlineComment
from tests.unit.github.kit import HEAD, REPO, Kit

REVIEWS = "/repos/acme/app/pulls/1/reviews"
MARKER = "<!-- forge:run-1:abc -->"


def _review(review_id: int, user: dict[str, object] | None, body: str | None) -> dict[str, object]:
    return {"id": review_id, "user": user, "body": body, "state": "COMMENTED", "node_id": f"PRR_{review_id}"}


FORGE: dict[str, object] = {"id": 500, "login": "forge-x[bot]", "type": "Bot"}
OTHER_BOT: dict[str, object] = {"id": 501, "login": "forge-y[bot]", "type": "Bot"}
PERSON: dict[str, object] = {"id": 5, "login": "ann", "type": "User"}


@pytest.fixture
def app(kit: Kit) -> Kit:
    kit.github.get("/app").respond(json={"id": 42, "slug": "forge-x"})
    kit.github.get("/users/forge-x%5Bbot%5D").respond(json=FORGE)
    return kit


async def test_others_forged_markers_do_not_count(app: Kit) -> None:
    forged = [
        _review(1, PERSON, f"look: {MARKER}"),
        _review(2, OTHER_BOT, MARKER),
        _review(3, None, MARKER),
        _review(4, {**PERSON, "login": "forge-x[bot]"}, MARKER),
        _review(5, FORGE, "another run"),
        _review(6, FORGE, None),
    ]
    app.github.get(path=REVIEWS).respond(json=forged)
    assert await app.host.find_review(REPO, 1, MARKER) is None
    app.github.get(path=REVIEWS).respond(json=[*forged, _review(7, FORGE, f"Hello\n{MARKER}")])
    assert await app.host.find_review(REPO, 1, MARKER) == 7


async def test_who_we_are_is_asked_once_and_as_the_app(app: Kit) -> None:
    app.github.get(path=REVIEWS).respond(json=[])
    for _ in range(3):
        await app.host.find_review(REPO, 1, MARKER)
    asked = [request for request in app.list_requests() if request.url.path == "/app"]
    assert len(asked) == 1
    assert asked[0].headers["authorization"].startswith("bearer eyJ")


async def test_a_review_of_a_surprising_shape_is_an_error(app: Kit) -> None:
    app.github.get(path=REVIEWS).respond(json=[{"id": 1, "user": "forge-x[bot]", "body": MARKER}])
    with pytest.raises(Unavailable, match="user"):
        await app.host.find_review(REPO, 1, MARKER)


async def test_a_review_is_a_comment_with_lines_on_the_right_side(kit: Kit) -> None:
    route = kit.github.post(REVIEWS).respond(json={"id": 9})
    comments = (
        InlineComment(path="a.py", start_line=3, line=3, body="one line"),
        InlineComment(path="b.py", start_line=3, line=5, body="a range"),
    )
    assert await kit.host.create_review(REPO, 1, DraftReview(head_sha=HEAD, body="Hi", comments=comments)) == 9
    assert json.loads(kit.list_requests(route)[0].content) == {
        "commit_id": HEAD,
        "event": "COMMENT",
        "body": "Hi",
        "comments": [
            {"path": "a.py", "line": 3, "side": "RIGHT", "body": "one line"},
            {"path": "b.py", "line": 5, "side": "RIGHT", "body": "a range", "start_line": 3, "start_side": "RIGHT"},
        ],
    }
