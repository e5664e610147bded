"""Reviews are stored whole or not at all, and their comments follow the head."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulator import Simulator, User
from simulator.state import PullRequest, Repository

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
CHANGED = TEXT.replace("line 5\n", "line five\n").replace("line 30\n", "line thirty\nline thirty and a half\n")


@dataclass
class Scene:
    sim: Simulator
    alice: User
    repository: Repository
    pull: PullRequest
    github: httpx2.AsyncClient

    @property
    def path(self) -> str:
        return f"/repos/octo-org/shop/pulls/{self.pull.number}"

    async def review(self, *comments: dict[str, Any], **more: Any) -> httpx2.Response:
        body = {"commit_id": self.pull.head_sha, "event": "COMMENT", "body": "Seen.", "comments": list(comments)}
        return await self.github.post(f"{self.path}/reviews", json={**body, **more})

    async def query(self, text: str, **variables: Any) -> dict[str, Any]:
        url = self.sim.url + "/api/graphql"
        answer = await self.github.post(url, json={"query": text, "variables": variables})
        return answer.json()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with Simulator(tmp_path) as sim:
        repository = sim.create_repository("octo-org/shop", files={"app.py": TEXT})
        installation, alice = sim.install(repository), sim.user("alice")
        sim.grant(repository, alice, "write")
        await alice.push(repository, "feature", {"app.py": CHANGED})
        pull = await alice.open_pull_request(repository, head="feature")
        headers = {"Authorization": f"token {sim.token(installation)}"}
        async with httpx2.AsyncClient(base_url=sim.api_url, headers=headers) as github:
            yield Scene(sim, alice, repository, pull, github)


def on(line: int, **more: Any) -> dict[str, Any]:
    return {"path": "app.py", "line": line, "side": "RIGHT", "body": "Look here.", **more}


async def test_review_with_comments_on_changed_and_context_lines(scene: Scene) -> None:
    answer = await scene.review(on(5), on(8), on(31, start_line=29, start_side="RIGHT"), on(30, side="LEFT"))
    assert answer.status_code == 200
    review = answer.json()
    assert (review["state"], review["user"]["login"], review["user"]["type"]) == ("COMMENTED", "forge[bot]", "Bot")
    comments = (await scene.github.get(f"{scene.path}/reviews/{review['id']}/comments")).json()
    assert [(c["line"], c["start_line"], c["side"]) for c in comments] == [
        (5, None, "RIGHT"),
        (8, None, "RIGHT"),
        (31, 29, "RIGHT"),
        (30, None, "LEFT"),
    ]
    assert comments[0]["diff_hunk"].endswith("+line five")
    assert comments[0]["performed_via_github_app"]["slug"] == "forge"


@pytest.mark.parametrize(
    ("comment", "error"),
    [
        (on(9), "Line could not be resolved"),
        (on(1), "Line could not be resolved"),
        (on(999), "Line could not be resolved"),
        (on(5, path="other.py"), "Path could not be resolved"),
        (on(31, start_line=5, start_side="RIGHT"), "Start line could not be resolved"),
    ],
)
async def test_one_misplaced_comment_refuses_the_whole_review(
    scene: Scene, comment: dict[str, Any], error: str
) -> None:
    answer = await scene.review(on(5), comment)
    assert answer.status_code == 422
    assert answer.json()["message"] == "Unprocessable Entity"
    assert answer.json()["errors"] == [error]
    assert scene.sim.reviews(scene.pull) == []
    assert scene.sim.review_comments(scene.pull) == []


async def test_blank_too_long_and_file_level_reviews_are_refused(scene: Scene) -> None:
    assert (await scene.review(body="")).status_code == 422
    assert (await scene.review(body="x" * 65_537)).status_code == 422
    assert (await scene.review(on(5, body="x" * 65_537))).status_code == 422
    assert (await scene.review(on(5, subject_type="file"))).status_code == 422
    assert (await scene.review(body="x" * 65_536)).status_code == 200
    assert (await scene.review(on(5), body="")).status_code == 200


async def test_app_cannot_approve_its_own_pull_request(scene: Scene) -> None:
    await scene.alice.push(scene.repository, "other", {"b.py": "b\n"})
    request = {"title": "Mine", "head": "other", "base": "main"}
    number = (await scene.github.post("/repos/octo-org/shop/pulls", json=request)).json()["number"]
    path = f"/repos/octo-org/shop/pulls/{number}/reviews"
    refused = await scene.github.post(path, json={"event": "APPROVE", "body": "Good."})
    assert refused.status_code == 422
    assert refused.json()["errors"] == ["Review Can not approve your own pull request"]
    assert (await scene.review(event="APPROVE")).json()["state"] == "APPROVED"


async def test_review_is_edited_and_dismissed_but_never_deleted(scene: Scene) -> None:
    review = (await scene.review(event="REQUEST_CHANGES")).json()
    path = f"{scene.path}/reviews/{review['id']}"
    assert (await scene.github.put(path, json={"body": "Other words."})).json()["body"] == "Other words."
    assert (await scene.github.delete(path)).status_code == 422
    dismissed = await scene.github.put(f"{path}/dismissals", json={"message": "Done."})
    assert dismissed.json()["state"] == "DISMISSED"


async def test_single_comments_file_level_and_replies(scene: Scene) -> None:
    base = {"commit_id": scene.pull.head_sha, "path": "app.py", "body": "Text."}
    whole = await scene.github.post(f"{scene.path}/comments", json={**base, "subject_type": "file"})
    assert (whole.status_code, whole.json()["subject_type"], whole.json()["line"]) == (201, "file", None)
    off = await scene.github.post(f"{scene.path}/comments", json={**base, "line": 20, "side": "RIGHT"})
    assert off.status_code == 422
    assert off.json()["errors"][0]["field"] == "pull_request_review_thread.line"
    first = (await scene.github.post(f"{scene.path}/comments", json={**base, "line": 5})).json()
    reply = await scene.github.post(f"{scene.path}/comments/{first['id']}/replies", json={"body": "Yes."})
    assert (reply.status_code, reply.json()["in_reply_to_id"]) == (201, first["id"])
    assert len(scene.sim.threads(scene.pull)) == 2


async def test_comment_of_another_commit_is_refused(scene: Scene) -> None:
    stranger = scene.repository.git.branch("main")
    answer = await scene.review(on(5), commit_id=stranger)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == "commit_id is not part of the pull request"


async def test_comments_follow_a_push_or_become_outdated(scene: Scene) -> None:
    await scene.review(on(5), on(30))
    text = "new first line\n" + CHANGED.replace("line thirty\n", "line 3-0\n")
    await scene.alice.push(scene.repository, "feature", {"app.py": text})
    kept, gone = (await scene.github.get(f"{scene.path}/comments")).json()
    assert (kept["line"], kept["original_line"], kept["commit_id"]) == (6, 5, scene.pull.head_sha)
    assert (gone["line"], gone["position"], gone["original_line"]) == (None, None, 30)
    assert [thread.outdated for thread in scene.sim.threads(scene.pull)] == [False, True]


async def test_force_push_outdates_what_it_changed(scene: Scene) -> None:
    await scene.review(on(5))
    before = scene.pull.head_sha
    await scene.alice.push(
        scene.repository, "feature", {"app.py": TEXT.replace("line 5\n", "V\n")}, base="main", force=True
    )
    assert not scene.repository.git.is_ancestor(before, scene.pull.head_sha)
    assert scene.sim.review_comments(scene.pull)[0].line is None


async def test_review_of_an_older_commit_meets_the_present_diff(scene: Scene) -> None:
    older = scene.pull.head_sha
    await scene.alice.push(scene.repository, "feature", {"app.py": CHANGED.replace("line five\n", "line V\n")})
    assert (await scene.review(on(5), commit_id=older)).status_code == 200
    assert scene.sim.review_comments(scene.pull)[0].line is None


async def test_suggestion_replaces_exactly_the_commented_lines(scene: Scene) -> None:
    body = "Better:\n```suggestion\nline 30\n```\n"
    await scene.review(on(31, start_line=30, start_side="RIGHT", body=body))
    await scene.alice.apply_suggestion(scene.sim.review_comments(scene.pull)[0])
    content = scene.repository.git.read("feature", "app.py")
    assert content == TEXT.replace("line 5\n", "line five\n").encode()


THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 1, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved isOutdated path line comments(first: 10) { nodes { databaseId author { login } body } } }
    } } } }
"""
RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"


async def test_threads_are_listed_by_page_and_resolved(scene: Scene) -> None:
    await scene.review(on(5), on(30))
    where = {"owner": "octo-org", "name": "shop", "number": scene.pull.number}
    first = (await scene.query(THREADS, **where))["data"]["repository"]["pullRequest"]["reviewThreads"]
    rest = await scene.query(THREADS, **where, after=first["pageInfo"]["endCursor"])
    second = rest["data"]["repository"]["pullRequest"]["reviewThreads"]
    assert (first["pageInfo"]["hasNextPage"], second["pageInfo"]["hasNextPage"]) == (True, False)
    assert [first["nodes"][0]["line"], second["nodes"][0]["line"]] == [5, 30]
    assert first["nodes"][0]["comments"]["nodes"][0]["author"] == {"login": "forge"}
    resolved = await scene.query(RESOLVE, id=first["nodes"][0]["id"])
    assert resolved["data"]["resolveReviewThread"]["thread"]["isResolved"] is True
    assert [thread.resolved for thread in scene.sim.threads(scene.pull)] == [True, False]


async def test_resolving_needs_the_permission_for_contents(scene: Scene) -> None:
    await scene.review(on(5))
    installation = next(iter(scene.sim.world.installations.values()))
    token = scene.sim.token(installation, {"pull_requests": "write", "contents": "read"})
    scene.github.headers["Authorization"] = f"token {token}"
    answer = await scene.query(RESOLVE, id=scene.sim.threads(scene.pull)[0].node_id)
    assert answer["errors"][0]["type"] == "FORBIDDEN"


async def test_graphql_names_what_it_does_not_know(scene: Scene) -> None:
    answer = await scene.query("query { nonsense { id } }")
    assert answer["errors"][0]["message"] == "Field 'nonsense' doesn't exist on type 'Query'"


async def test_reactions_labels_and_comments(scene: Scene) -> None:
    issue = f"/repos/octo-org/shop/issues/{scene.pull.number}"
    comment = (await scene.github.post(f"{issue}/comments", json={"body": "Hello."})).json()
    path = f"/repos/octo-org/shop/issues/comments/{comment['id']}"
    assert comment["performed_via_github_app"]["id"] == scene.sim.app.id
    assert (await scene.github.post(f"{path}/reactions", json={"content": "eyes"})).status_code == 201
    assert (await scene.github.post(f"{path}/reactions", json={"content": "eyes"})).status_code == 200
    assert (await scene.github.post(f"{path}/reactions", json={"content": "nope"})).status_code == 422
    assert (await scene.github.post(f"{issue}/labels", json={"labels": ["forge"]})).json()[0]["name"] == "forge"
    assert (await scene.github.delete(f"{issue}/labels/forge")).json() == []
    assert (await scene.github.delete(f"{issue}/labels/forge")).status_code == 404
    assert (await scene.github.post(f"{issue}/comments", json={"body": "x" * 65_537})).status_code == 422
    assert (await scene.github.patch(path, json={"body": "Edited."})).json()["body"] == "Edited."
    assert (await scene.github.delete(path)).status_code == 204
    assert (await scene.github.get(path)).status_code == 404
