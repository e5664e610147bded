"""From a Forge without anything to its first review, in a browser, as a new user goes."""

from pathlib import Path

import httpx2
from playwright.async_api import Page

from simulator import Simulator
from tests.provider import KEY, Provider, answer_error, answer_text, serve_provider
from tests.world.accessibility import assert_usable
from tests.world.browser import PHONE, open_page
from tests.world.first_run import (
    FLAW,
    begin,
    choose,
    confirm_on_github,
    finish,
    give_key,
    install,
    press,
    run_forge,
    wait_for_review,
)
from tests.world.relay import run_relay

_OK = answer_text([{"type": "text", "text": "ok"}])


async def test_an_organisation_goes_from_nothing_to_a_review(tmp_path: Path) -> None:
    provider = Provider([_OK])
    async with (
        Simulator(tmp_path / "github") as github,
        serve_provider(provider) as address,
        open_page() as page,
    ):
        alice = github.user("alice")
        github.organization("octo-org", owners=[alice])
        shop = github.create_repository("octo-org/shop", {"shop.py": "x = 1\n"})
        github.grant(shop, alice, "admin")
        settings = {
            "FORGE_GITHUB_WEB_URL": github.url,
            "FORGE_GITHUB_API_URL": f"{github.url}/api",  # a host of its own, as github.com has
            "ANTHROPIC_BASE_URL": address,
        }
        async with run_forge(tmp_path / "here", "serve", settings=settings) as forge:
            printed = await forge.wait_for_address()
            await page.goto(printed)
            await assert_usable(page)
            await begin(page, printed)
            await assert_usable(page)
            await choose(page, name="Forge of octo-org", organization="octo-org", public_url=forge.url)
            await page.wait_for_selector("text=What the App may do")
            await assert_usable(page)
            await confirm_on_github(page)
            await page.wait_for_selector("#key")
            await assert_usable(page)
            await give_key(page)
            await page.wait_for_selector("text=Finish, and start Forge")
            await assert_usable(page)
            told = await page.inner_text("main")
            await finish(page)
            await page.wait_for_url(
                f"{forge.url}/?set-up=done"
            )  # nobody pressed anything, and Forge was away meanwhile
            await page.wait_for_selector("text=Forge runs")
            await assert_usable(page)
            await install(page, shop)
            await page.wait_for_selector("text=Forge is installed")
            assert "an issue “Forge works here now”" in await page.inner_text("main")
            await assert_usable(page)
            github.browse_as(alice)
            await page.goto(f"http://localhost:{forge.port}/dashboard")  # under another name than GitHub leads back to
            await page.get_by_role("link", name="Sign in with GitHub").click()
            await page.wait_for_url(f"{forge.url}/dashboard")
            await page.wait_for_selector("text=octo-org/shop")
            sha = await alice.push(shop, "topic", FLAW, base="main")
            await alice.open_pull_request(shop, "topic", title="Run what is asked")
            verdict = await wait_for_review(github, shop, sha)
            async with httpx2.AsyncClient() as client:
                gone = [
                    (await client.get(f"{forge.url}{path}")).headers.get("Location")
                    for path in ("/setup", "/setup/registered")
                ]
        log = forge.log
    assert "✓" in told
    assert verdict
    assert gone == ["/", "/"]  # nothing of it is left open
    kept = (tmp_path / "here" / "forge-data" / "credentials").read_bytes()
    for secret in (KEY, github.app.private_key_pem, github.app.client_secret, github.hooks.secret):
        assert secret not in log + told
        assert secret.encode() not in kept


async def test_an_enterprise_server_and_a_laptop_with_every_step_cancelled_once(tmp_path: Path) -> None:
    provider = Provider([answer_error(401, "authentication_error"), _OK])
    here = tmp_path / "here"
    async with (
        Simulator(tmp_path / "github") as github,
        serve_provider(provider) as address,
        run_relay() as relay,
        open_page(size=PHONE, scripts=False) as page,
    ):
        alice = github.user("alice")
        shop = github.create_repository("alice/shop", {"shop.py": "x = 1\n"})
        github.grant(shop, alice, "admin")
        settings = {"ANTHROPIC_BASE_URL": address}
        reached = {**settings, "FORGE_HOST": "0.0.0.0"}  # so that the address holds a token
        async with run_forge(here, "serve", settings=reached) as forge:
            printed = await forge.wait_for_address()
            assert printed.startswith(f"http://localhost:{forge.port}/setup?once=")
            await begin(page, printed)
            assert page.url == f"http://localhost:{forge.port}/setup"
            await choose(page, name="x" * 34, web_url="ghes.example.com", relay="smee.io/abc")
            assert "This is not an address" in await page.inner_text("main")
            await choose(page, name="Forge of alice", web_url=github.url, relay=relay.url)
            await page.get_by_role("link", name="Change something").click()
            assert await page.input_value("#relay") == relay.url
            await choose(page, name="Forge of alice again")
            await press(page, "Continue on")
            await page.get_by_role("link", name="Cancel").click()
            await page.goto(printed)  # and taken up again
            assert await _is_as_wide_as_its_window(page)
        async with run_forge(here, "setup", settings=settings, port=forge.port) as forge:  # started anew
            printed = await forge.wait_for_address()
            await begin(page, printed)
            assert await page.input_value("#name") == "Forge of alice again"
            await press(page, "Continue")
            github.faults.add(kind="before", path="/conversions", status=502)
            await confirm_on_github(page)
            assert "GitHub answered with 502" in await page.inner_text("main")
            await page.goto(printed)
            await press(page, "Try again")
            await page.wait_for_selector("#key")
        async with run_forge(here, "setup", settings=settings, port=forge.port) as forge:
            await begin(page, await forge.wait_for_address())
            await press(page, "Check and store the key")
            assert "There is no key." in await page.inner_text("main")
            await give_key(page, f"{KEY}-wrong")
            assert "it refuses the key" in await page.inner_text("main")
            assert f"{KEY}-wrong" not in await page.content()
            await give_key(page)
            await page.goto(printed)
            await finish(page)
            await page.wait_for_selector("text=Start it with forge serve")
            assert await forge.process.wait() == 0
        async with run_forge(here, "serve", settings=settings, port=forge.port) as forge:
            await forge.wait_until_ready()
            await relay.joined.wait()
            await install(page, shop)
            sha = await alice.push(shop, "topic", FLAW, base="main")
            await alice.open_pull_request(shop, "topic", title="Run what is asked")
            assert await wait_for_review(github, shop, sha)
    assert relay.received >= 2
    assert sum("conversions" in each.path for each in github.requests) == 2


async def _is_as_wide_as_its_window(page: Page) -> bool:
    """Whether nothing has to be scrolled sideways."""
    box = await page.locator("main").bounding_box()
    inner = await page.locator("form").last.bounding_box()
    assert box is not None
    assert inner is not None
    return inner["x"] + inner["width"] <= PHONE[0]
