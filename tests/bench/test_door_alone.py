"""`forge door` as a process of its own on PostgreSQL, against a bare handler that inserts a row of the same size."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

from sqlalchemy import text

from memory.db.engine import Database
from simulator import Simulator
from tests.bench.deliveries import record_delivery
from tests.bench.load import Load, Result
from tests.bench.processor import sum_seconds
from tests.databases import create_database, drop_database, get_server_pid, restart_server
from tests.stories.driver import SECRET
from tests.world.processes import ROOT, build_environment, run_command

SLICE, SLICES = 1.0, 16
"""Seconds; short and in turn, so that what else goes on in the machine meets both."""
FEW, MANY = 16, 64  # connections
STEADY = 200.0  # deliveries a second
FLOOD, FLOOD_SECONDS = 1000.0, 60.0


@dataclass(frozen=True)
class Slice:
    """A load of some seconds, and microseconds of a processor for each delivery."""

    result: Result
    server: float
    database: float
    sender: float


@dataclass(frozen=True)
class DoorServer:
    """A process that takes webhooks."""

    name: str
    port: int
    pid: int

    async def send(self, body: Path, connections: int, rate: float, seconds: float) -> Slice:
        database = get_server_pid()
        before = sum_seconds(self.pid), sum_seconds(database)
        load = Load(self.port, SECRET, "pull_request", str(body), seconds, connections, rate)
        result, _ = await send_load(load)
        after = sum_seconds(self.pid), sum_seconds(database)
        assert set(result.statuses) == {"202"}
        spent = (after[0] - before[0], after[1] - before[1], result.sending)
        return Slice(result, *(seconds * 1e6 / len(result.milliseconds) for seconds in spent))


async def send_load(load: Load) -> tuple[Result, dict[str, list[str]]]:
    """The result of a load that a process of its own sends, and the deliveries by what became of them."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.load", json.dumps(asdict(load))), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    told = json.loads(printed)
    return Result(**{name: value for name, value in told.items() if name != "guids"}), told.get("guids", {})


@asynccontextmanager
async def open_both(folder: Path) -> AsyncGenerator[tuple[DoorServer, DoorServer, Path, str]]:
    """The bare handler, the door, a payload, and the address of the database both write to."""
    url = create_database("postgresql", folder)
    async with Simulator(folder / "github", webhook_secret=SECRET) as github:
        body = folder / "payload.json"
        body.write_bytes(await record_delivery(github))
        environment = build_environment(github, url, folder, private_key="")
        plain = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.bench.plain_door", url), stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        assert plain.stdout is not None
        bare = DoorServer("bare handler, one insert each", int(await plain.stdout.readline()), plain.pid)
        async with run_command(environment, folder, "door") as door:
            port = (await door.wait_for_event("taking webhooks"))["port"]
            yield bare, DoorServer("forge door", port, door.pid), body, url
        plain.kill()
        await plain.wait()
    drop_database(url)


async def test_the_door_alone(tmp_path: Path) -> None:
    """In short slices by turns. Wanted: 0.9 of the bare handler with 16 connections, p99 25 ms with 64."""
    async with open_both(tmp_path) as (bare, door, body, _):
        print(f"\n\nWebhook to answer on PostgreSQL, payload of {body.stat().st_size / 1000:.0f} kB;")
        print(f"medians and quartiles of {SLICES} pairs of slices of {SLICE:g} s; processor time for each delivery")
        for connections, rate in ((FEW, 0.0), (MANY, 0.0), (MANY, STEADY)):
            for each in (bare, door):
                await each.send(body, connections, rate, SLICE)  # to get warm
            pairs = [await _take_turns(bare, door, body, connections, rate, number) for number in range(SLICES)]
            how = f"at {rate:.0f}/s" if rate else "as fast as it answers"
            print(f"{connections} connections, {how}:")
            for each, slices in zip((bare, door), zip(*pairs, strict=True), strict=True):
                _print(each.name, slices)
            ratios = [second.result.per_second / first.result.per_second for first, second in pairs]
            print(f"  the door to the bare handler: {_spread(ratios, '.2f')}")


async def _take_turns(
    bare: DoorServer, door: DoorServer, body: Path, connections: int, rate: float, number: int
) -> tuple[Slice, Slice]:
    """A slice of each; who comes first changes each time, since the second finds what the first left to be written."""
    both = (bare, door) if number % 2 else (door, bare)
    slices = {each.name: await each.send(body, connections, rate, SLICE) for each in both}
    return slices[bare.name], slices[door.name]


def _print(name: str, slices: Sequence[Slice]) -> None:
    def tell(percentile: float) -> str:
        return _spread([each.result.percentile(percentile) for each in slices], ".1f")

    parts = [median(getattr(each, part) for each in slices) for part in ("server", "database", "sender")]
    print(
        f"  {name:30} {_spread([each.result.per_second for each in slices], '.0f')}/s  "
        f"p50 {tell(0.5)} ms  p99 {tell(0.99)} ms  "
        f"{parts[0]:.0f} µs, PostgreSQL {parts[1]:.0f} µs, who sends {parts[2]:.0f} µs"
    )


def _spread(values: Sequence[float], form: str) -> str:
    low, middle, high = quantiles(values, n=4)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


async def test_a_flood_with_a_restart_of_the_database(tmp_path: Path) -> None:
    """A thousand deliveries a second for a minute, and PostgreSQL restarts in the middle. The sender repeats nothing.

    What was answered 202 is stored, each once. What was not is what GitHub's log shows as failed, so that the sweep for
    missed deliveries finds it; both are counted.
    """
    async with open_both(tmp_path) as (_, door, body, url):
        load = Load(door.port, SECRET, "pull_request", str(body), FLOOD_SECONDS, MANY, FLOOD, told=True)
        sending = asyncio.create_task(send_load(load))
        await asyncio.sleep(FLOOD_SECONDS / 2)
        await asyncio.to_thread(restart_server)
        result, guids = await sending
        database = Database(url)
        async with database.transaction() as session:
            stored = Counter(await session.scalars(text("SELECT guid FROM deliveries")))
            queued = set(await session.scalars(text("SELECT workflow_uuid FROM dbos.workflow_status")))
        await database.close()
    accepted = set(guids["202"])
    print(
        f"\n\n{sum(map(len, guids.values())):,} deliveries in {result.seconds:.0f} s with a restart of PostgreSQL: "
        f"{ {status: len(those) for status, those in guids.items()} }, p99 {result.percentile(0.99):.0f} ms, "
        f"longest {max(result.milliseconds):.0f} ms; stored {len(stored):,}; "
        f"connections broke: {result.breaks or 'none'}"
    )
    assert accepted <= stored.keys()
    assert accepted <= queued
    assert set(stored.values()) == {1}
