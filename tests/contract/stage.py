"""A simulated GitHub with one repository and one pull request, and Forge's adapter before it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from domain.runs.run import RepositoryRef
from github.client import Client
from github.host import GitHubHost
from github.settings import GitHubSettings
from simulator.server import Simulator
from simulator.state import Installation, PullRequest, Repository
from simulator.user import User
from tests.contract import published_graphql

CODE = "".join(f"line {number}\n" for number in range(1, 41))


@dataclass
class MovableClock:
    at: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))

    def now(self) -> datetime:
        return self.at

    def advance(self, **by: float) -> None:
        self.at += timedelta(**by)


@dataclass
class Stage:
    """A repository with one open pull request, and Forge installed on it."""

    sim: Simulator
    clock: MovableClock
    host: GitHubHost
    ann: User
    shelf: Repository
    installation: Installation
    pull: PullRequest

    @property
    def repository(self) -> RepositoryRef:
        owner, _, name = self.shelf.full_name.partition("/")
        return RepositoryRef(installation_id=self.installation.id, id=self.shelf.id, owner=owner, name=name)

    @property
    def head(self) -> str:
        return self.pull.head_sha

    def take_permissions(self, **left: str | None) -> None:
        """Leave the App less than it asked for, also with the tokens it has: None for nothing of that kind."""
        for held in (self.installation.permissions, *(token.permissions for token in self.sim.world.tokens.values())):
            for name, level in left.items():
                held.pop(name, None)
                held |= {} if level is None else {name: level}

    def count_requests(self, ending: str) -> int:
        return sum(request.path.endswith(ending) for request in self.sim.requests)


@asynccontextmanager
async def open_stage() -> AsyncGenerator[Stage]:
    clock = MovableClock()
    async with Simulator(now=clock.now) as sim:
        sim.world.graphql_schema = published_graphql
        ann = sim.user("ann")
        shelf = sim.create_repository(
            "acme/shelf", {"a.py": "", ".github/forge.yml": "preset: standard\n"}, private=True
        )
        sim.grant(shelf, ann, "write")
        installation = sim.install(shelf)
        await ann.push(shelf, "topic", {"a.py": CODE}, base="main")
        pull = await ann.open_pull_request(shelf, "topic", title="Add lines")
        settings = GitHubSettings(sim.api_url, sim.url, sim.app.id, sim.app.private_key_pem, write_interval_s=0)
        host = GitHubHost(Client(settings, clock, None, _no_pause))
        yield Stage(sim, clock, host, ann, shelf, installation, pull)
        await host.aclose()
        assert not sim.world.unpublished, sim.world.unpublished


async def _no_pause(seconds: float) -> None:
    """Retries and pacing take no time here."""
