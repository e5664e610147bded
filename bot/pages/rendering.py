"""Renders pages as HTML that needs nothing else and may do nothing: no script, no address, one style sheet."""

import base64
import hashlib

from jinja2 import PackageLoader
from markupsafe import Markup

from bot.pages.templates import make_templates
from messages.work_page import WorkPage

MARK = '<meta name="generator" content="Forge">'
"""Tells a page of Forge, in its first few lines."""

_TEMPLATES = make_templates(PackageLoader("bot.pages", "."))


def render_work_page(page: WorkPage) -> str:
    """The page of what agents kept of their work."""
    return _render("work.html", page=page)


def _render(template: str, **shown: object) -> str:
    style = _load("style.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # https://www.w3.org/TR/CSP3/#grammardef-hash-source
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return _TEMPLATES.get_template(template).render(**shown, style=Markup(style), policy=policy)


def _load(name: str) -> str:
    assert _TEMPLATES.loader is not None
    return _TEMPLATES.loader.get_source(_TEMPLATES, name)[0]
