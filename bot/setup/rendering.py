"""Renders the set-up pages: HTML with one style sheet and no script, whose forms lead here and to GitHub only."""

import base64
import hashlib
from functools import cache
from urllib.parse import urlsplit

from aiohttp import web
from jinja2 import PackageLoader
from markupsafe import Markup

from bot.pages.templates import make_templates

_TEMPLATES = make_templates(PackageLoader("bot.setup", "."))


@cache
def _load_style() -> str:
    assert _TEMPLATES.loader is not None
    return _TEMPLATES.loader.get_source(_TEMPLATES, "setup.css")[0]


def render(template: str, *, status: int = 200, leads_to: str = "", **shown: object) -> web.Response:
    """A page.

    :param leads_to: an address of another site that its form is sent to.
    :param shown: what the template names.
    """
    style = _load_style()
    text = _TEMPLATES.get_template(template).render(**shown, style=Markup(style))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    place = urlsplit(leads_to)
    elsewhere = f" {place.scheme}://{place.netloc}" if place.netloc else ""
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'{elsewhere}; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        # The origin alone: the address may hold a token or a state, and without any a form would come from nowhere.
        "Referrer-Policy": "strict-origin",
    }
    return web.Response(status=status, text=text, content_type="text/html", headers=headers)
