"""The webhook door: read, verify, translate, make durable, then answer within milliseconds (CONTRACT, HTTP)."""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qs

import orjson
import structlog
from aiohttp import web

from domain.commands import Ignored
from domain.errors import DatabaseUnavailable
from domain.ports import Clock
from handlers import translate
from memory.deliveries import Delivery
from pipeline.intake import Intake

log = structlog.get_logger(__name__)

LARGEST_BODY = 25 * 1024 * 1024  # GitHub never sends more
BODY_SECONDS = 8.0  # GitHub gives up after 10

_SIGNATURE = "X-Hub-Signature-256"


class Refused(Exception):
    """The request is answered with ``status`` and stored nowhere."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Door:
    """Answers webhooks.

    :param secrets: accepted webhook secrets; two while one is being replaced.
    """

    def __init__(self, intake: Intake, clock: Clock, app_id: int, secrets: Sequence[str]) -> None:
        self._intake = intake
        self._clock = clock
        self._app_id = app_id
        self._secrets = [secret.encode() for secret in secrets]

    async def receive(self, request: web.Request) -> web.Response:
        """The handler of ``POST /webhook``. Never 500."""
        try:
            event, guid = _header(request, "X-GitHub-Event"), _header(request, "X-GitHub-Delivery")
            body = await _read(request)
            self._verify(body, request.headers.get(_SIGNATURE, ""))
            payload = _parse(body, request.content_type)
        except Refused as refused:
            return _answer(refused.status, refused.why)
        return await self._accept(event, guid, payload)

    async def _accept(self, event: str, guid: str, payload: Mapping[str, Any] | Ignored) -> web.Response:
        wanted = payload if isinstance(payload, Ignored) else translate(event, payload, self._app_id)
        ignored = isinstance(wanted, Ignored)
        action = "" if isinstance(payload, Ignored) else str(payload.get("action") or "")
        delivery = Delivery(
            guid=guid,
            event=event[:100],
            action=action[:100],
            received_at=self._clock.now(),
            command=None if ignored else wanted.model_dump(mode="json"),
            reason=wanted.reason if ignored else "",
        )
        try:
            new = await self._intake.accept(delivery)
        except DatabaseUnavailable as error:
            log.error("webhook.not_stored", guid=guid, error=str(error))
            return _answer(503, "The delivery could not be stored; please send it again.")
        if not new:
            return _answer(202, "seen before")
        return _answer(202, f"ignored: {wanted.reason}" if ignored else "accepted")

    def _verify(self, body: bytes, signature: str) -> None:
        """GitHub, "Validating webhook deliveries": HMAC-SHA256 over the raw bytes, compared in constant time."""
        given = signature.encode("utf-8", "replace")
        valid = [
            hmac.compare_digest(b"sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest().encode(), given)
            for secret in self._secrets
        ]
        if not any(valid):
            raise Refused(401, f"The {_SIGNATURE} header is missing or does not match the body.")


def _header(request: web.Request, name: str) -> str:
    value = request.headers.get(name, "")
    if not value or len(value) > 200 or not value.isprintable():
        raise Refused(400, f"The {name} header is missing or malformed.")
    return value


async def _read(request: web.Request) -> bytes:
    if request.content_length is not None and request.content_length > LARGEST_BODY:
        raise Refused(413, "The body is larger than 25 MB.")
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.content.iter_any():
                size += len(chunk)
                if size > LARGEST_BODY:
                    raise Refused(413, "The body is larger than 25 MB.")
                chunks.append(chunk)
    except TimeoutError:
        raise Refused(408, f"The body did not arrive within {BODY_SECONDS:g} s.") from None
    except (ConnectionError, web.RequestPayloadError):
        raise Refused(400, "The body was cut off.") from None
    return b"".join(chunks)


def _parse(body: bytes, content_type: str) -> Mapping[str, Any] | Ignored:
    if content_type == "application/x-www-form-urlencoded":
        try:
            fields = parse_qs(body.decode("ascii"), max_num_fields=20)
            body = fields["payload"][0].encode()
        except (ValueError, KeyError):
            raise Refused(400, "The form has no payload field.") from None
    elif content_type != "application/json":
        raise Refused(415, "Send application/json or application/x-www-form-urlencoded.")
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "recursion" in str(error).lower():
            return Ignored(reason="nested_too_deep")
        raise Refused(400, "The body is not JSON.") from None
    if not isinstance(payload, dict):
        raise Refused(400, "The body is not a JSON object.")
    return cast(Mapping[str, Any], payload)


def _answer(status: int, text: str) -> web.Response:
    response = web.Response(status=status, text=text + "\n")
    if status in {408, 413}:
        response.force_close()  # the rest of the body is not waited for
    return response
