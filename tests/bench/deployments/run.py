"""Carries out the twenty deployments at once and prints a table: ``python -m tests.bench.deployments.run``.

With the defaults of docs/deployments.md it takes a quarter of an hour; ``--quick`` divides every time by five. It ends
with status 1 where a word is false: where the state is not one that is true of the case, or where it does not agree
with what the users saw in the last seconds.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

import yaml

from domain.commands import Sender
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.runs.run import ReasonCode, RepositoryRef, RunState
from memory import gates
from memory.deployments import deployments
from memory.runs import runs
from simulator import User
from simulator.state import PullRequest, Repository
from tests.bench.deployments.cases import CASES, Case, Event, Source
from tests.bench.deployments.environment import (
    HERE,
    Environment,
    Pace,
    Prometheus,
    read_documented,
    run_environments,
    run_prometheus,
)
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.world.deployments import DEPLOY as WORKFLOW

LONGEST = 45 * 60  # seconds for all of it
WARM = 75  # seconds of traffic before anything is deployed
_BLIND = "whether it is well is not known"
_SEEN = 20  # seconds at the end that count
_SLOW, _FAILING = 0.4, 0.02  # seconds and share: the users' own machine is busy, too
_COMMAND = "python3 deploy.py {environment} {ref} {percentage} {deployment}"
_DEPLOY = '''\
"""Gives the version of this commit a share of the traffic: deploy.py ENVIRONMENT REF PERCENTAGE DEPLOYMENT"""

import os
import socket
import sys
import time

host, port = os.environ["FORGE_TARGET"].split(":")
slot = open("slot").read().strip()
if slot == "b" and sys.argv[1] in open("hanging").read().split():
    time.sleep(3600)
for server, weight in ((slot, int(sys.argv[3])), ("ab".replace(slot, ""), 100 - int(sys.argv[3]))):
    with socket.create_connection((host, int(port)), timeout=30) as proxy:
        proxy.sendall(f"set server shop/{server} weight {weight}\\n".encode())
        if answer := b"".join(iter(lambda: proxy.recv(4096), b"")).decode().strip():
            sys.exit(answer)
'''


@dataclass(frozen=True)
class Seen:
    """What the users of an environment saw in the last seconds.

    :param slow: seconds within which nine of ten answers came.
    """

    versions: Mapping[str, int]
    errors: float
    slow: float

    @property
    def is_well(self) -> bool:
        return self.errors <= _FAILING and self.slow <= _SLOW

    def agrees(self, state: DeploymentState) -> bool:
        """Whether a state is true of this."""
        match state:
            case DeploymentState.healthy:
                return self.is_well and set(self.versions) == {"b"}
            case DeploymentState.rolled_back | DeploymentState.stopped:
                return self.is_well and set(self.versions) == {"a"}
            case DeploymentState.failed:
                return not (self.is_well and set(self.versions) in ({"a"}, {"b"}))
            case _:
                return False

    def __str__(self) -> str:
        shares = " ".join(f"{version} {count}" for version, count in sorted(self.versions.items()))
        return f"{shares}, {self.errors:.1%} errors, {1000 * self.slow:.0f} ms"


@dataclass(eq=False)
class Measure:
    """All that runs."""

    story: Story
    repository: Repository
    carol: User
    pull: PullRequest
    environments: Sequence[Environment]
    own: Prometheus
    old: str
    new: str

    async def deploy(self) -> None:
        """Order all of them, and stay until each is over or asks for longer than anybody waits."""
        for each in self.environments:
            await self.carol.comment(self.pull, f"/forge deploy {each.name}")
        tasks = [asyncio.create_task(self._attend(each)) for each in self.environments]
        await asyncio.wait_for(asyncio.gather(*tasks), LONGEST)

    async def load(self, environment: Environment) -> Deployment | None:
        """The deployment of this measure."""
        found = await deployments.list_latest(
            self.story.forge.services.database, self.repository.id, environment.name, 1
        )
        return found[0] if found and found[0].sha == self.new else None

    async def _attend(self, environment: Environment) -> None:
        """Let happen what happens in an environment, and answer what a person answers."""
        case, has_happened, has_answered = environment.case, False, False
        while True:
            await asyncio.sleep(1)
            known = await self.load(environment)
            if known is None:
                continue
            if known.state.is_over:
                return
            if known.percentage and case.event is not None and not has_happened:
                has_happened = True
                await self._let_happen(case.event, environment)
            if case.answer and not has_answered and known.state is DeploymentState.holding:
                has_answered = True
                await self.carol.comment(self.pull, f"/forge deploy {environment.name} {case.answer}")

    async def _let_happen(self, event: Event, environment: Environment) -> None:
        await asyncio.sleep(5)
        match event:
            case Event.proxy_dies:
                await environment.proxied.kill_proxy()
            case Event.source_dies:
                await self.own.kill()
            case Event.old_breaks:
                await environment.slots[0].fail()

    async def has_asked(self, known: Deployment) -> bool:
        """Whether it held and asked."""
        return bool(await gates.list_for_run(self.story.forge.services.database, known.run_id))


def configure(environments: Sequence[Environment], shared: str, own: str, pace: Pace) -> str:
    """``.github/forge.yml``."""
    settings = {
        each.name: _configure_one(each, own if each.case.source is Source.own else shared, pace)
        for each in environments
    }
    document = {
        "review": {"on_pull_request": False},
        "gates": {"deploy_hold": {"timeout": "1m"}},
        "deploy": {"environments": settings},
    }
    return yaml.safe_dump(document)


def _configure_one(environment: Environment, prometheus: str, pace: Pace) -> dict[str, Any]:
    case, door = environment.case, environment.proxied.door
    metrics = {name: read_documented(name, environment.name) for name in ("error_rate", "latency")}
    if case.source is Source.recorded:
        metrics["error_rate"]["query"] = f"{environment.name}:http_errors:rate5m"
    if case.source is Source.lying:
        metrics["error_rate"]["query"] = "vector(0)"
    for metric in metrics.values():
        metric.update(url=prometheus, query=pace.shorten(metric["query"]))
    health = {"url": door} if case.source is Source.lying else {"url": f"{door}health", "contains": "ok"}
    way = {"command": _COMMAND} if case.by_command else {"workflow": "deploy.yml"}
    times = {"interval": 15, "window": 120, "bake": 300}
    watch = {} if pace.divisor == 1 else {name: pace.seconds(usual) for name, usual in times.items()}
    return {
        **way,
        "minutes": 1,
        "strategy": {"high": list(case.steps)},
        "verify": {"health": [health], **metrics, **watch},
    }


async def prepare(story: Story, environments: Sequence[Environment], configuration: str) -> tuple[Any, ...]:
    """A repository in which version `a` is deployed everywhere, and version `b` is merged."""
    hanging = " ".join(each.name for each in environments if each.case.hangs)
    files = {
        "deploy.py": _DEPLOY,
        "slot": "a\n",
        "hanging": hanging,
        ".github/workflows/deploy.yml": WORKFLOW,
        ".github/forge.yml": configuration,
    }
    repository, alice = story.repository(files)
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "maintain")
    by_name = {each.name: each for each in environments}
    old = repository.git.refs()["refs/heads/main"]

    async def play(inputs: Mapping[str, str], _sha: str) -> str:
        environment = by_name[inputs["environment"]]
        slot = "a" if inputs["ref"] == old else "b"
        if slot == "a" and environment.case.refuses_back:
            return "failure"
        try:
            await environment.give(slot, int(inputs["percentage"]))
        except OSError:
            return "failure"
        return "success"

    story.github.on_dispatch(repository, "deploy.yml", play)
    await alice.push(repository, "change", {"slot": "b\n"}, base="main")
    pull = await alice.open_pull_request(repository, "change")
    await story.settle()
    for each in environments:
        await _note_deployed(story, repository, each.name, old, carol)
    new = await carol.merge(pull)
    await story.settle()
    return repository, carol, pull, old, new


async def _note_deployed(story: Story, repository: Repository, name: str, sha: str, carol: User) -> None:
    """The old version was deployed by Forge at some time, and was well."""
    database, now = story.forge.services.database, story.clock.now()
    installation = story.github.world.installation_of(repository)
    assert installation is not None
    owner, _, short = repository.full_name.partition("/")
    where = RepositoryRef(installation_id=installation.id, id=repository.id, owner=owner, name=short)
    sender = Sender(id=carol.account.id, login="carol")
    order = deployments.DeploymentOrder(f"before#{name}", where, 1, name, False, sha, Cause.command, None, sender)
    run, _ = await deployments.admit(database, order, now)
    await deployments.move(database, run, DeploymentState.healthy, now, percentage=100)
    for state in (RunState.running, RunState.completed):
        await runs.move(database, run.id, state, now, ReasonCode.deployed)


def read_seen(record: Path, door: int, until: float) -> Seen:
    """What users saw in the seconds before a moment."""
    rows = [line.split() for line in record.read_text().splitlines()]
    mine = [row for row in rows if len(row) == 5 and row[1] == str(door) and until - _SEEN <= float(row[0]) < until]
    versions: dict[str, int] = {}
    for row in mine:
        versions[row[3]] = versions.get(row[3], 0) + 1
    taken = sorted(float(row[4]) for row in mine) or [9.0, 9.0]
    errors = sum(row[2] != "200" for row in mine) / (len(mine) or 1)
    return Seen({key: count for key, count in versions.items() if key != "-"}, errors, quantiles(taken, n=10)[-1])


async def start_users(record: Path, environments: Sequence[Environment]) -> Process:
    """The users of all environments."""
    ports = [str(each.door) for each in environments]
    return await asyncio.create_subprocess_exec(sys.executable, str(HERE / "users.py"), str(record), *ports)


def write_access(folder: Path, environments: Sequence[Environment]) -> Path:
    """What the deploy commands may reach."""
    file = folder / "access.toml"
    file.write_text(
        "".join(
            f'["octo-org/shop".{each.name}]\naddress = "http://127.0.0.1:{each.proxied.runtime}"\n'
            for each in environments
        )
    )
    return file


async def judge(measure: Measure, environment: Environment, record: Path) -> tuple[bool, list[str]]:
    """Whether the word is true, and the row that shows it."""
    case, known = environment.case, await measure.load(environment)
    if known is None or known.finished_at is None:
        return False, [environment.name, case.kind, case.name, "–", "not over", "", ""]
    seen = read_seen(record, environment.door, known.finished_at.timestamp())
    asked = await measure.has_asked(known)
    agrees = seen.agrees(known.state) or (case.event is Event.source_dies and _BLIND in known.detail)
    is_true = known.state in case.says and agrees and case.asks in {None, asked}
    took = (known.finished_at - known.created_at).total_seconds()
    word = f"{known.state.value}{', asked' if asked else ''}"
    return is_true, [environment.name, case.kind, case.name, f"{took:.0f} s", word, str(seen), known.detail]


async def main(pace: Pace, only: Sequence[str]) -> int:
    """Run it; how many words were false."""
    chosen: Sequence[Case] = [case for case in CASES if not only or any(part in case.name for part in only)]
    folder = Path(tempfile.mkdtemp(prefix="deployments-"))
    record = folder / "record"
    async with AsyncExitStack() as stack:
        environments = await stack.enter_async_context(run_environments(chosen, folder))
        shared = await stack.enter_async_context(run_prometheus(environments, folder / "shared", pace))
        mine = [each for each in environments if each.case.source is Source.own]
        own = await stack.enter_async_context(run_prometheus(mine, folder / "own", pace))
        users = await start_users(record, environments)
        stack.callback(users.kill)
        access = write_access(folder, environments)
        url = create_database("sqlite", folder)
        story = await stack.enter_async_context(
            open_story(url, folder, outbound_allow="127.0.0.0/8", deploy_access=access)
        )
        configuration = configure(environments, shared.url, own.url, pace)
        repository, carol, pull, old, new = await prepare(story, environments, configuration)
        await asyncio.sleep(max(pace.seconds(WARM), 20))
        measure = Measure(story, repository, carol, pull, environments, own, old, new)
        began = time.monotonic()
        try:
            await measure.deploy()
        except TimeoutError:
            print(f"Not all were over after {LONGEST} s.")
        judged = [await judge(measure, each, record) for each in environments]
        print_table(judged, time.monotonic() - began)
        await story.settle()
        story.pass_over(pull)
    return sum(not is_true for is_true, _ in judged)


def print_table(judged: Sequence[tuple[bool, list[str]]], took: float) -> None:
    """The table."""
    print("| | trouble | deployment | took | Forge says | users saw at its end | true |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for is_true, row in judged:
        print("| " + " | ".join([*row[:6], "yes" if is_true else "**no**"]) + " |")
    for _, row in judged:
        print(f"{row[0]}: {row[6]}")
    print(f"{sum(is_true for is_true, _ in judged)} of {len(judged)} words are true; {took:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="divide every time by five")
    parser.add_argument("only", nargs="*", help="a part of the names of deployments")
    given = parser.parse_args()
    sys.exit(1 if asyncio.run(main(Pace(5 if given.quick else 1), given.only)) else 0)
