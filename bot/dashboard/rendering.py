"""Renders the pages of the dashboard, and answers with the headers that keep them to themselves."""

import hashlib
import json
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from aiohttp import web
from markupsafe import Markup

from bot.dashboard.visit import ROOT, Page
from domain.money import format_usd
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from messages.audit import describe_age, format_duration

if TYPE_CHECKING:
    from jinja2 import Environment

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

    from bot.pages.templates import make_templates

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
    made.globals.update({"root": ROOT, "age": describe_age})  # pyright: ignore[reportCallIssue, reportArgumentType]
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
