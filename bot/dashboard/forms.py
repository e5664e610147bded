"""Reads the forms that people send, if they come from our own pages."""

import asyncio
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from aiohttp import ClientPayloadError, web

from bot.dashboard.cookies import make_form_token
from bot.webhook import BODY_SECONDS

MAX_FORM = 256 * 1024  # bytes
_MOST_FIELDS = 100
FIELD = "csrf"
NOT_TYPED = frozenset({FIELD, "base", "form", "do"})
"""Fields that the pages fill themselves."""


class FormRefused(Exception):
    """A form is not taken.

    :param why: what happened and what to do, for people.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


async def read_form(request: web.Request, session_id: str, origin: str | None) -> Mapping[str, str]:
    """The fields of a form of this session, without the token.

    :param origin: of our own pages.
    :raises FormRefused: it comes from elsewhere, or is too large or malformed.
    """
    fields = await read_fields(request, origin)
    if not hmac.compare_digest(fields.pop(FIELD, "").encode(), make_form_token(session_id).encode()):
        raise FormRefused(403, "This form belongs to another session. Open the page anew, and send it again.")
    return fields


async def read_fields(request: web.Request, origin: str | None) -> dict[str, str]:
    """The fields of a form from one of our own pages, whichever session that was of; nothing may be done for it.

    :raises FormRefused: it comes from elsewhere, or is too large or malformed.
    """
    if origin is None or request.headers.get("Origin") != origin:
        raise FormRefused(403, "This form was not sent from a page of this dashboard. Open the page anew, and send it.")
    if request.content_type != "application/x-www-form-urlencoded":
        raise FormRefused(415, "This is not a form. Open the page anew, and send it from there.")
    text = (await _read(request)).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise FormRefused(400, f"This form has more than {_MOST_FIELDS} fields.") from None


async def _read(request: web.Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.content.iter_any():
                body += part
                if len(body) > MAX_FORM:
                    raise FormRefused(413, f"This form is larger than {MAX_FORM // 1024} KB. Shorten it.")
    except TimeoutError:
        raise FormRefused(408, "This form did not arrive in time. Send it again.") from None
    except (ConnectionError, web.RequestPayloadError, ClientPayloadError):
        raise FormRefused(400, "This form was cut off. Send it again.") from None
    return bytes(body)
