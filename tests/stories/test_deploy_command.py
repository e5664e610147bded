"""A deploy command moves real traffic behind a real HAProxy, step by step, and back when the figures say so."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from domain.deployments.deployment import Deployment
from tests.databases import create_database, drop_database
from tests.stories.driver import Story, open_story
from tests.unit.sandbox.machine import has_landlock
from tests.world.deployments import DeploymentScene
from tests.world.proxied_service import ProxiedService, has_haproxy, run_proxied_service
from tests.world.toy_service import ToyService
from workspace.sandbox.sandbox import BUBBLEWRAP

pytestmark = pytest.mark.skipif(not has_haproxy(), reason="there is no HAProxy here: apt-get install haproxy")

TOKEN = "t-kS83hd0Zq1mWv7Lr"
BURST = 200  # requests between two looks
CLOSE = 3  # points by which a measured share may differ from the wanted one
DEPLOY = '''\
"""Gives the version of this commit a share of the traffic: deploy.py ENVIRONMENT REF PERCENTAGE DEPLOYMENT"""

import csv
import os
import socket
import sys

host, port = os.environ["FORGE_TARGET"].split(":")
environment, ref, percentage, deployment = sys.argv[1:]
slot = open("slot").read().strip()


def tell(command):
    with socket.create_connection((host, int(port)), timeout=30) as proxy:
        proxy.sendall(command.encode() + b"\\n")
        return b"".join(iter(lambda: proxy.recv(4096), b"")).decode()


def give(server, weight):
    if answer := tell(f"set server shop/{server} weight {weight}").strip():
        sys.exit(answer)


print("knows", os.environ["SHOP_TOKEN"], "and no", [name for name in os.environ if "proxy" in name.lower()])
rows = csv.DictReader(tell("show stat shop 4 -1").removeprefix("# ").splitlines())
weights = {row["svname"]: int(row["weight"]) for row in rows}
others = {server: weight for server, weight in weights.items() if weight and server != slot}
give(slot, percentage)
if os.path.exists("half-way"):
    sys.exit("the disk is full")
left = 100 - int(percentage)
for server, weight in others.items():
    give(server, round(weight * left / sum(others.values())))
print(ref, "has", percentage, "% of", environment, "by", deployment)
'''


@dataclass(eq=False)
class ProxiedScene(DeploymentScene):
    """The traffic goes on between two looks.

    :ivar shares: what the users measured first at each percentage, by version.
    :ivar proxy_dies_at: the percentage at which the proxy is killed.
    """

    proxied: ProxiedService = field(kw_only=True)
    proxy_dies_at: int | None = None
    shares: dict[int, Mapping[str, float]] = field(default_factory=dict[int, Mapping[str, float]])

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            deployment = await self.latest()
            percentage = 0 if deployment is None else deployment.percentage
            if percentage == self.proxy_dies_at:
                await self.proxied.kill_proxy()
            self.shares.setdefault(percentage, await self.proxied.load(BURST))
            await super().look()

    async def deploy(self, slot: str, files: Mapping[str, str | None] | None = None) -> Deployment:
        """alice changes what runs, carol merges and deploys that; how it ended."""
        await self.proxied.load(BURST)
        self.shares.clear()
        await self._merge({"slot": f"{slot}\n", **(files or {})})
        assert "is to be deployed" in await self.comment(self.carol, "/forge deploy staging")
        await self.run_on()
        deployment = await self.latest()
        assert deployment is not None
        return deployment

    @property
    def told_at_the_end(self) -> str:
        """The comment at the end of the newest deployment."""
        return self.told.answers(self.pull)[-1].body

    async def _merge(self, files: Mapping[str, str | None]) -> None:
        branch = f"change-{len(self.pulls)}"
        await self.alice.push(self.repository, branch, dict(files), base="main")
        pull = await self.alice.open_pull_request(self.repository, branch)
        self.pulls.append(pull)
        await self.told.settle()
        await self.told.after(self.carol.merge(pull))


def configure(service: ProxiedService) -> str:
    """Every change takes the same steps, whatever its risk."""
    steps = ", ".join(f"{risk}: [5, 25, 50, 100]" for risk in ("low", "medium", "high"))
    watch = (
        f"health: [{{url: '{service.door}'}}], interval: 15, window: 30, bake: 45, patience: 2, "
        f"error_rate: {{url: '{service.figures}', path: worst.errors}}, "
        # Real answers on a busy machine: only what is far off counts.
        f"latency: {{url: '{service.figures}', path: worst.latency, degraded: 8, unhealthy: 10}}"
    )
    command = "python3 deploy.py {environment} {ref} {percentage} {deployment}"
    return (
        f"deploy:\n  environments:\n    staging:\n      command: '{command}'\n"
        f"      strategy: {{{steps}}}\n      verify: {{{watch}}}\n"
    )


@pytest.fixture
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> AsyncGenerator[ProxiedScene]:
    url = create_database("sqlite", tmp_path)
    async with AsyncExitStack() as stack:
        proxied = await stack.enter_async_context(run_proxied_service(tmp_path))
        secret, access = tmp_path / "token", tmp_path / "access.toml"
        secret.write_text(f"{TOKEN}\n")
        access.write_text(
            f'["octo-org/shop".staging]\naddress = "http://127.0.0.1:{proxied.runtime}"\n'
            f"secrets = {{SHOP_TOKEN = {json.dumps(str(secret))}}}\n"
        )
        sandbox = getattr(request, "param", "auto")
        story = await stack.enter_async_context(
            open_story(url, tmp_path, outbound_allow="127.0.0.0/8", deploy_access=access, sandbox=sandbox)
        )
        if sandbox == "auto" and story.forge.services.toolbox.sandbox.strongest().level < BUBBLEWRAP:
            pytest.skip("sandbox level 3 does not work here, and no command reaches anything at another one")
        yield open_scene(story, proxied)
        assert_untold(story, tmp_path, secret)
        assert TOKEN not in caplog.text
    drop_database(url)


def assert_untold(story: Story, folder: Path, secret: Path) -> None:
    """The token is in nothing that anybody can read: not on GitHub, and not in what Forge keeps."""
    for repository in story.github.world.repositories.values():
        comments = [each.body for issue in repository.issues.values() for each in story.github.comments(issue)]
        statuses = [each.description for made in repository.deployments for each in made.statuses]
        assert TOKEN not in "".join([*comments, *statuses])
    checks = story.github.world.check_runs.values()
    assert TOKEN not in "".join(f"{check.title}{check.summary}{check.text}" for check in checks)
    kept = [file for file in folder.rglob("*") if file.is_file() and file != secret]
    assert [str(file) for file in kept if TOKEN.encode() in file.read_bytes()] == []


def open_scene(story: Story, proxied: ProxiedService) -> ProxiedScene:
    """The repository, before anything was deployed."""
    files = {"deploy.py": DEPLOY, "slot": "a\n", "README.md": "# Shop\n", ".github/forge.yml": configure(proxied)}
    repository, alice = story.repository(files)
    carol, erin = story.github.user("carol"), story.github.user("erin")
    for each in (carol, erin):
        story.github.grant(repository, each, "maintain")
    return ProxiedScene(story, repository, alice, carol, erin, ToyService(), proxied=proxied)


async def test_a_good_version_takes_over_and_a_bad_one_goes_back(scene: ProxiedScene) -> None:
    first = await scene.deploy("a", {"README.md": "# The shop\n"})
    assert (first.state, first.detail) == ("healthy", "")
    assert "Forge knows nothing that it could go back to." in scene.told_at_the_end

    second = await scene.deploy("b")
    assert (second.state, second.detail) == ("healthy", "")
    assert "takes it back" in scene.told_at_the_end
    measured = [scene.shares[percentage].get("b", 0) for percentage in (5, 25, 50, 100)]
    assert measured == pytest.approx([5, 25, 50, 100], abs=CLOSE)
    assert await scene.proxied.weights() == {"b": 100}

    scene.proxied.versions["c"].failing = 0.3
    third = await scene.deploy("c")
    assert third.state == "rolled_back"
    rise = r"At 5 % it is unhealthy: error_rate is unhealthy \(0 before, 0\.\d+ now\)\."
    assert re.fullmatch(rf"{rise} {second.sha[:7]} is back and healthy\.", third.detail), third.detail
    assert scene.shares[5].get("c", 0) == pytest.approx(5, abs=CLOSE)
    assert scene.shares.keys() - {0} == {5}
    assert await scene.proxied.weights() == {"b": 100}
    assert await scene.proxied.load(BURST) == {"b": 100}
    assert scene.check(third.sha, "staging").conclusion == "failure"
    assert third.detail in scene.told_at_the_end


async def test_a_command_that_fails_half_way_is_undone_and_a_dead_proxy_is_told(scene: ProxiedScene) -> None:
    first = await scene.deploy("a", {"README.md": "# The shop\n"})
    assert (first.state, "takes it back" in scene.told_at_the_end) == ("healthy", False)

    second = await scene.deploy("b", {"half-way": ""})
    failed = "Deploying 5 % failed: python3 ended with status 1."
    assert (second.state, second.detail) == ("rolled_back", f"{failed} {first.sha[:7]} is back and healthy.")
    assert await scene.proxied.load(BURST) == {"a": 100}
    assert "knows [secret] and no []" in scene.told_at_the_end
    assert "the disk is full" in scene.told_at_the_end

    scene.proxy_dies_at = 25
    third = await scene.deploy("c", {"half-way": None})
    assert third.state == "failed"
    assert third.detail.startswith("At 25 % it is unhealthy: ")
    assert third.detail.endswith(f" Going back to {first.sha[:7]} failed, too: python3 ended with status 1.")
    assert "could not be reached (Connection refused)." in scene.told_at_the_end
    assert scene.check(third.sha, "staging").conclusion == "action_required"
    assert [state for state, _ in scene.statuses(third.sha, "staging")][-1] == "error"
    assert "success" not in [state for state, _ in scene.statuses(third.sha, "staging")]
    assert "is back" not in scene.told_at_the_end


@pytest.mark.deep
async def test_a_version_that_is_much_slower_goes_back(scene: ProxiedScene) -> None:
    first = await scene.deploy("a", {"README.md": "# The shop\n"})
    assert (first.state, "takes it back" in scene.told_at_the_end) == ("healthy", False)
    scene.proxied.versions["b"].delay = 1.0
    second = await scene.deploy("b")
    assert second.state == "rolled_back"
    assert second.detail.startswith("At 5 % it is unhealthy: latency is unhealthy (")
    assert second.detail in scene.told_at_the_end
    assert await scene.proxied.load(BURST) == {"a": 100}


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("scene", ["landlock"], indirect=True)
async def test_without_the_strongest_sandbox_nothing_is_reached_and_that_is_said(scene: ProxiedScene) -> None:
    ended = await scene.deploy("a", {"README.md": "# The shop\n"})
    lacks = "that needs sandbox level 3 (install bubblewrap where Forge runs), and this is level 2."
    assert (ended.state, ended.detail) == ("stopped", f"Deploying 5 % could not begin: It had no network: {lacks}")
    assert ended.detail in scene.told_at_the_end
    assert await scene.proxied.weights() == {"a": 100}
