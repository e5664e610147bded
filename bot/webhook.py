"""The webhook endpoint: reads, verifies, translates and stores a delivery, and answers within milliseconds.

See docs/contract.md, HTTP.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qs

import orjson
import structlog
from aiohttp import ClientPayloadError, web
from gidgethub import ValidationFailure
from gidgethub.sansio import validate_event

from domain.commands import AnyCommand, Ignored, make_dedup_key
from domain.errors import DatabaseUnavailable
from domain.ports import Clock
from handlers import find_pushes, translate
from memory.deliveries.deliveries import ReceivedDelivery
from memory.deliveries.pushes import build_row
from pipeline.deliveries.intake import Intake

log = structlog.get_logger(__name__)

MAX_BODY = 25 * 1024 * 1024  # GitHub never sends more
LARGE_BODY = 1024 * 1024  # few bodies are larger, so only some of these are read at a time
MAX_LARGE_BODIES = 8
LONG_BODY = 20_000  # bytes; few comments make a body so long
BODY_SECONDS = 5.0  # with the time to store it, well under the 10 after which GitHub gives up

_EVENT = "X-GitHub-Event"
_GUID = "X-GitHub-Delivery"
_SIGNATURE = "X-Hub-Signature-256"
_INCOMPLETE = frozenset({"incomplete_payload", "repositories_not_told"})  # reasons, of what GitHub signed
_SHAPE = re.compile(r"sha256=[0-9a-f]{64}")


class Refused(Exception):
    """The request is answered with ``status`` and stored nowhere."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Door:
    """Answers webhooks.

    :param secrets: accepted webhook secrets; two while one is being replaced.
    :param body_seconds: how long a body may take to arrive.
    :param count: called with the status and the outcome of each answer.
    """

    def __init__(
        self,
        intake: Intake,
        clock: Clock,
        app_id: int,
        secrets: Sequence[str],
        *,
        body_seconds: float = BODY_SECONDS,
        count: Callable[[int, str], None] = lambda status, outcome: None,
    ) -> None:
        self._intake = intake
        self._clock = clock
        self._app_id = app_id
        self._secrets = secrets
        self._body_seconds = body_seconds
        self._count = count
        self._large_bodies = 0  # being received now

    async def receive(self, request: web.Request) -> web.Response:
        """The handler of ``POST /webhook``; never answers 500."""
        try:
            status, outcome, why = 202, *await self._take(request)
        except Refused as refused:
            status, outcome, why = refused.status, "refused", refused.why
        except DatabaseUnavailable as error:
            log.error("webhook.not_stored", guid=request.headers.get(_GUID), error=str(error))
            status, outcome, why = 503, "not stored", "Please send it again."
        except Exception:
            log.exception("webhook.unexpected", guid=request.headers.get(_GUID))
            status, outcome, why = 503, "not stored", "Forge made a mistake of its own; its log has the details."
        self._count(status, outcome)
        return _answer(status, f"{outcome}: {why}" if why else outcome)

    async def _take(self, request: web.Request) -> tuple[str, str]:
        """Store a delivery, for :mod:`pipeline.deliveries.dispatch`; returns the outcome, and why."""
        delivery = await self._read_delivery(request)  # frees the body before waiting for the database
        if not await self._intake.accept(delivery):
            return "seen before", ""
        return ("ignored", delivery.reason) if delivery.command is None else ("accepted", "")

    async def _read_delivery(self, request: web.Request) -> ReceivedDelivery:
        event, guid = _header(request, _EVENT), _header(request, _GUID)
        signature = request.headers.get(_SIGNATURE, "")
        if not _SHAPE.fullmatch(signature):
            raise Refused(401, f"The {_SIGNATURE} header is missing or malformed.")
        body = await self._read(request)
        self._verify(body, signature)
        payload = _parse(body, request.content_type)
        wanted = await self._translate(event, payload, len(body))
        if isinstance(wanted, Ignored) and wanted.reason in _INCOMPLETE:
            log.warning("webhook.incomplete", guid=guid, github_event=event, action=_action(payload), why=wanted.reason)
        received_at = self._clock.now()
        repository_id, pushed = (0, ()) if isinstance(payload, Ignored) else find_pushes(event, payload, received_at)
        once = None if isinstance(wanted, Ignored) else make_dedup_key(wanted, body)
        return ReceivedDelivery(
            guid=guid,
            event=event[:100],
            action=_action(payload),
            received_at=received_at,
            command=None if isinstance(wanted, Ignored) else wanted.model_dump(mode="json"),
            reason=wanted.reason if isinstance(wanted, Ignored) else "",
            acts_once=once,
            pushes=[build_row(repository_id, each) for each in pushed],
        )

    async def _translate(self, event: str, payload: Mapping[str, Any] | Ignored, size: int) -> AnyCommand | Ignored:
        """Translate a payload. A long comment is parsed in a thread, so that other requests need not wait."""
        if isinstance(payload, Ignored):
            return payload
        if size <= LONG_BODY:
            return translate(event, payload, self._app_id)
        return await asyncio.to_thread(translate, event, payload, self._app_id)

    async def _read(self, request: web.Request) -> bytes:
        if request.content_length is not None and request.content_length > MAX_BODY:
            raise Refused(413, "The body is larger than 25 MB.")
        chunks: list[bytes] = []
        size = 0
        try:
            is_here = request.content.is_eof()  # as nearly always: setting a clock takes longer than reading
            async with asyncio.timeout(None if is_here else self._body_seconds):
                with contextlib.ExitStack() as place:
                    async for chunk in request.content.iter_any():
                        if size <= LARGE_BODY < size + len(chunk):
                            place.enter_context(self._place_for_a_large_body())
                        size += len(chunk)
                        if size > MAX_BODY:
                            raise Refused(413, "The body is larger than 25 MB.")
                        chunks.append(chunk)
        except TimeoutError:
            raise Refused(408, f"The body did not arrive within {self._body_seconds:g} s.") from None
        except (ConnectionError, web.RequestPayloadError, ClientPayloadError):
            raise Refused(400, "The body was cut off or malformed.") from None
        return b"".join(chunks)

    @contextlib.contextmanager
    def _place_for_a_large_body(self) -> Generator[None]:
        if self._large_bodies >= MAX_LARGE_BODIES:
            raise Refused(503, "Too many large bodies at once; please send it again.")
        self._large_bodies += 1
        try:
            yield
        finally:
            self._large_bodies -= 1

    def _verify(self, body: bytes, signature: str) -> None:
        valid = [
            _is_signed(body, signature, secret) for secret in self._secrets
        ]  # check all, so that the time reveals nothing
        if not any(valid):
            raise Refused(401, f"The {_SIGNATURE} header does not match the body.")


def _is_signed(body: bytes, signature: str, secret: str) -> bool:
    try:
        validate_event(body, signature=signature, secret=secret)
    except ValidationFailure:
        return False
    return True


def _header(request: web.Request, name: str) -> str:
    value = request.headers.get(name, "")
    if not value or len(value) > 200 or not value.isprintable():
        raise Refused(400, f"The {name} header is missing or malformed.")
    return value


def _action(payload: Mapping[str, Any] | Ignored) -> str:
    action = None if isinstance(payload, Ignored) else payload.get("action")
    return action[:100] if isinstance(action, str) and action.isprintable() else ""


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
        if "depth limit" in str(error):
            return Ignored(reason="nested_too_deep")
        raise Refused(400, "The body is not JSON.") from None
    if not isinstance(payload, dict):
        raise Refused(400, "The body is not a JSON object.")
    return cast(Mapping[str, Any], payload)


def _answer(status: int, text: str) -> web.Response:
    response = web.Response(status=status, text=text + "\n")
    if status >= 400:
        response.force_close()  # do not wait for the rest of the body
    return response
