"""The environments of the measure: two versions behind a HAProxy each, and Prometheus, as processes on loopback."""

import asyncio
import json
import os
import re
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.bench.deployments.cases import Case, Source, Trouble
from tests.world.proxied_service import ProxiedService, Version, run_haproxy

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
RESTART = 6.0  # seconds until what crashed is started again
_SCRAPE = "2s"
_ENVIRONMENT = {"PATH": os.environ["PATH"]}


@dataclass(frozen=True)
class Pace:
    """How quickly all is watched: the defaults, or a part of them.

    :param divisor: of every time of the defaults, and of each range of a query.
    """

    divisor: int

    def seconds(self, usual: int) -> int:
        return usual // self.divisor

    def shorten(self, query: str) -> str:
        """The query with shorter ranges."""
        return re.sub(r"\[(\d+)m\]", lambda found: f"[{self.seconds(60 * int(found[1]))}s]", query)


@dataclass(eq=False)
class Slot:
    """The process of one version, started again whenever it ends."""

    version: str
    trouble: Trouble
    port: int = 0
    process: Process | None = None

    async def start(self) -> None:
        words = (str(HERE / "service.py"), self.version, str(self.port), json.dumps(self.trouble))
        self.process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=PIPE, env=_ENVIRONMENT)
        assert self.process.stdout is not None
        self.port = int(await self.process.stdout.readline())

    async def keep(self) -> None:
        """Start it again whenever it ends, as a host does."""
        while self.process is not None:
            await self.process.wait()
            await asyncio.sleep(RESTART)
            await self.start()

    async def fail(self) -> None:
        """From now on it answers everything with 500."""
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/break"):
            pass


@dataclass(eq=False)
class Environment:
    """One environment and what happens in it."""

    name: str
    case: Case
    slots: Sequence[Slot]
    proxied: ProxiedService = field(default_factory=lambda: ProxiedService({}))

    @property
    def door(self) -> int:
        return int(self.proxied.door.rstrip("/").rpartition(":")[2])

    async def give(self, slot: str, percentage: int) -> None:
        """What the deploy workflow does."""
        other = "b" if slot == "a" else "a"
        await self.proxied.ask_proxy(f"set server shop/{slot} weight {percentage}")
        await self.proxied.ask_proxy(f"set server shop/{other} weight {100 - percentage}")


@dataclass(eq=False)
class Prometheus:
    """A Prometheus of its own."""

    url: str
    process: Process

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


@asynccontextmanager
async def run_environments(cases: Sequence[Case], folder: Path) -> AsyncGenerator[Sequence[Environment]]:
    """All environments; the old version of each has all the traffic."""
    async with AsyncExitStack() as stack:
        made = [
            Environment(f"s{number:02}", case, (Slot("a", case.old), Slot("b", case.new)))
            for number, case in enumerate(cases, 1)
        ]
        for each in made:
            place = folder / each.name
            place.mkdir()
            for slot in each.slots:
                await slot.start()
                keeper = asyncio.create_task(slot.keep())
                stack.push_async_callback(_stop, slot, keeper)
            each.proxied = ProxiedService({slot.version: Version(slot.version, port=slot.port) for slot in each.slots})
            await run_haproxy(stack, each.proxied, place)
        yield made


async def _stop(slot: Slot, keeper: asyncio.Task[None]) -> None:
    keeper.cancel()
    if slot.process is not None and slot.process.returncode is None:
        slot.process.kill()
        await slot.process.wait()


@asynccontextmanager
async def run_prometheus(
    environments: Sequence[Environment],
    folder: Path,
    pace: Pace,
    alerts: tuple[Sequence[Mapping[str, Any]], str] = ((), ""),
) -> AsyncGenerator[Prometheus]:
    """A Prometheus that reads all versions of these environments every two seconds.

    :param alerts: rules, and the address of the Alertmanager that is told.
    """
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    jobs = [
        {
            "job_name": each.name,
            "static_configs": [
                {"targets": [f"127.0.0.1:{slot.port}" for slot in each.slots], "labels": {"service": "shop"}}
            ],
        }
        for each in environments
    ]
    rules = [
        {
            "record": f"{each.name}:http_errors:rate5m",
            "expr": pace.shorten(read_documented("error_rate", each.name)["query"].replace("[1m]", "[5m]")),
        }
        for each in environments
        if each.case.source is Source.recorded
    ]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "rates", "rules": [*rules, *alerts[0]]}]}))
    times = {"scrape_interval": _SCRAPE, "scrape_timeout": "1s", "evaluation_interval": _SCRAPE}
    content: dict[str, Any] = {"global": times, "rule_files": ["rules.yml"], "scrape_configs": jobs}
    if alerts[1]:
        content["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alerts[1]]}]}]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(content))
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            stdin=DEVNULL,
            stdout=log,
            stderr=log,
            env=_ENVIRONMENT,
        )
    running = Prometheus(f"http://127.0.0.1:{port}", process)
    try:
        yield running
    finally:
        await running.kill()


def read_documented(metric: str, job: str) -> dict[str, Any]:
    """The settings of a metric in the example of docs/deployments.md, with its query about another job."""
    page = (ROOT / "docs" / "deployments.md").read_text()
    example = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    settings = example["deploy"]["environments"]["production"]["verify"][metric]
    assert 'job="shop"' in settings["query"], "the documented query names no job"
    return {**settings, "query": settings["query"].replace('job="shop"', f'job="{job}"')}
