"""What a person's token and that of a job of GitHub Actions may do, and in which words GitHub refuses the rest."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulator import Simulator, User
from simulator.state import PullRequest, Repository

REVIEW = {"event": "COMMENT", "body": "Seen."}


@dataclass
class Scene:
    sim: Simulator
    alice: User
    repository: Repository
    pull: PullRequest

    async def ask(self, token: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        url = self.sim.url if path.startswith("/api/") else self.sim.api_url
        async with httpx2.AsyncClient(base_url=url, headers={"Authorization": f"token {token}"}) as github:
            return await github.request(method, path, json=body)

    async def review(self, token: str) -> tuple[int, str]:
        answer = await self.ask(token, "POST", f"/repos/octo-org/shop/pulls/{self.pull.number}/reviews", REVIEW)
        return answer.status_code, answer.json().get("message", answer.json().get("state"))

    async def whoami(self, token: str) -> dict[str, Any]:
        query = {"query": "query { viewer { databaseId login } }"}
        return (await self.ask(token, "POST", "/api/graphql", query)).json()["data"]["viewer"]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with Simulator(tmp_path) as sim:
        repository, alice = sim.create_repository("octo-org/shop", private=True), sim.user("alice")
        sim.grant(repository, alice, "write")
        await alice.push(repository, "feature", {"app.py": "x = 1\n"}, base="main")
        yield Scene(sim, alice, repository, await alice.open_pull_request(repository, "feature"))


async def test_who_may_read_may_review(scene: Scene) -> None:
    reader = scene.sim.user("bob")
    scene.sim.grant(scene.repository, reader, "read")
    token = scene.sim.personal_token(reader)
    assert await scene.review(token) == (200, "COMMENTED")
    assert await scene.whoami(token) == {"databaseId": reader.id, "login": "bob"}
    stranger = scene.sim.personal_token(scene.sim.user("mallory"))
    assert await scene.review(stranger) == (404, "Not Found")


async def test_nobody_but_an_app_makes_a_check(scene: Scene) -> None:
    body = {"name": "x", "head_sha": scene.pull.head_sha}
    token = scene.sim.personal_token(scene.alice)
    answer = await scene.ask(token, "POST", "/repos/octo-org/shop/check-runs", body)
    assert (answer.status_code, answer.json()["message"]) == (403, "You must authenticate via a GitHub App.")


async def test_a_fine_grained_token(scene: Scene) -> None:
    other = scene.sim.create_repository("octo-org/other", private=True)
    scene.sim.grant(other, scene.alice, "write")
    reading = {"contents": "read", "pull_requests": "read"}
    token = scene.sim.personal_token(scene.alice, reading, [scene.repository])
    assert await scene.review(token) == (403, "Resource not accessible by personal access token")
    assert (await scene.ask(token, "GET", "/repos/octo-org/other")).status_code == 404
    token = scene.sim.personal_token(scene.alice, {**reading, "pull_requests": "write"}, [scene.repository])
    assert await scene.review(token) == (200, "COMMENTED")


async def test_the_token_of_a_job(scene: Scene) -> None:
    token = scene.sim.job_token(scene.repository, {"pull_requests": "read"})
    assert await scene.review(token) == (403, "Resource not accessible by integration")
    assert (await scene.ask(token, "GET", "/user")).status_code == 403
    bot = scene.sim.world.other_app("github-actions").bot
    assert await scene.whoami(token) == {"databaseId": bot.id, "login": "github-actions[bot]"}
    scene.sim.create_repository("octo-org/other", private=True)
    assert (await scene.ask(token, "GET", "/repos/octo-org/other")).status_code == 404


async def test_an_expired_token(scene: Scene) -> None:
    assert await scene.review(scene.sim.personal_token(scene.alice, days=-1)) == (401, "Bad credentials")
