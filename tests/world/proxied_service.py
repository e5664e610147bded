"""A service of several versions behind a real HAProxy, whose runtime API a deploy command changes, and its traffic."""

import asyncio
import csv
import io
import os
import shutil
import socket
from asyncio.subprocess import DEVNULL
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientError, ClientSession, web

BACKEND = "shop"
SLOTS = ("a", "b", "c")
_DELAY = 0.02  # seconds; much less could not be told from noise
_AT_ONCE = 8
_FEWEST = 100  # requests that figures are made of

# HAProxy gets its ports as open sockets, so that nobody else can take them in between.
_CONFIGURATION = """\
global
    stats socket fd@{runtime} level admin
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout queue 60s
    retries 0
frontend door
    bind fd@{door}
    default_backend {backend}
backend {backend}
    balance roundrobin
{servers}
"""


def has_haproxy() -> bool:
    """Whether HAProxy is installed."""
    return find_haproxy() is not None


def find_haproxy() -> str | None:
    """The program; Debian keeps it where the paths of plain users do not look."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/local/sbin:/usr/sbin")


@dataclass(eq=False)
class Version:
    """What runs in one slot.

    :ivar failing: the share of its requests that it answers with 500.
    :ivar delay: seconds before it answers.
    :ivar answered: how many requests reached it.
    """

    slot: str
    failing: float = 0.0
    delay: float = _DELAY
    answered: int = 0
    port: int = 0

    async def answer(self, _: web.Request) -> web.Response:
        before, self.answered = int(self.answered * self.failing), self.answered + 1
        await asyncio.sleep(self.delay)
        fails = int(self.answered * self.failing) > before
        return web.Response(status=500 if fails else 200, text=self.slot)


@dataclass(frozen=True)
class Counts:
    """What HAProxy counted for one server since it started."""

    answers: int
    errors: int
    milliseconds: float


@dataclass(eq=False)
class ProxiedService:
    """The versions, the proxy before them and what it says of them.

    :ivar door: the address that users ask.
    :ivar runtime: the port of the proxy's runtime API.
    :ivar figures: the address of the figures, in JSON.
    """

    versions: Mapping[str, Version]
    door: str = ""
    runtime: int = 0
    figures: str = ""
    _counted: Mapping[str, Counts] = field(default_factory=dict[str, Counts])
    _said: dict[str, float] = field(default_factory=dict[str, float])
    _process: asyncio.subprocess.Process | None = None

    async def load(self, requests: int) -> Mapping[str, float]:
        """Send so many requests through the door; which percentage of them each version answered."""
        seen: Counter[str] = Counter()
        left = iter(range(requests))
        async with ClientSession() as session, asyncio.TaskGroup() as group:

            async def ask() -> None:
                for _ in left:
                    try:
                        async with session.get(self.door) as answer:
                            seen[await answer.text() if answer.status in {200, 500} else "nobody"] += 1
                    except ClientError:
                        seen["nobody"] += 1

            for _ in range(_AT_ONCE):
                group.create_task(ask())
        return {slot: 100 * count / requests for slot, count in seen.items()}

    async def start_proxy(self, file: Path, sockets: Sequence[int]) -> None:
        """Start HAProxy.

        :param sockets: descriptors that its configuration names.
        """
        with (file.parent / "haproxy.log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(find_haproxy() or "haproxy", "-db", "-f", str(file)),
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=sockets,
                env={"PATH": os.environ["PATH"]},
            )

    async def kill_proxy(self) -> None:
        """Kill HAProxy, unless it is over."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def ask_proxy(self, command: str) -> str:
        """What the runtime API answers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.runtime)
        writer.write(f"{command}\n".encode())
        answer = await reader.read()
        writer.close()
        return answer.decode()

    async def weights(self) -> Mapping[str, int]:
        """The weights of the servers that get any traffic."""
        return {slot: int(row["weight"]) for slot, row in (await self._read_rows()).items() if row["weight"] != "0"}

    async def answer_figures(self, _: web.Request) -> web.Response:
        """How the worst version did, of those that the newest requests reached."""
        try:
            rows = await self._read_rows()
        except OSError:
            return web.Response(status=503, text="the proxy does not answer")
        counted = {
            slot: Counts(int(row["stot"]), int(row["hrsp_5xx"]), float(row["rtime"] or 0)) for slot, row in rows.items()
        }
        none = Counts(0, 0, 0)
        new = {slot: now.answers - self._counted.get(slot, none).answers for slot, now in counted.items()}
        if sum(new.values()) >= _FEWEST:
            reached = [slot for slot, answers in new.items() if answers]
            errors = {slot: counted[slot].errors - self._counted.get(slot, none).errors for slot in reached}
            self._said = {
                "errors": max(errors[slot] / new[slot] for slot in reached),
                "latency": max(counted[slot].milliseconds for slot in reached),
            }
            self._counted = counted
        return web.json_response({"worst": self._said})

    async def _read_rows(self) -> Mapping[str, Mapping[str, str]]:
        """What `show stat` says of each server, as HAProxy's manual describes it (9.1, Statistics)."""
        table = (await self.ask_proxy(f"show stat {BACKEND} 4 -1")).removeprefix("# ")
        return {row["svname"]: row for row in csv.DictReader(io.StringIO(table))}


@asynccontextmanager
async def run_proxied_service(folder: Path) -> AsyncGenerator[ProxiedService]:
    """Three versions and a HAProxy on loopback; all traffic goes to the first one.

    :param folder: for the configuration.
    """
    service = ProxiedService({slot: Version(slot) for slot in SLOTS})
    async with AsyncExitStack() as stack:
        for version in service.versions.values():
            version.port = await _serve(stack, "/{path:.*}", version)
        service.figures = f"http://127.0.0.1:{await _serve(stack, '/figures', service)}/figures"
        await run_haproxy(stack, service, folder)
        yield service


async def _serve(stack: AsyncExitStack, path: str, what: Version | ProxiedService) -> int:
    """Serve one address; its port."""
    app = web.Application()
    app.router.add_get(path, what.answer if isinstance(what, Version) else what.answer_figures)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return int(runner.addresses[0][1])


async def run_haproxy(stack: AsyncExitStack, service: ProxiedService, folder: Path) -> None:
    """Start the proxy before the versions of a service; all traffic goes to the first one.

    :param folder: for the configuration.
    """
    with socket.create_server(("127.0.0.1", 0)) as door, socket.create_server(("127.0.0.1", 0)) as runtime:
        servers = "\n".join(
            f"    server {each.slot} 127.0.0.1:{each.port} weight {100 if each.slot == SLOTS[0] else 0}"
            for each in service.versions.values()
        )
        file, ports = folder / "haproxy.cfg", {"runtime": runtime.fileno(), "door": door.fileno()}
        file.write_text(_CONFIGURATION.format(**ports, backend=BACKEND, servers=servers))
        await service.start_proxy(file, tuple(ports.values()))
        stack.push_async_callback(service.kill_proxy)
        service.door, service.runtime = f"http://127.0.0.1:{door.getsockname()[1]}/", runtime.getsockname()[1]
    await service.weights()  # answers as soon as it runs
