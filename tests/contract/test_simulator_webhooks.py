"""Webhooks are signed, sent once, logged and redelivered with the same guid."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from aiohttp import web

from simulator import Simulator, User
from simulator.state import Repository


@dataclass
class Door:
    """A webhook endpoint that answers `status`."""

    url: str = ""
    status: int = 202
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list[tuple[dict[str, str], bytes]])

    async def take(self, request: web.Request) -> web.Response:
        self.received.append((dict(request.headers), await request.read()))
        return web.Response(status=self.status)


@dataclass
class Scene:
    sim: Simulator
    door: Door
    alice: User
    repository: Repository

    def events(self) -> list[tuple[str, str | None]]:
        return [(delivery.event, delivery.action) for delivery in self.sim.deliveries]

    def last(self, event: str) -> dict[str, Any]:
        return next(item.payload for item in reversed(self.sim.deliveries) if item.event == event)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    door = Door()
    server = web.Application()
    server.router.add_post("/webhook", door.take)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    door.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    async with Simulator(tmp_path, door.url, "s3cret") as sim:
        repository, alice = sim.create_repository("octo-org/shop", files={"a.py": "a\n"}), sim.user("alice")
        sim.grant(repository, alice, "write")
        sim.install(repository)
        yield Scene(sim, door, alice, repository)
    await runner.cleanup()


def app_headers(sim: Simulator) -> dict[str, str]:
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + 500, "iss": str(sim.app.id)}
    return {"Authorization": "Bearer " + jwt.encode(claims, sim.app.private_key_pem, algorithm="RS256")}


async def test_deliveries_are_signed_over_the_raw_bytes(scene: Scene) -> None:
    await scene.sim.settle()
    headers, raw = scene.door.received[0]
    expected = "sha256=" + hmac.new(b"s3cret", raw, hashlib.sha256).hexdigest()
    assert headers["X-Hub-Signature-256"] == expected
    assert headers["X-GitHub-Event"] == "installation"
    assert headers["User-Agent"].startswith("GitHub-Hookshot/")
    assert json.loads(raw)["action"] == "created"
    assert scene.sim.deliveries[0].status_code == 202


async def test_life_of_a_pull_request_in_events(scene: Scene) -> None:
    alice, repository, sim = scene.alice, scene.repository, scene.sim
    before = await alice.push(repository, "feature", {"a.py": "b\n"})
    pull = await alice.open_pull_request(repository, head="feature", draft=True)
    after = await alice.push(repository, "feature", {"a.py": "c\n"})
    synchronized = scene.last("pull_request")
    await alice.mark_ready(pull)
    await alice.convert_to_draft(pull)
    await alice.label(pull, "forge")
    await alice.push(repository, "next", {"n": "n\n"}, base="main")
    await alice.edit_base(pull, "next")
    await alice.close(pull)
    await alice.reopen(pull)
    await alice.comment(pull, "/forge review")
    await sim.settle()
    actions = [action for event, action in scene.events() if event == "pull_request"]
    assert actions == [
        "opened",
        "synchronize",
        "ready_for_review",
        "converted_to_draft",
        "labeled",
        "edited",
        "closed",
        "reopened",
    ]
    assert (synchronized["before"], synchronized["after"]) == (before, after)
    assert synchronized["pull_request"]["head"]["sha"] == after
    assert synchronized["repository"]["owner"]["login"] == "octo-org"
    assert synchronized["organization"]["login"] == "octo-org"
    assert synchronized["sender"]["id"] == alice.id
    assert scene.last("issue_comment")["comment"]["performed_via_github_app"] is None
    assert ("check_suite", "requested") in scene.events()
    assert len(scene.door.received) == len(sim.deliveries)


async def test_failed_delivery_is_found_in_the_log_and_redelivered(scene: Scene) -> None:
    await scene.sim.settle()
    scene.door.status = 500
    await scene.alice.open_issue(scene.repository, "Broken")
    await scene.sim.settle()
    scene.door.status = 202
    async with httpx2.AsyncClient(base_url=scene.sim.api_url, headers=app_headers(scene.sim)) as app:
        log = (await app.get("/app/hook/deliveries?status=failure")).json()
        answer = await app.post(f"/app/hook/deliveries/{log[0]['id']}/attempts")
        await scene.sim.settle()
        again = (await app.get("/app/hook/deliveries?per_page=1")).json()[0]
        full = (await app.get(f"/app/hook/deliveries/{again['id']}")).json()
    assert (log[0]["status_code"], answer.status_code) == (500, 202)
    assert (again["guid"], again["redelivery"], again["status"]) == (log[0]["guid"], True, "OK")
    assert full["request"]["payload"]["issue"]["title"] == "Broken"
    first, second = scene.door.received[-2:]
    assert first[0]["X-GitHub-Delivery"] == second[0]["X-GitHub-Delivery"]


async def test_delivery_log_is_paged_by_cursor(scene: Scene) -> None:
    for number in range(5):
        await scene.alice.open_issue(scene.repository, f"Issue {number}")
    await scene.sim.settle()
    seen: list[int] = []
    async with httpx2.AsyncClient(base_url=scene.sim.api_url, headers=app_headers(scene.sim)) as app:
        page = await app.get("/app/hook/deliveries?per_page=2")
        seen += [item["id"] for item in page.json()]
        while "next" in page.links:
            page = await app.get(page.links["next"]["url"])
            seen += [item["id"] for item in page.json()]
    assert seen == [delivery.id for delivery in reversed(scene.sim.deliveries)]


async def test_held_deliveries_may_arrive_out_of_order(scene: Scene) -> None:
    await scene.sim.settle()
    scene.door.received.clear()
    scene.sim.hold_deliveries()
    for title in ("one", "two"):
        await scene.alice.open_issue(scene.repository, title)
    scene.sim.release_deliveries(reverse=True)
    await scene.sim.settle()
    assert {json.loads(raw)["issue"]["title"] for _, raw in scene.door.received} == {"one", "two"}


async def test_unreachable_door_is_logged_not_retried(scene: Scene) -> None:
    await scene.sim.settle()
    scene.sim.webhook_url = "http://127.0.0.1:1/webhook"
    await scene.alice.open_issue(scene.repository, "Nobody home")
    await scene.sim.settle()
    assert scene.sim.deliveries[-1].status == "failed to connect to host"
    assert len([item for item in scene.sim.deliveries if item.event == "issues"]) == 1


async def test_suspended_or_removed_installation_hears_nothing(scene: Scene) -> None:
    installation = next(iter(scene.sim.world.installations.values()))
    scene.sim.suspend(installation)
    count = len(scene.sim.deliveries)
    await scene.alice.open_issue(scene.repository, "Unheard")
    assert len(scene.sim.deliveries) == count
    scene.sim.unsuspend(installation)
    scene.sim.uninstall(installation)
    assert scene.events()[-2:] == [("installation", "unsuspend"), ("installation", "deleted")]


async def test_app_hears_of_its_own_comments_and_checks(scene: Scene) -> None:
    issue = await scene.alice.open_issue(scene.repository, "Broken")
    token = scene.sim.token(next(iter(scene.sim.world.installations.values())))
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=scene.sim.api_url, headers=headers) as github:
        await github.post(f"/repos/octo-org/shop/issues/{issue.number}/comments", json={"body": "Hello."})
        run = {"name": "x", "head_sha": scene.repository.git.branch("main"), "conclusion": "success"}
        await github.post("/repos/octo-org/shop/check-runs", json=run)
    comment = scene.last("issue_comment")
    assert (comment["sender"]["login"], comment["comment"]["performed_via_github_app"]["id"]) == (
        "forge[bot]",
        scene.sim.app.id,
    )
    assert scene.events()[-3:] == [
        ("check_run", "created"),
        ("check_run", "completed"),
        ("check_suite", "completed"),
    ]


async def test_other_events(scene: Scene) -> None:
    alice, repository, sim = scene.alice, scene.repository, scene.sim
    head = await alice.push(repository, "feature", {"a.py": "b\n"})
    pull = await alice.open_pull_request(repository, head="feature")
    sha = sim.queue_for_merge(pull)
    assert scene.last("merge_group")["merge_group"]["head_sha"] == sha
    sim.report_workflow(repository, head, "CI", "success", "feature")
    assert scene.last("workflow_run")["workflow_run"]["conclusion"] == "success"
    await alice.review(pull, "COMMENT", comments=[{"path": "a.py", "line": 1, "body": "Hm."}])
    await alice.resolve(sim.threads(pull)[0])
    assert scene.last("pull_request_review_thread")["action"] == "resolved"
    sim.rename(repository, "store")
    assert scene.last("repository")["changes"]["repository"]["name"]["from"] == "shop"
    sim.ping()
    assert scene.events()[-1] == ("ping", None)
