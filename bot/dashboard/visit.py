"""What a page of the dashboard is given, and what it answers with."""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote, urlencode

from domain.commands import Sender
from domain.runs.run import RepositoryRef
from domain.slash import SlashCommand
from memory.db.engine import Database
from memory.process.sessions import DashboardSession
from memory.reports.pages import PageKey
from pipeline.context import Services
from safety.authorization import AuthorizationFacts, CommandRefusal, authorise, refuse_role

ROOT = "/dashboard"
_LONGEST_KEY = 40


@dataclass(frozen=True)
class Page:
    """A page that is to be rendered.

    :param template: its file in ``templates/``.
    :param shown: what the template shows, by name.
    """

    template: str
    title: str
    shown: Mapping[str, object] = field(default_factory=dict[str, object])
    status: int = 200


@dataclass(frozen=True)
class SeeOther:
    """Another page of the dashboard is to be opened.

    :param address: made by :meth:`Visit.address`.
    """

    address: str


@dataclass(frozen=True)
class Download:
    """A file that is to be saved.

    :param content_type: without the character set, which is UTF-8.
    :param body: as a whole, or in parts that are sent as they come.
    """

    name: str
    content_type: str
    body: bytes | AsyncIterable[bytes]


Shown = Page | SeeOther | Download


class NotHere(Exception):
    """There is no such thing in this repository."""


@dataclass(frozen=True)
class Visit:
    """A request for a page of a repository, by somebody whose role there was asked a moment ago.

    :param web_url: address of GitHub's pages.
    :param repository: under the name that it has now.
    :param role: of the visitor, on GitHub, now.
    :param parts: what the placeholders of the page's path stand for.
    """

    services: Services
    web_url: str
    session: DashboardSession
    repository: RepositoryRef
    role: str
    now: datetime
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    form: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def database(self) -> Database:
        return self.services.database

    @property
    def sender(self) -> Sender:
        """The visitor, as the sender of a command."""
        return Sender(id=self.session.account_id, login=self.session.login)

    def may(self, role: str) -> bool:
        """Whether the visitor's role is at least this one."""
        return refuse_role(self.role, role) is None

    def refuse(self, asked: SlashCommand) -> CommandRefusal | None:
        """Why the visitor may not do what this command does; None if they may."""
        return authorise(asked, AuthorizationFacts(role=self.role))

    def explain_role(self, needed: str) -> str:
        """What somebody is told whose role is less than the one that is needed."""
        return f"This takes the role {needed}; you have {self.role} now. Ask somebody who has it."

    def address(self, *parts: str | int, **query: object) -> str:
        """The address of a page of this repository.

        :param query: left out where a value is None or empty.
        """
        return build_address(self.repository.owner, self.repository.name, *parts, **query)

    @property
    def key(self) -> PageKey:
        """Where the page of a list begins that the address asks for."""
        return PageKey(self.query.get("before", "")[:_LONGEST_KEY], self.query.get("after", "")[:_LONGEST_KEY])

    def link_pages(self, newer: str, older: str, *parts: str, **kept: object) -> Mapping[str, str]:
        """The addresses of the pages around one of a list, by the keys at which they begin; empty where none is."""
        return {
            "newer": self.address(*parts, after=newer, **kept) if newer else "",
            "older": self.address(*parts, before=older, **kept) if older else "",
        }

    def on_github(self, *parts: str | int) -> str:
        """The address of something in this repository on GitHub."""
        return build_github_address(self.web_url, self.repository, *parts)


ShowPage = Callable[[Visit], Awaitable[Shown]]


@dataclass(frozen=True)
class RepositoryPage:
    """A page of each repository.

    :param path: below the address of the repository; ``{name}`` stands for one part of it.
    :param least: the role it takes.
    :param tab: its name in the navigation; empty: it is not there.
    """

    path: str
    show: ShowPage
    least: str = "read"
    tab: str = ""


@dataclass(frozen=True)
class RepositoryAction:
    """A form that is sent for a repository.

    :param least: the role it takes at least; what it does may take more.
    """

    path: str
    act: ShowPage
    least: str = "write"


def build_address(*parts: str | int, **query: object) -> str:
    """The address of a page of the dashboard; no part can add further ones, or lead elsewhere."""
    path = "/".join([ROOT, *(_quote(part) for part in parts)])
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def build_github_address(web_url: str, repository: RepositoryRef, *parts: str | int) -> str:
    """The address of something in a repository on GitHub."""
    return "/".join([web_url, _quote(repository.owner), _quote(repository.name), *(_quote(part) for part in parts)])


def _quote(part: str | int) -> str:
    quoted = quote(str(part), safe="")
    return quoted.replace(".", "%2E") if quoted in {".", ".."} else quoted
