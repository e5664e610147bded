"""Pages, ETags, rate limits, injected faults and git over HTTP."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from simulator import Dropped, RequestInfo, Simulator, User
from simulator.errors import Moment
from simulator.gitstore import git_environment
from simulator.state import Installation, Repository

ISSUES = "/repos/octo-org/shop/issues"


@dataclass
class Scene:
    sim: Simulator
    alice: User
    repository: Repository
    installation: Installation
    github: httpx2.AsyncClient


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with Simulator(tmp_path / "data") as sim:
        repository = sim.create_repository("octo-org/shop", files={"a.py": "a\n"}, private=True)
        installation, alice = sim.install(repository), sim.user("alice")
        sim.grant(repository, alice, "write")
        headers = {"Authorization": f"token {sim.token(installation)}"}
        async with httpx2.AsyncClient(base_url=sim.api_url, headers=headers) as github:
            yield Scene(sim, alice, repository, installation, github)


async def test_lists_are_paged_with_absolute_links(scene: Scene) -> None:
    for number in range(5):
        await scene.alice.open_issue(scene.repository, f"Issue {number}")
    first = await scene.github.get(ISSUES, params={"per_page": 2})
    assert set(first.links) == {"next", "last"}
    assert first.links["last"]["url"].startswith(f"{scene.sim.api_url}{ISSUES}?")
    last = await scene.github.get(first.links["last"]["url"])
    assert (set(last.links), len(last.json())) == ({"prev", "first"}, 1)


async def test_unchanged_answer_is_not_sent_again_and_is_free(scene: Scene) -> None:
    first = await scene.github.get(ISSUES)
    again = await scene.github.get(ISSUES, headers={"If-None-Match": first.headers["ETag"]})
    assert first.headers["ETag"].startswith('W/"')
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-used"] == first.headers["x-ratelimit-used"]
    await scene.alice.open_issue(scene.repository, "New")
    changed = await scene.github.get(ISSUES, headers={"If-None-Match": first.headers["ETag"]})
    assert changed.status_code == 200


async def test_primary_limit(scene: Scene) -> None:
    scene.installation.rate_limit = 2
    answers = [await scene.github.get(ISSUES) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 403]
    assert answers[2].headers["x-ratelimit-remaining"] == "0"
    assert "rate limit exceeded" in answers[2].json()["message"]


async def test_secondary_limit_on_writes(scene: Scene) -> None:
    scene.sim.api.limits.content_writes_per_minute = 1
    answers = [await scene.github.post(ISSUES, json={"title": "T"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 403]
    assert answers[1].headers["retry-after"] == "60"
    assert len(scene.repository.issues) == 1


async def test_fault_before_the_effect(scene: Scene) -> None:
    scene.sim.faults.add(kind="before", method="POST", path="/issues$", status=502)
    assert (await scene.github.post(ISSUES, json={"title": "T"})).status_code == 502
    assert scene.repository.issues == {}
    assert (await scene.github.post(ISSUES, json={"title": "T"})).status_code == 201


async def test_fault_after_the_effect(scene: Scene) -> None:
    scene.sim.faults.add(kind="after", method="POST", path="/issues$", status=500)
    assert (await scene.github.post(ISSUES, json={"title": "T"})).status_code == 500
    assert len(scene.repository.issues) == 1
    assert [(write.path, write.status) for write in scene.sim.writes()] == [(ISSUES, 500)]


async def test_lost_answer_and_lost_request(scene: Scene) -> None:
    scene.sim.faults.add(kind="reset", method="POST")
    with pytest.raises(httpx2.TransportError):
        await scene.github.post(ISSUES, json={"title": "T"})
    assert len(scene.repository.issues) == 1
    scene.sim.faults.add(kind="reset_before", method="POST")
    with pytest.raises(httpx2.TransportError):
        await scene.github.post(ISSUES, json={"title": "T"})
    assert len(scene.repository.issues) == 1


async def test_truncated_page_and_slow_answer(scene: Scene) -> None:
    for number in range(4):
        await scene.alice.open_issue(scene.repository, f"Issue {number}")
    scene.sim.faults.add(kind="truncated", path="/issues")
    page = await scene.github.get(ISSUES, params={"per_page": 2})
    assert (len(page.json()), page.links) == (1, {})
    scene.sim.faults.add(kind="slow", delay=0.3)
    with pytest.raises(httpx2.ReadTimeout):
        await scene.github.get(ISSUES, timeout=0.1)


async def test_write_hooks_see_every_write_before_and_after(scene: Scene) -> None:
    seen: list[tuple[Moment, int]] = []

    async def watch(request: RequestInfo, moment: Moment) -> None:
        seen.append((moment, len(scene.repository.issues)))

    stop = scene.sim.on_write(watch)
    await scene.github.get(ISSUES)
    await scene.github.post(ISSUES, json={"title": "T"})
    stop()
    await scene.github.post(ISSUES, json={"title": "T"})
    assert seen == [("before", 0), ("after", 1)]


async def test_write_hook_may_drop_the_request(scene: Scene) -> None:
    async def drop(request: RequestInfo, moment: Moment) -> None:
        raise Dropped

    scene.sim.on_write(drop)
    with pytest.raises(httpx2.TransportError):
        await scene.github.post(ISSUES, json={"title": "T"})
    assert scene.repository.issues == {}


async def test_unknown_path_and_broken_body(scene: Scene) -> None:
    assert (await scene.github.get("/nothing/here")).json()["message"] == "Not Found"
    assert (await scene.github.post(ISSUES, content=b"{")).status_code == 400
    assert (await scene.github.get(ISSUES, headers={"Authorization": ""})).status_code == 401


async def git(scene: Scene, *arguments: str, token: str | None = "", cwd: Path | None = None) -> tuple[int, str]:
    """Run git with an installation token, another password, or (None) without any."""
    secret = scene.sim.token(scene.installation) if token == "" else token
    options: list[str] = []
    if secret is not None:
        basic = base64.b64encode(f"x-access-token:{secret}".encode()).decode()
        options = ["-c", f"http.extraHeader=Authorization: Basic {basic}"]
    identity = ["-c", "user.name=Forge", "-c", "user.email=forge@example.org"]
    environment = {**git_environment(), "GIT_TERMINAL_PROMPT": "0"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "git", *options, *identity, *arguments, cwd=cwd, env=environment, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def test_private_repository_is_cloned_with_a_token_only(scene: Scene, tmp_path: Path) -> None:
    url = f"{scene.sim.url}/octo-org/shop.git"
    assert (await git(scene, "clone", url, str(tmp_path / "none"), token=None))[0] != 0
    assert (await git(scene, "clone", url, str(tmp_path / "wrong"), token="ghs_wrong"))[0] != 0
    code, out = await git(scene, "clone", "--filter=blob:none", url, str(tmp_path / "right"))
    assert code == 0, out
    assert (tmp_path / "right" / "a.py").read_text() == "a\n"


async def test_head_of_a_fork_is_fetched_through_the_base(scene: Scene, tmp_path: Path) -> None:
    bob = scene.sim.user("bob")
    scene.sim.grant(scene.repository, bob, "read")
    fork = await bob.fork(scene.repository)
    await bob.push(fork, "feature", {"b.py": "b\n"})
    pull = await bob.open_pull_request(scene.repository, head_repo=fork, head="feature")
    await git(scene, "init", "-q", str(tmp_path / "work"))
    url = f"{scene.sim.url}/octo-org/shop.git"
    code, out = await git(scene, "fetch", url, f"refs/pull/{pull.number}/head", cwd=tmp_path / "work")
    assert code == 0, out
    code, out = await git(scene, "fetch", "--depth=1", url, pull.head_sha, cwd=tmp_path / "work")
    assert code == 0, out
    assert (await git(scene, "rev-parse", "FETCH_HEAD", cwd=tmp_path / "work"))[1].strip() == pull.head_sha


async def push_file(scene: Scene, work: Path, path: str, branch: str, token: str = "") -> tuple[int, str]:
    url = f"{scene.sim.url}/octo-org/shop.git"
    if not work.exists():
        await git(scene, "clone", "-q", url, str(work))
    (work / path).parent.mkdir(parents=True, exist_ok=True)
    (work / path).write_text("new\n")
    await git(scene, "add", "-A", cwd=work)
    await git(scene, "commit", "-q", "-m", "Change", cwd=work)
    return await git(scene, "push", url, f"HEAD:refs/heads/{branch}", token=token, cwd=work)


async def test_push_over_http_moves_the_branch_and_tells_the_app(scene: Scene, tmp_path: Path) -> None:
    code, out = await push_file(scene, tmp_path / "work", "b.py", "forge/1")
    assert code == 0, out
    assert scene.repository.git.read("forge/1", "b.py") == b"new\n"
    push = next(item.payload for item in reversed(scene.sim.deliveries) if item.event == "push")
    assert (push["ref"], push["sender"]["login"]) == ("refs/heads/forge/1", "forge[bot]")
    assert scene.sim.writes()[-1].path.endswith("git-receive-pack")


async def test_push_needs_permission(scene: Scene, tmp_path: Path) -> None:
    reader = scene.sim.token(scene.installation, {"contents": "read"})
    code, out = await push_file(scene, tmp_path / "work", "b.py", "x", token=reader)
    assert code != 0
    assert "403" in out
    code, out = await push_file(scene, tmp_path / "other", ".github/workflows/ci.yml", "x")
    assert code != 0
    assert "without 'workflows' permission" in out
    assert (await push_file(scene, tmp_path / "third", "b.py", "x"))[0] == 0
    assert (await git(scene, "push", f"{scene.sim.url}/octo-org/shop.git", "HEAD:refs/pull/1/head"))[0] != 0


async def test_a_protected_branch_is_not_pushed_to(scene: Scene, tmp_path: Path) -> None:
    before = scene.repository.git.branch("main")
    rules = scene.sim.protect(scene.repository, "main", ["build"])
    code, out = await push_file(scene, tmp_path / "work", "b.py", "main")
    assert code != 0
    assert "GH006: Protected branch update failed for refs/heads/main" in out
    assert scene.repository.git.branch("main") == before
    assert (await push_file(scene, tmp_path / "work", "c.py", "mainly"))[0] == 0
    scene.repository.rules["main"].remove(rules)
    assert (await push_file(scene, tmp_path / "work", "d.py", "main"))[0] == 0
