"""The dashboard's pages in a browser: on a telephone, in light and dark, without scripts, with assistive technology."""

from collections.abc import Sequence
from typing import Literal

import pytest
from playwright.async_api import Page

from agents.llm.scripted import ScriptedModel
from domain.runs.work_checkpoint import WorkKey
from tests.stories.driver import Story
from tests.world.accessibility import assert_legible, assert_usable, list_scrolling
from tests.world.browser import PHONE, open_page
from tests.world.checkpoints import add_chain
from tests.world.dashboard import (
    HOSTILE,
    BusyRepository,
    dashboard_origin,
    dismiss_finding,
    fill_repository,
    signed_in,
)
from tests.world.memories import teach

SHOP = "/dashboard/octo-org/shop"


async def list_pages(story: Story, busy: BusyRepository) -> Sequence[str]:
    """The addresses of every kind of page."""
    runs = {each.number: each.id for each in await story.runs()}
    found, waiting = runs[busy.found.number], runs[busy.waiting.number]
    key = WorkKey(run_id=found, work="T1", base="b" * 40)
    database = story.forge.services.database
    *_, last = await add_chain(database, key, story.clock.now(), said=f"I am stuck. {HOSTILE}")
    await dismiss_finding(story, busy.found, f"Prices are never empty. {HOSTILE}")
    memory = await teach(story, busy.repository, f"Totals of nothing are 0. {HOSTILE}")
    checkpoints = f"{SHOP}/runs/{found}/checkpoints"
    return [
        "/dashboard",
        SHOP,
        f"{SHOP}/runs",
        f"{SHOP}/runs/{waiting}",
        f"{SHOP}/runs/{found}",
        f"{SHOP}/runs/{found}/timeline",
        f"{SHOP}/gates",
        "/dashboard/gates",
        f"{SHOP}/deployments",
        f"{SHOP}/audit",
        checkpoints,
        f"{checkpoints}/{last.short_id}",
        f"{SHOP}/memories",
        f"{SHOP}/memories/{memory.short_id}",
        f"{SHOP}/memories/new",
        f"{SHOP}/costs",
        f"{SHOP}/metrics",
        f"{SHOP}/nothing",
    ]


async def sign_in(story: Story, page: Page, login: str) -> None:
    """Sign somebody in, as they do it."""
    story.github.browse_as(story.github.user(login))
    await page.goto(f"{dashboard_origin(story)}/dashboard/sign-in")
    await page.get_by_role("link", name="Sign in with GitHub").click()
    await page.get_by_role("heading", name="Repositories").wait_for()


SCROLLS = {"Changed lines", "numbers"}
"""What may be wider than a telephone: a diff, and the values of many weeks."""


async def look(page: Page, address: str, scheme: Literal["light", "dark"]) -> None:
    """Open a page, which is usable, in light and dark, and on which no text of others did anything."""
    await page.goto(address)
    await assert_usable(page)
    await page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    await assert_legible(page)
    await page.emulate_media(color_scheme=scheme)
    if page.viewport_size is not None and page.viewport_size["width"] == PHONE[0]:
        assert set(await list_scrolling(page)) <= SCROLLS, address
    assert await page.locator("main img:not(.chart), main script").count() == 0


@pytest.mark.parametrize(("scheme", "size"), [("light", (1280, 900)), ("dark", PHONE)])
async def test_every_page_is_usable(
    scheme: Literal["light", "dark"], size: tuple[int, int], story: Story, model: ScriptedModel
) -> None:
    busy = await fill_repository(story, model)
    pages = await list_pages(story, busy)
    async with open_page(scheme=scheme, size=size) as page:
        for path in ("/", f"/dashboard/sign-in?to={SHOP}", "/dashboard/signed-in"):
            await look(page, dashboard_origin(story) + path, scheme)
        await sign_in(story, page, "dora")
        for path in pages:
            await look(page, dashboard_origin(story) + path, scheme)


async def test_people_find_their_way_without_scripts(story: Story, model: ScriptedModel) -> None:
    """From signing in to the place on GitHub where a run is decided, and out; readers see no drafts."""
    home = dashboard_origin(story)
    busy = await fill_repository(story, model)
    pages = await list_pages(story, busy)
    async with open_page(scripts=False) as page:
        await sign_in(story, page, "rita")
        await page.get_by_role("link", name="octo-org/shop").click()
        await page.get_by_role("navigation", name="Repository").get_by_role("link", name="Runs").click()
        await page.get_by_label("State").select_option("waiting")
        await page.get_by_role("button", name="Show").click()
        await page.get_by_role("link", name=f"Review of #{busy.waiting.number}").click()
        there = await page.get_by_role("link", name="Decide on GitHub").get_attribute("href")
        assert (there or "").startswith(f"{story.github.url}/octo-org/shop/pull/{busy.waiting.number}#issuecomment-")
        for path in pages:
            response = await page.goto(home + path)
            assert response is not None
            hidden = ("/checkpoints", "/audit", "/new", "nothing")
            assert response.status == (404 if any(part in path for part in hidden) else 200), path
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_text("You are signed out.").wait_for()
        for path in pages:
            await page.goto(home + path)
            assert "/dashboard/sign-in" in page.url
    async with open_page(scripts=False) as page:
        await sign_in(story, page, "stranger")
        for path in pages[1:]:
            if not path.startswith(SHOP):
                continue
            response = await page.goto(home + path)
            assert response is not None
            assert response.status == 404, path


async def test_an_address_in_vain_says_why_and_where_to_go(story: Story) -> None:
    """The same for what does not exist and for what one may not read."""
    story.github.install(story.github.create_repository("octo-org/shop", files={"README.md": "# Shop\n"}, private=True))
    async with signed_in(story, "stranger") as stranger:
        unknown = await stranger.open("/dashboard/unknown/repo")
        private = await stranger.open(SHOP)
        nameless = await stranger.open("/dashboard/unknown/")
        odd = await stranger.open("/dashboard/%3Cimg%20src=x%3E/r")
        begin = await stranger.open("/dashboard/")
    said = "There is nothing at {} that stranger may read. Either the address is not quite right"
    assert said.format("/dashboard/unknown/repo") in unknown.text
    assert private.text == unknown.text.replace("/dashboard/unknown/repo", SHOP)
    assert said.format("/dashboard/unknown") in nameless.text
    assert "a repository is at /dashboard/OWNER/REPOSITORY" in nameless.text
    assert "<img src=x>" in odd.text
    assert "<img" not in odd.html
    assert [each.status for each in (unknown, private, nameless, odd)] == [404] * 4
    assert (begin.status, begin.address) == (200, "/dashboard")
