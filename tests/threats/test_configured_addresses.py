"""Where a configuration leads Forge to: nothing on this machine or in its network is asked (T-X5)."""

import pytest

from bot.outbound import Allowance
from domain.deployments.readings import HealthTarget, JsonTarget, PrometheusTarget, Reading, take_reading
from domain.errors import OutboundRefused
from tests.stories.driver import Story
from tests.threats.traps import THIS_MACHINE, open_trap
from tests.unit.outbound.pages import Names, answer, open_client, redirect, serve_pages

METADATA = "http://169.254.169.254/latest/meta-data/"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_t_x5_a_page_on_this_machine_is_not_read(guarded_story: Story, scheme: str) -> None:
    """Neither as the health of a deployment nor as a figure; a running Forge allows nothing unless it is told so."""
    outbound = guarded_story.forge.services.outbound
    async with open_trap() as (port, heard):
        for host in THIS_MACHINE:
            url = f"{scheme}://{host}:{port}/"
            for target in (
                HealthTarget(url=url),
                JsonTarget(url=url, path="n"),
                PrometheusTarget(url=url, query="up"),
            ):
                reading = await take_reading(outbound, target)
                assert (reading.value, reading.seconds) == (None, None), host
                assert "FORGE_OUTBOUND_ALLOW" in reading.problem
        assert heard == []


async def test_t_x5_a_metadata_service_is_not_read(guarded_story: Story) -> None:
    reading = await take_reading(guarded_story.forge.services.outbound, HealthTarget(url=METADATA))
    assert reading == Reading(
        problem="http://169.254.169.254 leads to an address that is not of the internet (link-local). "
        "Forge asks it only if its operator allows that (FORGE_OUTBOUND_ALLOW)."
    )


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["1.1.1.1", "fd00::1"], ["::ffff:7f00:1"]]
)
async def test_t_x5_a_name_that_also_leads_inside_is_refused(addresses: list[str]) -> None:
    async with open_trap() as (port, heard), open_client(Allowance(), Names(page_example=[addresses])) as client:
        with pytest.raises(OutboundRefused):
            await client.get(f"http://page.example:{port}/")
        assert heard == []


async def test_t_x5_a_name_that_leads_inside_a_moment_later_leads_nowhere() -> None:
    """DNS rebinding: public when it is looked at, this machine when it is asked again."""
    names = Names(page_example=[["127.0.0.2"], ["127.0.0.1"]])
    async with (
        serve_pages({"/": answer(b"public")}, host="127.0.0.2") as public,
        open_trap(public.port) as (_, heard),
        open_client(Allowance.parse("127.0.0.2"), names) as client,
    ):
        assert (await client.get(public.url(host="page.example"))).body == b"public"
        with pytest.raises(OutboundRefused):
            await client.get(public.url(host="page.example"))
        assert names.asked == ["page.example"] * 2
        assert heard == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["http://127.0.0.1:{port}/", "http://[::ffff:127.0.0.1]:{port}/", METADATA])
async def test_t_x5_a_redirect_does_not_lead_inside(status: int, location: str) -> None:
    async with (
        open_trap() as (port, heard),
        serve_pages({"/": redirect(location.format(port=port), status)}, host="127.0.0.2") as public,
        open_client(Allowance.parse("127.0.0.2")) as client,
    ):
        with pytest.raises(OutboundRefused):
            await client.get(public.url(host="127.0.0.2"))
        assert len(public.heard) == 1
        assert heard == []
