"""Visits the dashboard of a story's Forge as a person with a browser: cookies, redirects, forms."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import httpx2
from sqlalchemy import select

from agents.llm.scripted import ScriptedModel
from memory.db.tables.repositories import FindingRow
from simulator import Simulator, User
from simulator.state import PullRequest, Repository, Role
from tests.stories.driver import Story
from tests.stories.gate_scenes import CHANGED, CI, WORKFLOW
from tests.world.model_findings import PAY, claim, find_division

_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class SeenPage:
    """A page as a visitor got it.

    :param address: path and query at which the visitor arrived.
    """

    status: int
    address: str
    html: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def text(self) -> str:
        """What can be read on it, without tags."""
        return " ".join(unescape(_TAG.sub(" ", self.html)).split())


class Visited(Protocol):
    """A Forge whose address GitHub knows."""

    @property
    def github(self) -> Simulator: ...


class Visitor:
    """A browser. It stays at Forge's and GitHub's addresses, and keeps the cookies of each apart.

    :param person: who sits there; None: nobody whom GitHub knows.
    """

    def __init__(self, story: Visited, http: httpx2.AsyncClient, person: User | None) -> None:
        self.story = story
        self.http = http
        self.person = person
        self.token = ""

    @property
    def home(self) -> str:
        """The address of Forge."""
        return dashboard_origin(self.story)

    async def open(self, address: str = "/dashboard") -> SeenPage:
        """Open an address, and follow where it leads."""
        return await self._follow(await self.request("GET", address))

    async def send(self, address: str, **fields: str) -> SeenPage:
        """Send a form from the page seen last."""
        form = {"csrf": self.token, **fields}
        return await self._follow(await self.request("POST", address, data=form, headers={"Origin": self.home}))

    async def sign_in(self, target: str = "/dashboard") -> SeenPage:
        """Sign in with GitHub, and arrive at a page."""
        return await self.open(f"/dashboard/to-github?to={target}")

    async def request(self, method: str, address: str, **more: Any) -> httpx2.Response:
        """One request, without following where it leads."""
        self.story.github.browse_as(self.person)
        return await self.http.request(method, urljoin(self.home, address), **more)

    async def _follow(self, response: httpx2.Response) -> SeenPage:
        address = str(response.url)
        for _ in range(10):
            if response.status_code not in {301, 302, 303, 307}:
                break
            address = urljoin(address, response.headers["location"])
            response = await self.request("GET", address)
        found = _TOKEN.search(response.text)
        self.token = found[1] if found else self.token
        place = urlsplit(address)
        shown = f"{place.path}?{place.query}" if place.query else place.path
        return SeenPage(response.status_code, shown, response.text, dict(response.headers))


def dashboard_origin(story: Visited) -> str:
    """Where the story's Forge answers."""
    assert story.github.webhook_url is not None
    return story.github.webhook_url.removesuffix("/webhook")


@asynccontextmanager
async def visit(story: Visited, login: str | None) -> AsyncGenerator[Visitor]:
    """A browser at which this person sits, or nobody."""
    async with httpx2.AsyncClient(timeout=60) as http:
        yield Visitor(story, http, None if login is None else story.github.user(login))


@asynccontextmanager
async def signed_in(story: Visited, login: str) -> AsyncGenerator[Visitor]:
    """A browser at which this person has signed in."""
    async with visit(story, login) as visitor:
        await visitor.sign_in()
        yield visitor


HOSTILE = "<img src=x onerror=alert(1)>\"'{{7*7}}</code>\u202e\u200b[a](javascript:alert(1))"
"""A text of others that would like to be more than text."""


@dataclass(frozen=True)
class BusyRepository:
    """A repository in which much happened: alice may write, dora administers it, rita reads.

    :param waiting: a pull request at which Forge asks people.
    :param found: one with a finding of a model's.
    """

    repository: Repository
    waiting: PullRequest
    found: PullRequest


async def fill_repository(story: Story, model: ScriptedModel, *, private: bool = True) -> BusyRepository:
    """A repository with a gate that waits, findings in hostile words, and checkpoints of an agent's work."""
    files = {"README.md": "# Shop\n", CI: WORKFLOW, "tests/test_shop.py": ""}
    repository = story.github.create_repository("octo-org/shop", files=files, private=private)
    story.github.install(repository)
    alice = story.github.user("alice")
    for login, role in _ROLES.items():
        story.github.grant(repository, story.github.user(login), role)
    find_division(model)
    model.when("len(prices)", {"findings": [{**claim(), "message": f"Divides by zero. {HOSTILE}"}]})
    found, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title=f"Add totals {HOSTILE}")
    waiting, _ = await story.propose(repository, alice, CHANGED, "ci", title="Test what was built")
    story.pass_over(found)
    story.pass_over(waiting)
    return BusyRepository(repository, waiting, found)


_ROLES: Mapping[str, Role] = {"alice": "write", "dora": "admin", "rita": "read"}


async def dismiss_finding(story: Story, pull: PullRequest, reason: str) -> str:
    """Let dora dismiss the first finding of a pull request; its id."""
    run = next(each for each in await story.runs() if each.number == pull.number)
    async with story.forge.services.database.transaction() as session:
        name = await session.scalar(select(FindingRow.name).where(FindingRow.first_run == run.id).limit(1))
    assert name is not None
    await story.after(story.github.user("dora").comment(pull, f"/forge dismiss {name} {reason}"))
    story.pass_over(pull)
    return name
