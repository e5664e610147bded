"""Reads the forms that people send, if they come from our own pages."""

import hmac
from collections.abc import Mapping

from aiohttp import web

from bot.dashboard.cookies import make_form_token
from bot.pages.forms import FormRefused, read_fields

MAX_FORM = 256 * 1024  # bytes
FIELD = "csrf"
_ANEW = "Open the page anew, and send it."


async def read_form(request: web.Request, session_id: str, origin: str | None) -> Mapping[str, str]:
    """The fields of a form of this session, without the token.

    :param origin: of our own pages.
    :raises FormRefused: it comes from elsewhere, or is too large or malformed.
    """
    fields = await read_own_fields(request, origin)
    if not hmac.compare_digest(fields.pop(FIELD, "").encode(), make_form_token(session_id).encode()):
        raise FormRefused(403, "This form belongs to another session.", _ANEW)
    return fields


async def read_own_fields(request: web.Request, origin: str | None) -> dict[str, str]:
    """The fields of a form from one of our own pages, whichever session that was of; nothing may be done for it.

    :raises FormRefused: it comes from elsewhere, or is too large or malformed.
    """
    if origin is None or request.headers.get("Origin") != origin:
        raise FormRefused(403, "This form was not sent from a page of this dashboard.", _ANEW)
    return await read_fields(request, MAX_FORM)
