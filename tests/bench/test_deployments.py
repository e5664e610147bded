"""How soon a deployment that went wrong goes back, and what watching it costs.

How soon is counted in intervals between looks, so that a slow machine does not matter; the cost of a look is compared
with the plain requests that it makes, in the same run.
"""

import asyncio
import time
from pathlib import Path

import aiohttp

from bot.outbound import Allowance, OutboundClient
from domain.config.configuration import Configuration
from pipeline.config.parsing import parse
from pipeline.deployment.service import Watcher
from tests.databases import create_database, drop_database
from tests.stories.driver import PATIENCE, open_story
from tests.world.deployments import configure, open_deployments
from tests.world.toy_service import ToyService, run_service

INTERVAL = 5  # seconds between two looks
BAD_LOOKS = 3  # in a row, before it goes back
BAR = BAD_LOOKS + 2  # intervals: the looks, what is left of the one it breaks in, and what Forge needs
LOOKS = 300
_WATCH = (
    ", verify: {health: [{url: 'SERVICE/health'}], window: 40, bake: 40, "
    f"interval: {INTERVAL}, patience: {BAD_LOOKS}, error_rate: {{url: 'SERVICE/figures', path: now.errors}}}}"
)


async def test_from_going_wrong_to_going_back(tmp_path: Path) -> None:
    """In real time: what is deployed breaks at some moment, and the old version is deployed again."""
    url = create_database("sqlite", tmp_path)
    async with run_service() as service, open_story(url, tmp_path, outbound_allow="127.0.0.0/8") as told:
        scene = await open_deployments(told, service, watch=_WATCH)
        before = await scene.was_deployed()
        after = await scene.merge()
        await scene.alice.comment(scene.pull, "/forge deploy staging")
        await _wait(service, after)
        await asyncio.sleep(2.5 * INTERVAL)  # in the middle between two looks
        asked, broke = service.looks, time.monotonic()
        service.error_rates[after] = 0.9
        await _wait(service, before)
        took = (time.monotonic() - broke) / INTERVAL
        looks = service.looks - asked
        scene.told.pass_over(scene.pull)
        while not (await scene.get_latest()).state.is_over:
            await asyncio.sleep(0.1)
            service.error_rates.clear()
        await told.settle()
        told.pass_over(scene.pull)
    drop_database(url)
    print(f"\n\nFrom going wrong to going back: {took:.1f} intervals of {INTERVAL} s and {looks} looks; bar {BAR}")
    assert looks <= BAR


async def test_what_a_look_costs(tmp_path: Path) -> None:
    """A look asks each address once: no request more, and little more processor time than a plain client."""
    async with run_service() as service:
        verify = _read_configuration(service).deploy.environments["staging"].verify
        client = OutboundClient(Allowance.parse("127.0.0.0/8"))
        watcher = Watcher(client, verify.health, verify.metrics)
        began = time.process_time()
        for _ in range(LOOKS):
            await watcher.look()
        watched, asked = time.process_time() - began, service.looks
        began = time.process_time()
        async with aiohttp.ClientSession() as session:
            for _ in range(LOOKS):
                await asyncio.gather(*(_ask(session, f"{service.url}/{page}") for page in ("health", "figures")))
        plain = time.process_time() - began
        client.close()
    print(f"\n\n{LOOKS} looks at 2 addresses: {asked / LOOKS:.2f} requests for each health address and look")
    print(f"processor time: {watched / plain:.1f} times that of plain requests on kept connections")
    assert asked == LOOKS


def _read_configuration(service: ToyService) -> Configuration:
    configuration = parse(configure(service, watch=_WATCH).encode()).configuration
    assert configuration is not None
    return configuration


async def _ask(session: aiohttp.ClientSession, url: str) -> None:
    async with session.get(url) as answer:
        await answer.read()


async def _wait(service: ToyService, version: str) -> None:
    """Wait until a version has been deployed."""
    end = time.monotonic() + PATIENCE
    while not any(each == version for each, _ in service.history):
        assert time.monotonic() < end, f"{version} was not deployed"
        await asyncio.sleep(0.01)
