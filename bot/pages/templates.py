"""Makes the templates of pages: every value is escaped, and a name that nobody gave is an error."""

from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined


def make_templates(loader: BaseLoader, **more: Any) -> Environment:
    """The environment in which templates are rendered.

    :param more: options of jinja2 beyond those that hold for all pages.
    """
    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        **more,
    )
