"""What a page of the dashboard is given and what it answers with, and how that is rendered."""

import hashlib
import json
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from aiohttp import web
from markupsafe import Markup

from domain.money import format_usd
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from messages.audit import describe_age, format_duration

if TYPE_CHECKING:
    from jinja2 import Environment
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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


HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would send no Origin with our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FOR_A_YEAR = "public, max-age=31536000, immutable"


def _show_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def _show_count(number: int) -> str:
    return f"{number:,}"


def show_figure(number: float) -> str:
    """A number for people: all digits before the point, at most four after it."""
    whole, _, part = f"{number:,.4f}".partition(".")
    return f"{whole}.{part.rstrip('0')}".rstrip(".")


def _show_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def clean(value: object) -> object:
    """What a template shows, without invisible characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return strip_invisible(value)
    return value


@cache
def _load_templates() -> "Environment":
    """The templates, of which a Forge needs the 5 MB only once somebody opens a page."""
    from jinja2 import ChoiceLoader, PackageLoader

    from bot.pages import make_templates

    loader = ChoiceLoader([PackageLoader("bot.dashboard", "templates"), PackageLoader("bot.pages", ".")])
    made = make_templates(loader, lstrip_blocks=True, finalize=clean)
    made.filters |= {
        "masked": redact_outgoing,
        "utc": _show_time,
        "usd": format_usd,
        "count": _show_count,
        "duration": format_duration,
        "figure": show_figure,
        "json": _show_json,
    }
    made.tests |= {"moment": lambda value: isinstance(value, datetime)}
    made.globals.update({"root": ROOT, "age": describe_age})  # pyrefly: ignore[no-matching-overload]
    return made


def render(page: Page, **around: object) -> web.Response:
    """The response that shows a page.

    :param around: what the frame around it shows.
    """
    shown = {"style": style_address(), **around, **page.shown, "title": page.title}
    text = _load_templates().get_template(page.template).render(shown)
    return web.Response(status=page.status, text=text, content_type="text/html", headers=HEADERS)


@cache
def load_style() -> str:
    """The style sheet: what all pages of Forge share, and what only the dashboard has."""
    sheets = (files("bot.pages") / "style.css", files("bot.dashboard") / "templates" / "dashboard.css")
    return "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


@cache
def style_address() -> str:
    """Where the style sheet is; another one has another address."""
    return f"{ROOT}/style-{hashlib.sha256(load_style().encode()).hexdigest()[:16]}.css"


async def show_style(_request: web.Request) -> web.Response:
    """Answers with the style sheet."""
    headers = {**HEADERS, "Cache-Control": _FOR_A_YEAR}
    return web.Response(text=load_style(), content_type="text/css", headers=headers)


class NotHere(Exception):
    """There is no such thing in this repository."""


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
