"""What the adapter's unit tests share: a movable clock, a sleep that moves it, and GitHub's answers in respx."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import httpx
import httpx2
import respx
import respx.models
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from domain.runs.run import RepositoryRef
from github.client import Client
from github.host import GitHubHost
from github.settings import GitHubSettings
from memory.db.engine import Database

API = "https://api.github.com"
PUBLIC = "140.82.121.6"
HEAD = "a" * 40
BASE = "b" * 40
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPO = RepositoryRef(installation_id=7, id=99, owner="acme", name="app")
OTHER_INSTALLATION = RepositoryRef(installation_id=8, id=99, owner="acme", name="app")

_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = _key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
PUBLIC_PEM = _key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@dataclass
class MovableClock:
    at: datetime = BEGAN

    def now(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass
class Sleeps:
    """Sleeping moves the clock instead of taking time."""

    clock: MovableClock
    seconds: list[float] = field(default_factory=list[float])

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.clock.advance(seconds)
        await asyncio.sleep(0)


class RespxTransport(httpx2.AsyncBaseTransport):
    """Answers httpx2's requests from respx routes. respx knows httpx only, so each message is translated."""

    def __init__(self, routes: respx.MockRouter) -> None:
        self._routes = routes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = httpx.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=await request.aread(),
            extensions=request.extensions,
        )
        try:
            answer = await self._routes.async_handler(asked)
        except httpx.TransportError as error:
            raise getattr(httpx2, type(error).__name__)(str(error)) from None
        return httpx2.Response(answer.status_code, headers=answer.headers.raw, content=await answer.aread())


@dataclass
class Kit:
    """The adapter before a GitHub made of respx routes; ``host`` may be replaced by ``restart``.

    :param database: keeps limits and writes over a restart; None: each process is alone.
    """

    github: respx.MockRouter
    clock: MovableClock
    sleeps: Sleeps
    database: Database | None = None
    write_interval_s: float = 0
    tokens: list[str] = field(default_factory=list[str])
    places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # addresses by host
    host: GitHubHost = field(init=False)

    def __post_init__(self) -> None:
        self.token_route = self.github.post(path__regex=r"/app/installations/\d+/access_tokens")
        self.token_route.mock(side_effect=self._mint)
        self.restart()

    def restart(self) -> None:
        """A new process: everything is forgotten except what the database would keep."""
        settings = GitHubSettings(
            API,
            "https://github.com",
            42,
            PEM,
            write_interval_s=self.write_interval_s,
            resolve=self.resolve,
            connections=RespxTransport(self.github),
        )
        self.host = GitHubHost(Client(settings, self.clock, self.database, self.sleeps))

    def list_requests(self, route: respx.Route | None = None) -> list[httpx.Request]:
        """The requests so far that a route, or any route, answered."""
        calls = cast("Iterable[respx.models.Call]", route.calls if route else self.github.calls)
        return [call.request for call in calls]

    def count_requests(self) -> int:
        """Requests so far, tokens not counted."""
        return sum("access_tokens" not in str(request.url) for request in self.list_requests())

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The numeric addresses of a host, one by one where a test says so."""
        assert port == 443
        return self.places.get(host, [PUBLIC])

    async def _mint(self, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)  # others come in between, as on a network
        self.tokens.append(f"ghs_token{len(self.tokens) + 1}")
        expires = self.clock.now() + timedelta(hours=1)
        return httpx.Response(201, json={"token": self.tokens[-1], "expires_at": expires.isoformat()})


def in_turn(*answers: httpx.Response | Exception) -> Callable[[httpx.Request], httpx.Response]:
    """Answers in turn; the last one for ever."""
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        one = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(one, Exception):
            raise one
        return one

    return answer


def pull(number: int = 1, **changes: object) -> dict[str, object]:
    """A pull request as GitHub shows it."""
    return {
        "number": number,
        "title": "Add a thing",
        "state": "open",
        "draft": False,
        "head": {"sha": HEAD, "ref": "topic", "repo": {"id": 99}},
        "base": {"sha": BASE, "ref": "main", "repo": {"id": 99}},
        "user": {"id": 5, "login": "ann", "type": "User"},
        "author_association": "MEMBER",
        **changes,
    }


def check_run(check_id: int = 11, **changes: object) -> dict[str, object]:
    """A check run as GitHub shows it."""
    return {
        "id": check_id,
        "external_id": "run-1",
        "head_sha": HEAD,
        "status": "completed",
        "conclusion": "success",
        **changes,
    }
