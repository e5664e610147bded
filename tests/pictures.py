"""Takes the pictures of the documentation from the pages of a running Forge and its simulated GitHub.

``python -m tests.pictures docs/images`` plays a scene, which takes half a minute, and opens its pages in Chromium. It
needs a font with coloured signs (Debian: fonts-noto-color-emoji).
"""

import asyncio
import base64
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Locator, async_playwright
from sqlalchemy import select

from bot.demo import project
from memory.db.tables.runs import RunRow
from simulator.state import PullRequest
from tests.databases import create_database
from tests.stories.driver import Story, open_story

_MOST_BYTES = 150_000
_CONFIGURATION = "review: {model: never}\npaths: {protected: [deploy/**]}\n"
_IMPORTER = '''\
"""Imports the tariffs of carriers."""

import json
import subprocess
import urllib.request


def fetch(carrier: str) -> list[float]:
    """What a carrier charges as of today."""
    listing = subprocess.run(f"carrier-get {carrier}", shell=True, capture_output=True, check=True)
    return json.loads(listing.stdout)
'''
_DASHBOARD = "{forge}/dashboard"
_DEPLOY = {"deploy/service.yml": "replicas: 3\n"}


@dataclass(frozen=True)
class Part:
    """A column of a picture.

    :param address: of the page; names in braces stand for addresses of the scene.
    :param shows: the element that is shown, as a CSS selector; the first that fits.
    :param viewer: who looks at it.
    """

    address: str
    shows: str
    viewer: str = "author"


@dataclass(frozen=True)
class Picture:
    """A picture with its columns.

    :param most: of CSS pixels; what is higher is cut.
    """

    name: str
    parts: Sequence[Part]
    most: int = 640


PICTURES = (
    Picture("review", [Part("{review}", ".review"), Part("{review}/checks", "section.check")]),
    Picture("gate", [Part("{gate}/checks?check_run_id={gate_check}", "section.check", "maintainer")]),
    Picture("dashboard", [Part("{forge}/dashboard/{name}/runs/{waiting}", "main", "maintainer")]),
)
"""One line adds a picture; an address of the dashboard begins with ``{forge}``."""


async def take(folder: Path, pictures: Sequence[Picture] = PICTURES) -> None:
    """Play the scene, and take every picture of it.

    :raises RuntimeError: there is no Chromium, or a picture is larger than a page should load.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise RuntimeError("There is no Chromium. Install it: apt-get install chromium.")
    async with _play() as places, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for picture in pictures:
            await _take_picture(browser, places, picture, folder / f"{picture.name}.png")
        await browser.close()


@asynccontextmanager
async def _play() -> AsyncGenerator[Mapping[str, str]]:
    """A reviewed pull request and one that waits for a maintainer; the addresses of both, and of both servers."""
    with tempfile.TemporaryDirectory(prefix="forge-pictures-") as name:
        url = create_database("sqlite", Path(name))
        async with open_story(url, Path(name)) as story:
            github = story.github
            files = {"rates/quote.py": project.QUOTE, ".github/forge.yml": _CONFIGURATION}
            repository = github.create_repository("parcel-post/rates", files=files)
            github.install(repository)
            author, maintainer = github.user("author"), github.user("maintainer")
            github.grant(repository, author, "write")
            github.grant(repository, maintainer, "maintain")
            pulls: list[PullRequest] = []
            for branch, changed in (("tariffs", {"rates/importer.py": _IMPORTER}), ("replicas", _DEPLOY)):
                await author.push(repository, branch, changed, base="main")
                pulls.append(await author.open_pull_request(repository, branch, title=branch.capitalize()))
                await story.settle()
                story.pass_over(pulls[-1])
            github.browse_as(maintainer)  # at the dashboard
            review, gate = (f"{github.url}/{repository.full_name}/pull/{pull.number}" for pull in pulls)
            yield {
                "github": github.url,
                "forge": (github.webhook_url or "").removesuffix("/webhook"),
                "review": review,
                "gate": gate,
                "gate_check": _find_gate_check(story, pulls[1]),
                "name": repository.full_name,
                "waiting": await _find_run(story, pulls[1]),
            }


def _find_gate_check(story: Story, pull: PullRequest) -> str:
    checks = story.github.check_runs(pull.repository, pull.head_sha)
    return next(str(check.id) for check in checks if "gate" in check.external_id or "gate" in check.name)


async def _find_run(story: Story, pull: PullRequest) -> str:
    async with story.forge.services.database.transaction() as session:
        found = await session.scalar(select(RunRow.id).where(RunRow.number == pull.number))
    assert found is not None
    return found


async def _take_picture(browser: Browser, places: Mapping[str, str], picture: Picture, file: Path) -> None:
    shots = [await _take_part(browser, places, part, picture.most) for part in picture.parts]
    page = await browser.new_page(viewport={"width": 640 * len(shots) + 8, "height": 100})
    columns = "".join(f"<img src='data:image/png;base64,{shot}' style='width:632px'>" for shot in shots)
    await page.set_content(f"<body style='margin:8px;display:flex;gap:8px;align-items:flex-start'>{columns}</body>")
    await page.wait_for_load_state()
    await page.screenshot(path=file, full_page=True)
    await page.close()
    if file.stat().st_size > _MOST_BYTES:
        raise RuntimeError(f"{file} has {file.stat().st_size:,} bytes; show less of it, at most {_MOST_BYTES:,}.")


async def _take_part(browser: Browser, places: Mapping[str, str], part: Part, most: int) -> str:
    """An element of a page as PNG, in base64, cut after so many CSS pixels."""
    is_ours = part.address.startswith(_DASHBOARD)
    context = await browser.new_context(viewport={"width": 664 if is_ours else 1000, "height": 2 * most})
    page = await context.new_page()
    await context.request.post(f"{places['github']}/acting", form={"login": part.viewer, "back": "/"})
    if is_ours:
        await page.goto(f"{_DASHBOARD}/sign-in".format_map(places))
        await page.get_by_role("link", name="Sign in with GitHub").click()
        await page.get_by_role("heading", name="Repositories").wait_for()
    await page.goto(part.address.format_map(places))
    if not is_ours:  # whose pages take no foreign style
        await page.add_style_tag(content=f"{part.shows.partition(':')[0]} {{ width: 632px !important; }}")
    shown: Locator = page.locator(part.shows).first
    box = await shown.bounding_box()
    assert box is not None, f"{part.shows} is not on {page.url}"
    box["height"] = min(box["height"], most)
    taken = await page.screenshot(clip=box, full_page=True)
    await context.close()
    return base64.b64encode(taken).decode()


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
