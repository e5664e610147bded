"""Monitoring that reports what happens in production, with a token of its own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp

from domain.deployments.problems import ProductionProblem
from domain.runs.run import RepositoryRef
from domain.value import new_id
from memory.deployments import feedback_tokens, problems
from simulator.state import Issue, Repository
from tests.rows import run_row
from tests.stories.driver import Story

STACK = """\
Traceback (most recent call last):
  File "/srv/app/server.py", line 31, in handle
    return price(amount)
  File "/srv/app/app.py", line 2, in price
    return amount / 0
ZeroDivisionError: division by zero
"""


@dataclass(frozen=True)
class Told:
    """An answer of Forge's.

    :param content: its JSON.
    """

    status: int
    content: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(eq=False)
class Monitoring:
    """A system that reports on one repository."""

    told: Story
    repository: Repository
    token: str

    @property
    def address(self) -> str:
        return (self.told.github.webhook_url or "").removesuffix("/webhook")

    async def send(self, kind: str, body: bytes, **headers: str) -> Told:
        """Send anything."""
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}", **headers}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.address}/feedback/{kind}", data=body, headers=sent) as response,
        ):
            return Told(response.status, await response.json(), response.headers)

    async def report(self, kind: str, values: Mapping[str, Any]) -> Told:
        """Report something, and wait until Forge did what follows from it."""
        answer = await self.send(kind, json.dumps(values).encode())
        await self.told.settle()
        return answer

    async def error(self, stack: str = STACK, **more: Any) -> Told:
        """Report an error in production."""
        return await self.report("error", {**self.an_error(), "stack": stack, **more})

    async def anomaly(self, **more: Any) -> Told:
        """Report a figure of production that is not as usual."""
        return await self.report("anomaly", {**self.an_anomaly(), **more})

    def an_error(self) -> dict[str, Any]:
        """A report that is valid."""
        first = (self.told.clock.now() - timedelta(minutes=5)).isoformat()
        return {"environment": "production", "stack": STACK, "frequency": 3, "first_seen": first, "affected_users": 2}

    def an_anomaly(self) -> dict[str, Any]:
        """A report that is valid."""
        figures = {"metric": "error_rate", "baseline": 0.001, "current": 0.2}
        return {"environment": "production", **figures, "at": self.told.clock.now().isoformat()}

    def issues(self) -> list[Issue]:
        """The issues that Forge opened, oldest first."""
        bot = self.told.github.app.bot
        return [each for each in self.repository.issues.values() if each.user is bot]

    async def problems(self) -> list[ProductionProblem]:
        """What Forge keeps, the newest last."""
        found = await problems.list_latest(self.told.forge.services.database, self.repository.id)
        return [*reversed(found)]


async def add_run(story: Story, repository: Repository) -> RepositoryRef:
    """Forge ran in a repository before, on a pull request that nobody looks at any more."""
    installation = story.github.world.installation_of(repository)
    assert installation is not None
    owner, _, name = repository.full_name.partition("/")
    row = run_row(new_id(), repository.id, name, owner=owner, installation_id=installation.id)
    row.number = 999
    async with story.forge.services.database.transaction() as session:
        session.add(row)
    return row.as_run().repository


async def open_monitoring(story: Story, repository: Repository) -> Monitoring:
    """Monitoring with a fresh token. Forge ran in the repository before."""
    [run, *_] = [each for each in await story.runs() if each.repository_id == repository.id]
    return Monitoring(story, repository, await make_token(story, run.as_run().repository))


async def make_token(story: Story, repository: RepositoryRef) -> str:
    """A fresh token for a repository."""
    database, now = story.forge.services.database, story.clock.now()
    _, token = await feedback_tokens.create(database, repository, "monitoring", "operator", now)
    return token
