"""The demo comes out as it should, and says so only then; with ``--stay`` it leaves something to play with."""

import asyncio
import io
import re
from typing import Any, Literal

import httpx2
import pytest
from rich.console import Console

from bot.demo import open_change, show


class _Visit(asyncio.Event):
    """Somebody looks around while the demo stays, and then ends it."""

    def __init__(self, printed: io.StringIO) -> None:
        super().__init__()
        self._printed = printed

    async def wait(self) -> Literal[True]:
        told = self._printed.getvalue()
        await _see_open_change(_find_address(told, "with findings, for its author"))
        await _see_dashboard(_find_address(told, "signed in as whom you chose"))
        async with httpx2.AsyncClient(follow_redirects=True, timeout=60) as browser:
            await _ask_for_work(browser, _find_address(told, "with findings, for its author"))
            await _propose(browser, _find_address(told, "edit a file there"))
        return True


@pytest.mark.timeout(1_800)  # two minutes of real deployments, on a machine that may do ten other things
async def test_the_demo_tells_its_story_and_stays() -> None:
    printed, details = io.StringIO(), io.StringIO()
    code = await _play(printed, details, lambda: _Visit(printed))
    told = printed.getvalue()
    assert code == 0, told + details.getvalue()
    assert "Press Ctrl-C to stop." in told
    assert re.search(r"Stopped after \d+ min\. Its scenes ran to their end in \d+ s\. Nothing was kept\.", told)
    _check_story(told, details.getvalue())


def _check_story(told: str, details: str) -> None:
    assert len(told.splitlines()) <= 135
    _check_findings(told.split("A maintainer disagrees")[0])
    assert "…”" not in told  # no title and no line is cut
    assert "author: /forge why F-" in told
    assert "old_names.py imports names for customers" in " ".join(details.replace("│", " ").split())
    assert "Forge resolved 13 of 13 threads: their findings are fixed or dismissed." in told
    last = told.split("Forge resolved")[1].split("Another pull request")[0]
    assert "](" not in last
    assert "`" not in last
    good, bad = told.split("A change is merged and goes to staging in steps")[1].split("The next change fails")
    assert "100 % deployed" in good
    assert "Deployed and healthy" in good
    assert "Being rolled back from 25 %" in bad
    assert re.search(r"25 % +2 +unhealthy", bad)
    assert "is back and healthy." in " ".join(details.replace("│", " ").split())


def _check_findings(told: str) -> None:
    """Three findings are there in full, each with its file and line."""
    assert len(re.findall(r"^    \S+:\d+  . (?:Critical|Error) · \w+  \w+/\S+$", told, re.MULTILINE)) == 3
    flat = " ".join(told.split())
    assert "rates/importer.py:37 🔴 Error · correctness model/logic-error fetch returns None for a carrier" in flat
    assert "Skip the carrier where fetch returns None." in flat


def _find_address(told: str, what: str) -> str:
    found = re.search(rf"{what}: (http\S+)", told)
    assert found is not None, told
    return found[1]


async def _see_open_change(address: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        page = (await browser.get(address)).text
    assert open_change.TITLE in page
    assert page.count("Resolve conversation") == 4
    assert "This branch has conflicts" not in page


async def _ask_for_work(browser: httpx2.AsyncClient, address: str) -> None:
    """What the script has no answer to says so, and how a model is put behind it."""
    await browser.post(httpx2.URL(address).join("/acting"), data={"login": "author", "back": "/"})
    await browser.post(f"{address}/comment", data={"body": "/forge do paint it red"})
    await _wait_for(browser, address, "No model is connected: a script plays one")


async def _propose(browser: httpx2.AsyncClient, project: str) -> None:
    """A pull request of one's own takes no terminal."""
    assert "/edit/main/README.md" in (await browser.get(project)).text
    form = {"content": "# Rates\n", "message": "Say less", "new_branch": "mine"}
    page = await browser.post(f"{project}/edit/main/README.md", data=form)
    assert "Say less" in page.text
    assert "/pull/" in str(page.url)


async def _wait_for(browser: httpx2.AsyncClient, address: str, *words: str) -> str:
    """The page, once it says so."""
    page = ""
    for _ in range(1_200):
        page = (await browser.get(address)).text
        if all(each in page for each in words):
            return page
        await asyncio.sleep(0.2)
    pytest.fail(f"{address} does not say {words}: {page[page.find('</style>') :]}")


async def _see_dashboard(address: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        page = await browser.get(address)
        assert "Sign out" in page.text
        assert "parcel-post/rates" in page.text
        await _see_outcome(browser, page.url.join("/dashboard/parcel-post/rates/runs"))


async def _see_outcome(browser: httpx2.AsyncClient, runs: httpx2.URL) -> None:
    """The newest run ends a moment after its check has said how."""
    for _ in range(600):
        outcome = re.search(r'<td data-label="Outcome">(.*?)</td>', (await browser.get(runs)).text)
        if outcome and "Changes requested: 3 findings to fix" in outcome[1]:
            return
        await asyncio.sleep(0.1)
    pytest.fail("the newest run is not said to request changes")


@pytest.mark.deep
async def test_a_demo_that_comes_out_otherwise_fails_and_names_no_address_that_is_gone() -> None:
    printed = io.StringIO()
    assert await _play(printed, io.StringIO(), second_push={"README.md": "Nothing is repaired.\n"}, patience=12.0) == 1
    assert "did not go as expected" in printed.getvalue()
    assert "http" not in printed.getvalue()


async def _play(printed: io.StringIO, details: io.StringIO, stopped: Any = None, **otherwise: Any) -> int:
    """The exit code.

    :param printed: gets what the terminal shows.
    :param details: gets what it would show of it with ``--verbose``.
    """
    return await show.run(
        Console(file=printed, width=80), stopped, details=Console(file=details, width=100), **otherwise
    )
