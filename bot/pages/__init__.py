"""What the pages of the dashboard and of the set-up share: templates, and the reading of forms."""

import asyncio
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from aiohttp import ClientPayloadError, web
from markupsafe import Markup, escape

from bot.webhook import BODY_SECONDS
from domain.text.escaping import strip_invisible

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

_CODE = re.compile(r"`([^`]+)`")


def make_templates(loader: "BaseLoader", **more: Any) -> "Environment":
    """The environment in which templates are rendered; ``marked`` shows what stands between backticks as code.

    :param more: options of jinja2 beyond those that hold for all pages.
    """
    from jinja2 import Environment, StrictUndefined  # 5 MB that a Forge needs only once somebody opens a page

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


_MOST_FIELDS = 100
_KIND = "application/x-www-form-urlencoded"


class Denied(Exception):
    """A request that may not go on, or a form that is not taken.

    :param status: of the answer.
    :param reason: what happened, for people.
    :param advice: what to do.
    """

    def __init__(self, status: int, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.advice = advice


async def read_fields(request: web.Request, most: int) -> dict[str, str]:
    """The fields of a form: name → value, the last one of a name. What is no UTF-8 becomes replacement characters.

    :param most: bytes that it may have.
    :raises Denied: it is larger, or no form, or does not arrive.
    """
    if request.can_read_body and request.content_type != _KIND:
        raise Denied(415, "This is not a form.", "Open the page anew, and send it from there.")
    text = (await _read(request, most)).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        why = f"This form has more than {_MOST_FIELDS} fields."
        raise Denied(400, why, "Open the page anew, and send it from there.") from None


async def _read(request: web.Request, most: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.content.iter_any():
                body += part
                if len(body) > most:
                    raise Denied(413, f"This form is larger than {most // 1024} KB.", "Shorten it.")
    except TimeoutError:
        raise Denied(408, "This form did not arrive in time.", "Send it again.") from None
    except (ConnectionError, web.RequestPayloadError, ClientPayloadError):
        raise Denied(400, "This form was cut off.", "Send it again.") from None
    return bytes(body)
