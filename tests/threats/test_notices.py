"""Where notices lead Forge to: nothing on this machine or in its network gets one, nor what redirects there (T-X5)."""

import pytest

from bot.outbound import Allowance
from domain.errors import OutboundRefused
from tests.stories.driver import Story
from tests.stories.gate_scenes import open_scene
from tests.threats.traps import THIS_MACHINE, open_trap
from tests.unit.outbound.pages import Names, answer, open_client, redirect, serve_pages
from tests.world.notices import wait_for_failing

METADATA = "http://169.254.169.254/latest/meta-data/"


async def test_t_x5_a_repository_posts_nothing_to_this_machine(guarded_story: Story) -> None:
    """Neither over http nor over https, however the machine is named; the run itself does not notice."""
    story = guarded_story
    async with open_trap() as (port, heard):
        urls = [f"{scheme}://{host}:{port}/" for scheme in ("http", "https") for host in THIS_MACHINE[:4]]
        named = ", ".join(f"{{url: '{url}'}}" for url in [*urls, METADATA])
        scene = await open_scene(story, configuration=f"notify: [{named}]\n")
        assert story.gates(scene.pull) == ["protected_paths"]
        failing = await wait_for_failing(story, len(urls) + 1)
        assert all("FORGE_OUTBOUND_ALLOW" in each.problem for each in failing)
        assert heard == []


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::ffff:7f00:1"]])
async def test_t_x5_nothing_is_posted_to_a_name_that_leads_inside(addresses: list[str]) -> None:
    async with open_trap() as (port, heard), open_client(Allowance(), Names(page_example=[addresses])) as client:
        with pytest.raises(OutboundRefused):
            await client.post(f"https://page.example:{port}/", b"{}", {})
        assert heard == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_t_x5_what_is_posted_follows_no_redirect(status: int) -> None:
    async with (
        open_trap() as (port, heard),
        serve_pages({"/": redirect(f"http://127.0.0.1:{port}/", status)}, host="127.0.0.2") as public,
        open_client(Allowance.parse("127.0.0.0/8")) as client,
    ):
        assert (await client.post(public.url(host="127.0.0.2"), b"{}", {})).status == status
        assert heard == []


async def test_t_x5_nothing_is_posted_in_the_open_but_where_the_operator_allows_it() -> None:
    """A public host by http is read, but nothing is sent there that everybody on the way could read."""
    names = Names(page_example=[["127.0.0.2"]])
    async with serve_pages({"/": answer(b"ok")}, host="127.0.0.2") as page:
        async with open_client(Allowance.parse("127.0.0.2"), names) as client:
            assert (await client.post(page.url(host="page.example"), b"{}", {})).status == 200
        assert "POST / HTTP/1.1" in page.heard[0]
    public = Names(page_example=[["1.1.1.1"]])
    async with open_client(Allowance(), public) as client:
        with pytest.raises(OutboundRefused, match="everybody on the way can read it"):
            await client.post("http://page.example/", b"{}", {})


async def test_t_x5_an_endless_answer_ends() -> None:
    """Only its beginning is read, so that a receiver that took a notice has taken it."""
    async with serve_pages({"/": answer(b"x" * 5_000_000)}) as page, open_client() as client:
        said = await client.post(page.url(), b"{}", {"content-type": "application/json"})
    assert (said.status, said.body) == (200, b"x" * 500)
