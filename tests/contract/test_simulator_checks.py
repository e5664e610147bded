"""Check runs keep GitHub's limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulator import Simulator
from simulator.state import Installation, Repository

RUNS = "/repos/octo-org/shop/check-runs"
OUTPUT: dict[str, Any] = {"title": "T", "summary": "S"}


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


@dataclass
class Scene:
    sim: Simulator
    clock: Clock
    repository: Repository
    installation: Installation
    github: httpx2.AsyncClient

    @property
    def sha(self) -> str:
        return self.repository.git.branch("main") or ""

    async def create(self, **body: Any) -> httpx2.Response:
        return await self.github.post(RUNS, json={"name": "Forge / review", "head_sha": self.sha, **body})


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    clock = Clock()
    async with Simulator(tmp_path, now=clock) as sim:
        repository = sim.create_repository("octo-org/shop")
        installation = sim.install(repository)
        headers = {"Authorization": f"token {sim.token(installation)}"}
        async with httpx2.AsyncClient(base_url=sim.api_url, headers=headers) as github:
            yield Scene(sim, clock, repository, installation, github)


def annotation(**more: Any) -> dict[str, Any]:
    base = {"path": "README.md", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "M"}
    return {**base, **more}


def action(**more: Any) -> dict[str, Any]:
    return {"label": "Approve", "description": "Let it pass", "identifier": "approve", **more}


async def test_run_goes_from_queued_to_completed(scene: Scene) -> None:
    run = (await scene.create(external_id="run-1")).json()
    assert (run["status"], run["conclusion"], run["external_id"]) == ("queued", None, "run-1")
    path = f"{RUNS}/{run['id']}"
    assert (await scene.github.patch(path, json={"status": "in_progress"})).json()["status"] == "in_progress"
    assert (await scene.github.patch(path, json={"status": "completed"})).status_code == 422
    done = (await scene.github.patch(path, json={"conclusion": "success", "output": OUTPUT})).json()
    assert (done["status"], done["conclusion"]) == ("completed", "success")
    assert done["completed_at"] == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    "body",
    [
        {"head_sha": "0" * 40},
        {"name": ""},
        {"status": "completed"},
        {"conclusion": "perfect"},
        {"output": {"title": "T"}},
        {"output": {**OUTPUT, "summary": "x" * 65_536}},
        {"output": {**OUTPUT, "text": "x" * 65_536}},
        {"output": {**OUTPUT, "annotations": [annotation()] * 51}},
        {"output": {**OUTPUT, "annotations": [annotation(message=None)]}},
        {"output": {**OUTPUT, "annotations": [annotation(title="x" * 256)]}},
        {"output": {**OUTPUT, "annotations": [annotation(message="x" * 65_537)]}},
        {"output": {**OUTPUT, "annotations": [annotation(annotation_level="error")]}},
        {"output": {**OUTPUT, "annotations": [annotation(start_line=2)]}},
        {"actions": [action()] * 4},
        {"actions": [action(label="x" * 21)]},
        {"actions": [action(description="x" * 41)]},
        {"actions": [action(identifier="x" * 21)]},
    ],
)
async def test_run_over_a_limit_is_refused_and_not_stored(scene: Scene, body: dict[str, Any]) -> None:
    answer = await scene.create(**body)
    assert answer.status_code == 422
    assert scene.sim.check_runs(scene.repository, scene.sha) == []


async def test_run_at_its_limits_is_accepted(scene: Scene) -> None:
    notes = [annotation(title="x" * 255, message="x" * 65_536)] * 50
    output = {"title": "T", "summary": "x" * 65_535, "text": "x" * 65_535, "annotations": notes}
    buttons = [action(label="x" * 20, description="x" * 40, identifier="x" * 20)] * 3
    assert (await scene.create(output=output, actions=buttons)).status_code == 201


async def test_annotations_append(scene: Scene) -> None:
    run = (await scene.create(output={**OUTPUT, "annotations": [annotation()] * 50})).json()
    more = {**OUTPUT, "annotations": [annotation(message="last")]}
    await scene.github.patch(f"{RUNS}/{run['id']}", json={"output": more})
    page = await scene.github.get(f"{RUNS}/{run['id']}/annotations?per_page=50&page=2")
    assert [item["message"] for item in page.json()] == ["last"]


async def test_only_its_own_app_updates_a_run_and_the_head_stays(scene: Scene) -> None:
    foreign = scene.sim.report_check(scene.repository, scene.sha, "build", None)
    assert (await scene.github.patch(f"{RUNS}/{foreign.id}", json={"name": "x"})).status_code == 403
    own = (await scene.create()).json()
    assert (await scene.github.patch(f"{RUNS}/{own['id']}", json={"head_sha": "0" * 40})).status_code == 422


async def test_runs_of_a_commit_are_filtered(scene: Scene) -> None:
    for conclusion in ("failure", "success"):
        await scene.create(status="completed", conclusion=conclusion)
    scene.sim.report_check(scene.repository, scene.sha, "build", "success")
    path = f"/repos/octo-org/shop/commits/{scene.sha}/check-runs"
    ours = (await scene.github.get(path, params={"app_id": scene.sim.app.id, "check_name": "Forge / review"})).json()
    every = (await scene.github.get(path, params={"filter": "all"})).json()
    assert [run["conclusion"] for run in ours["check_runs"]] == ["success"]
    assert every["total_count"] == 3


async def test_run_left_alone_for_two_weeks_is_stale(scene: Scene) -> None:
    run = (await scene.create(status="in_progress")).json()
    scene.clock.time += timedelta(days=15)
    headers = {"Authorization": f"token {scene.sim.token(scene.installation)}"}
    stale = (await scene.github.get(f"{RUNS}/{run['id']}", headers=headers)).json()
    assert (stale["status"], stale["conclusion"]) == ("completed", "stale")


async def test_buttons_show_only_on_a_completed_run(scene: Scene) -> None:
    alice = scene.sim.user("alice")
    await scene.create(status="in_progress", actions=[action()])
    run = scene.sim.check_runs(scene.repository, scene.sha)[0]
    with pytest.raises(LookupError):
        await alice.press(run, "approve")
    await scene.github.patch(f"{RUNS}/{run.id}", json={"conclusion": "action_required"})
    await alice.press(run, "approve")
    sent = scene.sim.deliveries[-1].payload
    assert (sent["action"], sent["requested_action"]) == ("requested_action", {"identifier": "approve"})
    with pytest.raises(LookupError):
        await alice.press(run, "other")


async def test_check_of_a_fork_names_no_pull_request(scene: Scene) -> None:
    bob, alice = scene.sim.user("bob"), scene.sim.user("alice")
    scene.sim.grant(scene.repository, alice, "write")
    fork = await bob.fork(scene.repository)
    await bob.push(fork, "theirs", {"a": "a\n"})
    await alice.push(scene.repository, "ours", {"b": "b\n"})
    foreign = await bob.open_pull_request(scene.repository, head_repo=fork, head="theirs")
    own = await alice.open_pull_request(scene.repository, head="ours")
    assert (await scene.create(head_sha=foreign.head_sha)).json()["pull_requests"] == []
    assert (await scene.create(head_sha=own.head_sha)).json()["pull_requests"][0]["number"] == own.number


async def test_deployments_and_their_statuses(scene: Scene) -> None:
    made = await scene.github.post("/repos/octo-org/shop/deployments", json={"ref": "main", "environment": "staging"})
    assert made.status_code == 201
    scene.sim.report_deployment(scene.repository, made.json()["id"], "success", "https://staging.example.org")
    statuses = await scene.github.get(f"/repos/octo-org/shop/deployments/{made.json()['id']}/statuses")
    assert statuses.json()[0]["state"] == "success"
    assert scene.sim.deliveries[-1].event == "deployment_status"
