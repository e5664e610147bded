"""People who sign in through the App get what GitHub gives them: with PKCE, their installations, and an end."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from simulator import Simulator
from tests.clock import MovableClock

VERIFIER = "a-verifier-of-at-least-forty-three-characters-in-all"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
BACK = "http://127.0.0.1:1/back"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def sim(tmp_path: Path, clock: MovableClock) -> AsyncIterator[Simulator]:
    async with Simulator(tmp_path, now=clock.now) as simulator:
        simulator.browse_as(simulator.user("alice"))
        yield simulator


@pytest.fixture
async def browser(sim: Simulator) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=sim.url, headers={"Accept": "application/json"}) as http:
        yield http


async def authorize(sim: Simulator, browser: httpx2.AsyncClient, **more: str) -> httpx2.QueryParams:
    """What comes back from GitHub's page."""
    query = {"client_id": sim.app.client_id, "redirect_uri": BACK, "state": "s", **more}
    back = await browser.get("/login/oauth/authorize", params=query)
    return httpx2.URL(back.headers["Location"]).params


async def exchange(sim: Simulator, browser: httpx2.AsyncClient, code: str, **more: str) -> dict[str, object]:
    form = {"client_id": sim.app.client_id, "client_secret": sim.app.client_secret, "code": code, **more}
    return (await browser.post("/login/oauth/access_token", data=form)).json()


async def get_token(sim: Simulator, browser: httpx2.AsyncClient) -> str:
    return str((await exchange(sim, browser, (await authorize(sim, browser))["code"]))["access_token"])


async def test_a_code_with_a_challenge_needs_its_verifier(sim: Simulator, browser: httpx2.AsyncClient) -> None:
    asked = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    wrong = await exchange(sim, browser, (await authorize(sim, browser, **asked))["code"], code_verifier="other")
    without = await exchange(sim, browser, (await authorize(sim, browser, **asked))["code"])
    right = await exchange(sim, browser, (await authorize(sim, browser, **asked))["code"], code_verifier=VERIFIER)
    plain = await authorize(sim, browser, code_challenge=VERIFIER, code_challenge_method="plain")
    assert (wrong["error"], without["error"]) == ("bad_verification_code",) * 2
    assert "access_token" in right
    assert "code" not in plain


async def test_a_code_lasts_ten_minutes_and_belongs_to_its_address(
    sim: Simulator, browser: httpx2.AsyncClient, clock: MovableClock
) -> None:
    elsewhere = await exchange(sim, browser, (await authorize(sim, browser))["code"], redirect_uri=f"{BACK}/other")
    code = (await authorize(sim, browser))["code"]
    clock.move(minutes=10)
    assert elsewhere["error"] == "redirect_uri_mismatch"
    assert (await exchange(sim, browser, code))["error"] == "bad_verification_code"


async def test_the_answer_is_a_form_unless_json_is_asked_for(sim: Simulator, browser: httpx2.AsyncClient) -> None:
    code = (await authorize(sim, browser))["code"]
    form = {"client_id": sim.app.client_id, "client_secret": sim.app.client_secret, "code": code}
    answer = await browser.post("/login/oauth/access_token", data=form, headers={"Accept": "*/*"})
    assert answer.headers["content-type"].startswith("application/x-www-form-urlencoded")
    assert answer.text.startswith("access_token=ghu_")


async def test_people_see_their_installations_and_what_they_were_given(
    sim: Simulator, browser: httpx2.AsyncClient
) -> None:
    """Not what they may only read because it is public."""
    given = sim.create_repository("octo-org/given", private=True)
    public, hidden = sim.create_repository("octo-org/public"), sim.create_repository("octo-org/hidden", private=True)
    installation = sim.install(given, public, hidden)
    foreign = sim.install(sim.create_repository("others/public"))
    sim.grant(given, sim.user("alice"), "triage")
    browser.headers["Authorization"] = f"Bearer {await get_token(sim, browser)}"
    installations = (await browser.get("/api/v3/user/installations")).json()
    listed = (await browser.get(f"/api/v3/user/installations/{installation.id}/repositories")).json()
    refused = await browser.get(f"/api/v3/user/installations/{foreign.id}/repositories")
    assert [each["id"] for each in installations["installations"]] == [installation.id]
    assert installations["total_count"] == 1
    [shown] = listed["repositories"]
    assert (shown["full_name"], shown["permissions"]["triage"], shown["permissions"]["push"]) == (
        "octo-org/given",
        True,
        False,
    )
    assert refused.status_code == 404


async def test_only_who_signed_in_through_an_app_lists_installations(
    sim: Simulator, browser: httpx2.AsyncClient
) -> None:
    installation = sim.install(sim.create_repository("octo-org/shop"))
    browser.headers["Authorization"] = f"Bearer {sim.token(installation)}"
    assert (await browser.get("/api/v3/user/installations")).status_code == 403


async def test_the_app_ends_a_token(sim: Simulator, browser: httpx2.AsyncClient) -> None:
    token = await get_token(sim, browser)
    address = f"/api/v3/applications/{sim.app.client_id}/token"

    async def end(password: str) -> int:
        auth = httpx2.BasicAuth(sim.app.client_id, password)
        return (await browser.request("DELETE", address, json={"access_token": token}, auth=auth)).status_code

    assert [await end("wrong"), await end(sim.app.client_secret), await end(sim.app.client_secret)] == [404, 204, 404]
    me = await browser.get("/api/v3/user", headers={"Authorization": f"Bearer {token}"})
    assert me.status_code == 401


async def test_whoever_the_pages_are_acting_as_signs_in(sim: Simulator, browser: httpx2.AsyncClient) -> None:
    sim.sign_in.follows_pages = True
    sim.user("bob")
    for login in ("bob", "alice"):
        await browser.post("/acting", data={"login": login})
        token = await get_token(sim, browser)
        person = await browser.get(f"{sim.api_url}/user", headers={"Authorization": f"Bearer {token}"})
        assert person.json()["login"] == login
