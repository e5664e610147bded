"""What `/metrics` exposes, line by line."""

from aiohttp.test_utils import make_mocked_request

from bot.prometheus import Metrics


async def scrape(metrics: Metrics) -> list[str]:
    response = await metrics.expose(make_mocked_request("GET", "/metrics"))
    assert isinstance(response.body, bytes)
    return response.body.decode().splitlines()
