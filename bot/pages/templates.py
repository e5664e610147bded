"""Makes the templates of pages: every value is escaped, and a name that nobody gave is an error."""

import re
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from domain.text.escaping import strip_invisible

_CODE = re.compile(r"`([^`]+)`")


def make_templates(loader: BaseLoader, **more: Any) -> Environment:
    """The environment in which templates are rendered; ``marked`` shows what stands between backticks as code.

    :param more: options of jinja2 beyond those that hold for all pages.
    """
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        **more,
    )
    made.filters["marked"] = mark_code
    return made


def mark_code(text: str) -> Markup:
    """A text with what stands between backticks as code; all of it is escaped, also what it quotes."""
    parts = _CODE.split(strip_invisible(text))  # every second one stood between backticks
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )
