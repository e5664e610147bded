"""Reads the fields of a form, whatever a browser or somebody else sends as one."""

import asyncio
from urllib.parse import parse_qsl

from aiohttp import ClientPayloadError, web

from bot.webhook import BODY_SECONDS

_MOST_FIELDS = 100
_KIND = "application/x-www-form-urlencoded"


class FormRefused(Exception):
    """A form is not taken.

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
    :raises FormRefused: it is larger, or no form, or does not arrive.
    """
    if request.can_read_body and request.content_type != _KIND:
        raise FormRefused(415, "This is not a form.", "Open the page anew, and send it from there.")
    text = (await _read(request, most)).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        why = f"This form has more than {_MOST_FIELDS} fields."
        raise FormRefused(400, why, "Open the page anew, and send it from there.") from None


async def _read(request: web.Request, most: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.content.iter_any():
                body += part
                if len(body) > most:
                    raise FormRefused(413, f"This form is larger than {most // 1024} KB.", "Shorten it.")
    except TimeoutError:
        raise FormRefused(408, "This form did not arrive in time.", "Send it again.") from None
    except (ConnectionError, web.RequestPayloadError, ClientPayloadError):
        raise FormRefused(400, "This form was cut off.", "Send it again.") from None
    return bytes(body)
