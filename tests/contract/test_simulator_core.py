"""The simulator's app, tokens, repositories and pull requests answer as GitHub's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from simulator import Commit, Simulator
from simulator.state import Installation, Repository

JSON = {"Accept": "application/json"}
TEXT = "".join(f"line {number}\n" for number in range(1, 41))


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sim(tmp_path: Path, clock: Clock) -> AsyncIterator[Simulator]:
    async with Simulator(tmp_path, now=clock) as simulator:
        yield simulator


def app_token(sim: Simulator, key: str | None = None, **claims: Any) -> str:
    now = int(sim.world.now().timestamp())
    payload = {"iat": now - 60, "exp": now + 540, "iss": str(sim.app.id), **claims}
    return jwt.encode(payload, key or sim.app.private_key_pem, algorithm="RS256")


def app_client(sim: Simulator, **claims: Any) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {app_token(sim, **claims)}"}
    return httpx2.AsyncClient(base_url=sim.api_url, headers=headers)


async def client_for(sim: Simulator, installation: Installation, **wanted: Any) -> httpx2.AsyncClient:
    async with app_client(sim) as app:
        made = await app.post(f"/app/installations/{installation.id}/access_tokens", json=wanted)
    assert made.status_code == 201, made.text
    headers = {"Authorization": f"token {made.json()['token']}"}
    return httpx2.AsyncClient(base_url=sim.api_url, headers=headers)


def shop(sim: Simulator, private: bool = False, **files: str) -> Repository:
    return sim.create_repository("octo-org/shop", files={"app.py": TEXT, **files}, private=private)


async def test_app_is_told_by_its_signed_token(sim: Simulator) -> None:
    async with app_client(sim) as app:
        answer = await app.get("/app")
    assert answer.status_code == 200
    assert answer.json()["slug"] == "forge"
    assert answer.json()["permissions"]["checks"] == "write"


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": 4_000_000_000}, "too far in the future"),
        ({"exp": 1}, "future time"),
        ({"iat": 4_000_000_000}, "'iat'"),
        ({"iss": "7"}, "Integration not found"),
    ],
)
async def test_app_token_with_wrong_claims_is_refused(sim: Simulator, claims: dict[str, Any], message: str) -> None:
    async with app_client(sim, **claims) as app:
        answer = await app.get("/app")
    assert answer.status_code == 401
    assert message in answer.json()["message"]


async def test_app_token_of_another_key_is_refused(sim: Simulator) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    async with httpx2.AsyncClient(base_url=sim.api_url) as stranger:
        answer = await stranger.get("/app", headers={"Authorization": f"Bearer {app_token(sim, pem)}"})
    assert (answer.status_code, answer.json()["message"]) == (401, "A JSON web token could not be decoded")


async def test_installation_token_lives_for_an_hour(sim: Simulator, clock: Clock) -> None:
    installation = sim.install(shop(sim, private=True))
    async with await client_for(sim, installation) as github:
        assert (await github.get("/repos/octo-org/shop")).status_code == 200
        clock.time += timedelta(minutes=61)
        answer = await github.get("/repos/octo-org/shop")
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


async def test_suspended_and_unknown_installations_give_no_token(sim: Simulator) -> None:
    installation = sim.install(shop(sim))
    sim.suspend(installation)
    async with app_client(sim) as app:
        suspended = await app.post(f"/app/installations/{installation.id}/access_tokens")
        unknown = await app.post("/app/installations/1/access_tokens")
    assert (suspended.status_code, unknown.status_code) == (403, 404)


async def test_private_repository_outside_the_installation_is_not_found(sim: Simulator) -> None:
    sim.create_repository("other/secret", private=True)
    async with await client_for(sim, sim.install(shop(sim))) as github:
        assert (await github.get("/repos/other/secret")).status_code == 404


async def test_narrowed_token_lacks_what_it_was_not_given(sim: Simulator) -> None:
    repository = shop(sim)
    sha = repository.git.branch("main")
    installation = sim.install(repository)
    async with await client_for(sim, installation, permissions={"contents": "read"}) as github:
        answer = await github.post("/repos/octo-org/shop/check-runs", json={"name": "x", "head_sha": sha})
    assert (answer.status_code, answer.json()["message"]) == (403, "Resource not accessible by integration")


async def test_renamed_repository_redirects_to_its_id(sim: Simulator) -> None:
    repository = shop(sim)
    async with await client_for(sim, sim.install(repository)) as github:
        sim.rename(repository, "store")
        answer = await github.get("/repos/octo-org/shop/pulls")
        assert answer.status_code == 301
        assert answer.headers["Location"] == f"{sim.api_url}/repositories/{repository.id}/pulls"
        followed = await github.get("/repos/octo-org/shop", follow_redirects=True)
    assert followed.json()["full_name"] == "octo-org/store"


async def test_contents_permission_and_branch(sim: Simulator) -> None:
    repository = shop(sim)
    alice = sim.user("alice")
    sim.grant(repository, alice, "maintain")
    async with await client_for(sim, sim.install(repository)) as github:
        raw = await github.get(
            "/repos/octo-org/shop/contents/app.py", headers={"Accept": "application/vnd.github.raw+json"}
        )
        listing = await github.get("/repos/octo-org/shop/contents/")
        missing = await github.get("/repos/octo-org/shop/contents/nothing.py")
        role = (await github.get("/repos/octo-org/shop/collaborators/alice/permission")).json()
        branch = (await github.get("/repos/octo-org/shop/branches/main")).json()
    assert raw.text == TEXT
    assert [entry["name"] for entry in listing.json()] == ["app.py"]
    assert missing.status_code == 404
    assert (role["permission"], role["role_name"], role["user"]["id"]) == ("write", "maintain", alice.id)
    assert role["user"]["permissions"] == {"admin": False, "maintain": True, "push": True, "triage": True, "pull": True}
    assert branch["commit"]["sha"] == repository.git.branch("main")


async def test_pull_request_from_a_fork_has_its_full_shape(sim: Simulator) -> None:
    repository = shop(sim)
    bob = sim.user("bob")
    fork = await bob.fork(repository)
    await bob.push(fork, "feature", {"app.py": TEXT.replace("line 5\n", "line five\n"), "new.py": "a\nb\n"})
    pull = await bob.open_pull_request(repository, head_repo=fork, head="feature", title="Five")
    async with await client_for(sim, sim.install(repository)) as github:
        first = (await github.get(f"/repos/octo-org/shop/pulls/{pull.number}")).json()
        second = (await github.get(f"/repos/octo-org/shop/pulls/{pull.number}")).json()
        files = (await github.get(f"/repos/octo-org/shop/pulls/{pull.number}/files")).json()
        ref = (await github.get(f"/repos/octo-org/shop/git/ref/pull/{pull.number}/head")).json()
    assert (first["additions"], first["deletions"], first["changed_files"], first["commits"]) == (3, 1, 2, 1)
    assert (first["mergeable"], second["mergeable"]) == (None, True)
    assert first["head"]["repo"]["full_name"] == "bob/shop"
    assert first["head"]["label"] == "bob:feature"
    assert first["author_association"] == "FIRST_TIME_CONTRIBUTOR"
    assert [(file["filename"], file["status"]) for file in files] == [("app.py", "modified"), ("new.py", "added")]
    assert files[0]["patch"].startswith("@@ -2,7 +2,7 @@")
    assert ref["object"]["sha"] == pull.head_sha


async def test_deleted_fork_leaves_no_head_repository(sim: Simulator) -> None:
    repository = shop(sim)
    bob = sim.user("bob")
    fork = await bob.fork(repository)
    await bob.push(fork, "feature", {"new.py": "a\n"})
    pull = await bob.open_pull_request(repository, head_repo=fork, head="feature")
    sim.delete(fork)
    async with await client_for(sim, sim.install(repository)) as github:
        shown = (await github.get(f"/repos/octo-org/shop/pulls/{pull.number}")).json()
    assert (shown["state"], shown["head"]["repo"]) == ("closed", None)


async def test_merging_needs_the_expected_head_and_closes_the_issue(sim: Simulator) -> None:
    repository = shop(sim)
    alice = sim.user("alice")
    sim.grant(repository, alice, "write")
    issue = await alice.open_issue(repository, "Broken")
    await alice.push(repository, "fix", {"new.py": "a\n"})
    pull = await alice.open_pull_request(repository, head="fix", body=f"Fixes #{issue.number}")
    async with await client_for(sim, sim.install(repository)) as github:
        path = f"/repos/octo-org/shop/pulls/{pull.number}/merge"
        moved = await github.put(path, json={"sha": "0" * 40})
        merged = await github.put(path, json={"sha": pull.head_sha})
    assert (moved.status_code, merged.status_code) == (409, 200)
    assert repository.git.branch("main") == merged.json()["sha"]
    assert (pull.state, issue.state) == ("closed", "closed")


async def test_history_is_written_with_its_authors(sim: Simulator) -> None:
    date = datetime(2025, 5, 5, tzinfo=UTC)
    commits = [
        Commit("One", {"a": "1\n", "b": "1\n"}, "Someone <someone@example.org>", date),
        Commit("Two", {"a": "2\n", "b": None}),
    ]
    repository = sim.create_repository("octo-org/history", commits=commits)
    head = repository.git.branch("main") or ""
    first = repository.git.commit(repository.git.commit(head).parents[0])
    assert (first.author_name, first.author_date) == ("Someone", date)
    assert [entry.path for entry in repository.git.entries(head)] == ["a"]


async def test_dependency_changes_and_a_disabled_graph(sim: Simulator) -> None:
    repository = shop(sim)
    repository.dependency_changes = [{"change_type": "added", "name": "leftpad"}]
    async with await client_for(sim, sim.install(repository)) as github:
        path = "/repos/octo-org/shop/dependency-graph/compare/main...main"
        assert (await github.get(path)).json()[0]["name"] == "leftpad"
        repository.dependency_graph = False
        assert (await github.get(path)).status_code == 403


async def test_files_of_a_pull_request_stop_at_3000_and_its_diff_at_300(sim: Simulator) -> None:
    repository = shop(sim)
    alice = sim.user("alice")
    sim.grant(repository, alice, "write")
    await alice.push(repository, "huge", {f"many/{number:04}": f"{number}\n" for number in range(3001)})
    pull = await alice.open_pull_request(repository, head="huge")
    path = f"/repos/octo-org/shop/pulls/{pull.number}"
    async with await client_for(sim, sim.install(repository)) as github:
        last = await github.get(f"{path}/files", params={"per_page": 100, "page": 30})
        beyond = await github.get(f"{path}/files", params={"per_page": 100, "page": 31})
        diff = await github.get(path, headers={"Accept": "application/vnd.github.diff"})
        assert (await github.get(path)).json()["changed_files"] == 3001
    assert (len(last.json()), "next" in last.links, beyond.json()) == (100, False, [])
    assert (diff.status_code, diff.json()["errors"][0]["code"]) == (406, "too_large")


async def test_triage_and_maintain_show_in_the_role_name_only(sim: Simulator) -> None:
    repository = shop(sim, private=True)
    triager, stranger = sim.user("triager"), sim.user("stranger")
    sim.grant(repository, triager, "triage")
    async with await client_for(sim, sim.install(repository)) as github:
        path = "/repos/octo-org/shop/collaborators"
        one = (await github.get(f"{path}/triager/permission")).json()
        none = (await github.get(f"{path}/{stranger.login}/permission")).json()
        nobody = await github.get(f"{path}/nobody-at-all/permission")
    assert (one["permission"], one["role_name"]) == ("read", "triage")
    assert (none["permission"], none["user"]["permissions"]["pull"]) == ("none", False)
    assert nobody.status_code == 404


async def test_conflicting_pull_request_is_not_mergeable(sim: Simulator) -> None:
    repository = shop(sim)
    alice = sim.user("alice")
    sim.grant(repository, alice, "write")
    await alice.push(repository, "mine", {"app.py": TEXT.replace("line 5\n", "mine\n")})
    pull = await alice.open_pull_request(repository, head="mine")
    await alice.push(repository, "main", {"app.py": TEXT.replace("line 5\n", "theirs\n")})
    path = f"/repos/octo-org/shop/pulls/{pull.number}"
    async with await client_for(sim, sim.install(repository)) as github:
        await github.get(path)
        assert (await github.get(path)).json()["mergeable"] is False
        assert (await github.put(f"{path}/merge", json={})).status_code == 405


async def test_signing_in_gives_a_token_of_the_person(sim: Simulator) -> None:
    sim.browse_as(sim.user("alice"))
    async with httpx2.AsyncClient(base_url=sim.url) as browser:
        query = {"client_id": sim.app.client_id, "redirect_uri": "http://127.0.0.1:1/back", "state": "s"}
        back = await browser.get("/login/oauth/authorize", params=query)
        code = httpx2.URL(back.headers["Location"]).params["code"]
        form = {"client_id": sim.app.client_id, "client_secret": sim.app.client_secret, "code": code}
        token = (await browser.post("/login/oauth/access_token", data=form, headers=JSON)).json()["access_token"]
        spent = (await browser.post("/login/oauth/access_token", data=form, headers=JSON)).json()
        me = await browser.get("/api/v3/user", headers={"Authorization": f"Bearer {token}"})
    assert (me.json()["login"], spent["error"]) == ("alice", "bad_verification_code")


async def test_manifest_code_gives_the_credentials_once(sim: Simulator) -> None:
    sim.user("alice")
    async with httpx2.AsyncClient(base_url=sim.url) as browser:
        form = {"manifest": '{"name": "Forge", "redirect_url": "http://127.0.0.1:1/registered"}'}
        shown = await browser.post("/settings/apps/new?state=s", data=form)
        back = await browser.post("/settings/apps?state=s", data=form)
        query = httpx2.URL(back.headers["Location"]).params
        path = f"/api/v3/app-manifests/{query['code']}/conversions"
        first, second = await browser.post(path), await browser.post(path)
    assert "Create GitHub App for alice" in shown.text
    assert query["state"] == "s"
    assert (first.status_code, first.json()["pem"]) == (201, sim.app.private_key_pem)
    assert second.status_code == 404


async def test_manifest_code_is_too_old_after_an_hour(sim: Simulator, clock: Clock) -> None:
    sim.user("alice")
    async with httpx2.AsyncClient(base_url=sim.url) as browser:
        form = {"manifest": '{"name": "Forge", "redirect_url": "http://127.0.0.1:1/registered"}'}
        back = await browser.post("/settings/apps", data=form)
        clock.time += timedelta(minutes=61)
        code = httpx2.URL(back.headers["Location"]).params["code"]
        assert (await browser.post(f"/api/v3/app-manifests/{code}/conversions")).status_code == 404


async def test_only_an_owner_registers_an_app_of_an_organisation(sim: Simulator) -> None:
    alice, bob = sim.user("alice"), sim.user("bob")
    sim.organization("octo-org", owners=[alice], members=[bob])
    manifest = {
        "name": "Forge of octo-org",
        "redirect_url": "http://127.0.0.1:1/registered",
        "setup_url": "http://127.0.0.1:1/done",
        "hook_attributes": {"url": "http://127.0.0.1:1/webhook"},
        "default_permissions": {"checks": "write"},
        "default_events": ["push"],
    }
    shop = sim.create_repository("octo-org/shop")
    async with httpx2.AsyncClient(base_url=sim.url) as browser:
        form = {"manifest": json.dumps(manifest)}
        refused = await browser.post(
            "/organizations/octo-org/settings/apps/new", data=form, headers={"Cookie": "acting_as=bob"}
        )
        await browser.post("/organizations/octo-org/settings/apps", data=form, headers={"Cookie": "acting_as=alice"})
        app_page = await browser.get("/apps/forge-of-octo-org")
        installed = await browser.post(
            "/apps/forge-of-octo-org/installations", data={"id": str(shop.id)}, headers={"Cookie": "acting_as=alice"}
        )
    assert refused.status_code == 404
    assert "/apps/forge-of-octo-org/installations/new" in app_page.text
    assert installed.headers["Location"].startswith("http://127.0.0.1:1/done?installation_id=")
    assert (sim.app.owner.login, sim.app.bot.login) == ("octo-org", "forge-of-octo-org[bot]")
    assert (sim.app.permissions, sim.webhook_url) == (
        {"metadata": "read", "checks": "write"},
        "http://127.0.0.1:1/webhook",
    )
    [installation] = sim.world.installations.values()
    assert [each.full_name for each in installation.repositories.values()] == ["octo-org/shop"]


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ("no JSON", "manifest is not valid JSON"),
        ("{}", "redirect_url is missing"),
        ('{"redirect_url": "http://a/b", "default_events": ["installation"]}', "installation is not an event"),
        ('{"redirect_url": "http://a/b", "default_permissions": {"checks": "all"}}', "checks is not a permission"),
    ],
)
async def test_a_manifest_that_is_refused(manifest: str, told: str, sim: Simulator) -> None:
    sim.user("alice")
    async with httpx2.AsyncClient(base_url=sim.url) as browser:
        answer = await browser.post("/settings/apps/new", data={"manifest": manifest})
    assert answer.status_code == 422
    assert told in answer.text
