"""Issues and proposals as GitHub may answer them: deleted accounts, transferred issues, filters passed over."""

import json

import httpx
import pytest

from domain.errors import NotFound, Unavailable, Unprocessable
from domain.github.conversation import CommentEdit
from tests.unit.github.kit import API, REPO, Kit, in_turn, pull

HOME = "/repos/acme/app"
ISSUE, COMMENTS, PULLS = f"{HOME}/issues/4", f"{HOME}/issues/4/comments", f"{HOME}/pulls"
ANN = {"id": 5, "login": "ann", "type": "User"}
AT, LATER = "2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z"


def _home(**changes: object) -> dict[str, object]:
    owner = {"id": 1, "login": "acme", "type": "Organization"}
    return {"id": 99, "url": f"{API}{HOME}", "owner": owner, "default_branch": "main", **changes}


def _issue(**changes: object) -> dict[str, object]:
    shown = {
        "url": f"{API}{ISSUE}",
        "node_id": "I_4",
        "number": 4,
        "title": "Slow",
        "body": "Since Monday",
        "state": "open",
    }
    return {**shown, "user": ANN, "labels": [], "author_association": "MEMBER", **changes}


def _comment(**changes: object) -> dict[str, object]:
    shown = {
        "id": 11,
        "node_id": "IC_11",
        "issue_url": f"{API}{ISSUE}",
        "user": ANN,
        "body": "Hm",
        "created_at": AT,
        "updated_at": AT,
    }
    return {**shown, "author_association": "NONE", "performed_via_github_app": None, **changes}


@pytest.fixture
def here(kit: Kit) -> Kit:
    """A repository that is still where it was."""
    kit.github.get(HOME).respond(json=_home())
    return kit


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"body": None}, "body", ""),
        ({"labels": ["bug", {"name": "forge"}, {"name": None}]}, "labels", ("bug", "forge")),
        ({"state": "closed"}, "is_open", False),
        ({"pull_request": {"url": "x"}}, "is_pull_request", True),
        ({"pull_request": None}, "is_pull_request", False),
        ({"user": None}, "author_id", None),
        ({"user": None}, "author_login", "ghost"),
        ({"user": {"id": 10137, "login": "ghost", "type": "User"}}, "author_id", None),
        ({"user": {"id": 10138, "login": "ghost", "type": "User"}}, "author_id", 10138),
        ({"url": f"{API}/repos/Acme/App/issues/4"}, "number", 4),
    ],
)
async def test_an_issue(here: Kit, changes: dict[str, object], field: str, value: object) -> None:
    here.github.get(ISSUE).respond(json=_issue(**changes))
    assert getattr(await here.host.issue(REPO, 4), field) == value


@pytest.mark.parametrize("changes", [{"state": "draft"}, {"user": {"login": "ann"}}, {"labels": [4]}, {"url": None}])
async def test_an_issue_of_another_shape_is_an_error(here: Kit, changes: dict[str, object]) -> None:
    here.github.get(ISSUE).respond(json=_issue(**changes))
    with pytest.raises(Unavailable, match="unexpected"):
        await here.host.issue(REPO, 4)


@pytest.mark.parametrize(
    ("changes", "is_app", "is_edited"),
    [
        ({}, False, False),
        ({"updated_at": LATER}, False, True),
        ({"user": {"id": 500, "login": "forge[bot]", "type": "Bot"}}, True, False),
        ({"user": {"id": 6, "login": "forge[bot]", "type": "User"}}, False, False),
        ({"performed_via_github_app": {"id": 3}}, True, False),
        ({"user": None, "body": None}, False, False),
    ],
)
async def test_a_comment(here: Kit, changes: dict[str, object], is_app: bool, is_edited: bool) -> None:
    here.github.get(COMMENTS).respond(json=[_comment(**changes)])
    [found] = await here.host.issue_comments(REPO, 4)
    assert (found.is_app, found.is_edited) == (is_app, is_edited)
    assert (found.author_id is None, found.body == "") == ("body" in changes, "body" in changes)


@pytest.mark.parametrize("where", ["/repositories/77/issues/4", "/repositories/77/issues/9"])
async def test_an_issue_that_was_transferred_is_not_read_elsewhere(here: Kit, where: str) -> None:
    there = f"{API}/repos/acme/other/issues/{where[-1]}"
    for path, shown in (("", _issue(url=there)), ("/comments", [_comment(issue_url=there)])):
        here.github.get(f"{ISSUE}{path}").respond(301, headers={"location": f"{API}{where}{path}"})
        here.github.get(f"{where}{path}").respond(json=shown)
    for ask in (here.host.issue, here.host.issue_comments):
        with pytest.raises(NotFound, match="transferred"):
            await ask(REPO, 4)


@pytest.mark.parametrize("status", [404, 410])
async def test_a_deleted_issue(here: Kit, status: int) -> None:
    here.github.get(ISSUE).respond(status, json={"message": "This issue was deleted"})
    with pytest.raises(NotFound):
        await here.host.issue(REPO, 4)


@pytest.mark.parametrize("name", ["", None])
async def test_a_repository_must_name_its_default_branch(kit: Kit, name: str | None) -> None:
    kit.github.get(HOME).respond(json=_home(default_branch=name))
    with pytest.raises(Unavailable):
        await kit.host.default_branch(REPO)


async def test_a_branch_is_asked_for_as_one_segment(kit: Kit) -> None:
    kit.github.get(HOME).respond(json=_home(default_branch="release/1"))
    answer = {"name": "release/1", "commit": {"sha": "c" * 40}, "protected": False}
    route = kit.github.get(path__regex="/branches/").respond(json=answer)
    assert (await kit.host.default_branch(REPO)).head_sha == "c" * 40
    assert kit.list_requests(route)[0].url.raw_path == b"/repos/acme/app/branches/release%2F1"


async def test_a_filter_that_github_passes_over_finds_nothing_else(here: Kit) -> None:
    fork = {"sha": "d" * 40, "ref": "fix", "repo": {"id": 98}}
    gone = {"sha": "d" * 40, "ref": "fix", "repo": None}
    listed = [pull(1), pull(2, head=fork), pull(3, head=gone)]
    route = here.github.get(PULLS).respond(json=listed)
    assert await here.host.find_pull_request(REPO, "fix") is None
    assert dict(here.list_requests(route)[0].url.params) == {"state": "open", "head": "acme:fix", "per_page": "100"}


async def test_one_that_was_closed_meanwhile_is_not_found(here: Kit) -> None:
    here.github.get(PULLS).respond(json=[pull(1)])
    here.github.get(f"{PULLS}/1").respond(json=pull(1, state="closed"))
    assert await here.host.find_pull_request(REPO, "topic") is None


async def _open(kit: Kit, draft: bool = True) -> bool:
    return (await kit.host.open_pull_request(REPO, "topic", "main", "Fix", "Closes #4", draft)).is_draft


async def test_only_the_lack_of_drafts_is_got_around(kit: Kit) -> None:
    lacking = httpx.Response(422, json={"message": "Draft pull requests are not supported in this repository."})
    made = httpx.Response(201, json=pull(draft=False))
    route = kit.github.post(PULLS).mock(side_effect=in_turn(lacking, made))
    assert not await _open(kit)
    wanted = {"title": "Fix", "head": "topic", "base": "main", "body": "Closes #4"}
    assert [json.loads(request.content) for request in kit.list_requests(route)] == [
        {**wanted, "draft": True},
        {**wanted, "draft": False},
    ]
    for status, said, error in (
        (422, "Validation Failed", Unprocessable),
        (502, "Draft pull requests are not supported", Unavailable),
    ):
        route = kit.github.post(PULLS).respond(status, json={"message": said})
        before = route.call_count
        with pytest.raises(error):
            await _open(kit)
        assert route.call_count == before + 1


async def test_ready_is_said_of_the_node_and_believed_only_if_it_took_effect(kit: Kit) -> None:
    kit.github.get(f"{PULLS}/1").respond(json=pull(draft=True, node_id="PR_kw1"))
    route = kit.github.post("/graphql")
    route.respond(json={"data": {"done": {"pull": {"draft": False}}}})
    await kit.host.mark_ready(REPO, 1)
    assert json.loads(kit.list_requests(route)[0].content)["variables"] == {"pull": "PR_kw1"}
    for data in ({"done": {"pull": {"draft": True}}}, {"done": None}, {}):
        route.respond(json={"data": data})
        with pytest.raises(Unavailable):
            await kit.host.mark_ready(REPO, 1)


async def test_what_it_came_to_is_said_in_the_same_request(kit: Kit) -> None:
    kit.github.get(f"{PULLS}/1").respond(json=pull(draft=True, node_id="PR_kw1"))
    kit.github.get(f"{HOME}/issues/comments/7").respond(json={"id": 7, "node_id": "IC_kw7"})
    route = kit.github.post("/graphql")
    route.respond(json={"data": {"updatePullRequest": {}, "done": {"pull": {"draft": False}}}})
    assert await kit.host.mark_ready(REPO, 1, "Tests: passed", CommentEdit(comment_id=7, body="Done"))
    [sent] = [json.loads(request.content) for request in kit.list_requests(route)]
    assert sent["variables"] == {"pull": "PR_kw1", "body": "Tests: passed", "comment": "IC_kw7", "said": "Done"}
    writes = ("updatePullRequest", "markPullRequestReadyForReview", "updateIssueComment")
    places = [sent["query"].index(write) for write in writes]
    assert places == sorted(places), "it is described before people are called, and done before it is said to be"
