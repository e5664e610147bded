"""The endpoints to which monitoring reports: authenticates, reads, checks and stores a report, and answers at once.

See docs/feedback.md.
"""

import asyncio
import base64
import math
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import structlog
from aiohttp import ClientPayloadError, web
from dbos import DBOSClient
from pydantic import JsonValue

from bot.webhook import BODY_SECONDS
from domain.deployments.alerts import Heard, hear_alerts, hear_telemetry, join
from domain.deployments.problems import AnomalyReport, AnyReport, ErrorReport, FieldMistake, parse_report
from domain.deployments.sentry import hear_sentry
from domain.errors import DatabaseUnavailable
from domain.money import Ceilings
from domain.ports import Clock
from memory.db.engine import Database
from memory.deployments.feedback_tokens import FeedbackToken
from memory.deployments.problems import TooManyProblems, UnknownDeployment
from pipeline.deployment.production_intake import FeedbackIntake, TooManyReports, explain_silence

log = structlog.get_logger(__name__)

MAX_REPORT = 64 * 1024  # bytes
MAX_MESSAGE = 1024 * 1024  # bytes of what a monitoring system sends in its own words
FULL_SECONDS = 3600
"""After how long a sender should try again where too many different problems are known."""
_GZIP = 31  # zlib's name for the format

Hear = Callable[[bytes, str | None, datetime], Heard | Sequence[FieldMistake]]
"""Reads a message of a monitoring system, for the environment of what names none."""
SOURCES: Mapping[str, Hear] = {"alertmanager": hear_alerts, "grafana": hear_alerts, "opentelemetry": hear_telemetry}
"""Whatever has a token to send, by its part of the address."""
Explain = Callable[[int], Awaitable[str]]
"""Why nobody is told of a problem in a repository, for people; empty if an issue is opened."""


class _Refused(Exception):
    """The request is answered with ``status`` and changes nothing.

    :param retry_after: seconds; None: trying again does not help.
    """

    def __init__(
        self, status: int, why: str, mistakes: tuple[FieldMistake, ...] = (), retry_after: float | None = None
    ) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.mistakes = mistakes
        self.retry_after = retry_after


class FeedbackDoor:
    """Answers reports.

    :param body_seconds: how long a body may take to arrive.
    :param count: called with the status of each answer.
    """

    def __init__(
        self,
        intake: FeedbackIntake,
        clock: Clock,
        explain: Explain,
        *,
        body_seconds: float = BODY_SECONDS,
        count: Callable[[int], None] = lambda status: None,
    ) -> None:
        self._intake = intake
        self._clock = clock
        self._explain = explain
        self._body_seconds = body_seconds
        self._count = count

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Add every address to which something may be reported; none of them answers 500."""
        for name, kind in (("anomaly", AnomalyReport), ("error", ErrorReport)):
            router.add_post(f"/feedback/{name}", self._answer_with(partial(self._take, kind=kind)))
        for source, hear in SOURCES.items():
            router.add_post(f"/feedback/{source}", self._answer_with(partial(self._take_message, hear=hear)))
        for signal in ("logs", "traces"):  # what an exporter of OpenTelemetry adds
            take = partial(self._take_message, hear=hear_telemetry)
            router.add_post(f"/feedback/opentelemetry/v1/{signal}", self._answer_with(take))
        router.add_post("/feedback/sentry/{id}", self._answer_with(self._take_signed))

    def _answer_with(
        self, take: Callable[[web.Request], Awaitable[Mapping[str, JsonValue]]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            try:
                content = await take(request)
                status, retry_after = 202, None
            except _Refused as refused:
                status, content, retry_after = refused.status, _describe(refused), refused.retry_after
            except TooManyReports as error:
                status, content = 429, {"error": "This token reports too often."}
                retry_after = error.wait.total_seconds()
            except DatabaseUnavailable as error:
                log.error("feedback.not_stored", error=str(error))
                status, content, retry_after = 503, {"error": "It could not be stored. Please send it again."}, 5
            except Exception:
                log.exception("feedback.unexpected")
                status, content = 503, {"error": "Forge made a mistake of its own; its log has the details."}
                retry_after = 60
            self._count(status)
            return _answer(status, content, retry_after)

        return answer

    async def _take(self, request: web.Request, kind: type[AnyReport]) -> dict[str, JsonValue]:
        """Store a report; the answer. Who has no token learns nothing more than that."""
        token = await self._authenticate(request)
        if request.content_type != "application/json":
            raise _Refused(415, "Send application/json.")
        report = parse_report(kind, await self._read(request), self._clock.now())
        if not isinstance(report, AnomalyReport | ErrorReport):
            raise _Refused(400, "The report is not valid.", tuple(report))
        return await self._store(token, report)

    async def _take_message(self, request: web.Request, hear: Hear) -> dict[str, JsonValue]:
        """Store all that a message tells of; the answer."""
        token = await self._authenticate(request)
        if request.content_type != "application/json":
            raise _Refused(415, "Send application/json; an exporter of OpenTelemetry does with `encoding: json`.")
        packed = await self._read(request, MAX_MESSAGE)
        return await self._store_message(token, hear, _unpack(packed, request.headers.get("Content-Encoding", "")))

    async def _take_signed(self, request: web.Request) -> dict[str, JsonValue]:
        """Store what Sentry tells of, which signs its messages and can send no token; the answer."""
        if request.content_type != "application/json":
            raise _Refused(415, "Send application/json.")
        body = await self._read(request, MAX_MESSAGE)
        signature = request.headers.get("Sentry-Hook-Signature", "")
        token = await self._intake.authenticate_signed(request.match_info["id"], body, signature)
        if token is None:
            raise _Refused(401, "Sentry-Hook-Signature is not valid for this address, or its token was revoked.")
        return await self._store_message(token, hear_sentry, body)

    async def _store_message(self, token: FeedbackToken, hear: Hear, body: bytes) -> dict[str, JsonValue]:
        """What is well told is stored, whatever is wrong with the rest: senders do not send refused messages again."""
        heard = hear(body, token.environment, self._clock.now())
        if not isinstance(heard, Heard):
            raise _Refused(400, "The message is not valid.", tuple(heard))
        stored: list[JsonValue] = []
        for place, report in heard.reports:
            try:
                stored.append(await self._store(token, report))
            except _Refused as refused:
                heard.mistakes += [
                    each.model_copy(update={"field": join(place, each.field)}) for each in refused.mistakes
                ]
                if not refused.mistakes:
                    raise
        resolved = [await self._intake.resolve(token, each) for each in heard.resolved]
        if heard.mistakes and not stored and not resolved:
            raise _Refused(400, "Nothing of the message is valid.", tuple(heard.mistakes))
        over: list[JsonValue] = [
            {"fingerprint": each.fingerprint, "issue": each.issue} for each in resolved if each is not None
        ]
        wrong: list[JsonValue] = [each.model_dump() for each in heard.mistakes]
        return {"reports": stored, "resolved": over, "refused": wrong, "ignored": heard.ignored}

    async def _store(self, token: FeedbackToken, report: AnyReport) -> dict[str, JsonValue]:
        try:
            recorded = await self._intake.accept(token, report)
        except UnknownDeployment:
            mistake = FieldMistake(field="deployment", why="no such deployment to this environment is known")
            raise _Refused(404, "The deployment is not known.", (mistake,)) from None
        except TooManyProblems:
            raise _Refused(429, "Too many different problems are open.", retry_after=FULL_SECONDS) from None
        answer: dict[str, JsonValue] = {
            "fingerprint": recorded.fingerprint,
            "issue": recorded.issue,
            "repeated": recorded.is_repeated,
        }
        note = "" if recorded.issue is not None else await self._find_note(token.repository_id)
        return {**answer, "note": note} if note else answer

    async def _authenticate(self, request: web.Request) -> FeedbackToken:
        """Before the body is read."""
        shown = _read_token(request.headers.get("Authorization", ""))
        if shown is None:
            raise _Refused(401, "Send the header Authorization: Bearer forge_fb_…, or the token as a password (Basic).")
        token = await self._intake.authenticate(shown)
        if token is None:
            raise _Refused(401, "The token is not valid, or was revoked.")
        return token

    async def _read(self, request: web.Request, most: int = MAX_REPORT) -> bytes:
        too_large = _Refused(413, f"The body is larger than {most // 1024} KiB.")
        if request.content_length is not None and request.content_length > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                async for chunk in request.content.iter_any():
                    body += chunk
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise _Refused(408, f"The body did not arrive within {self._body_seconds:g} s.") from None
        except (ConnectionError, web.RequestPayloadError, ClientPayloadError):
            raise _Refused(400, "The body was cut off or malformed.") from None
        return bytes(body)

    async def _find_note(self, repository_id: int) -> str:
        """Why nobody is told; the report is stored whatever comes of this question."""
        try:
            return await self._explain(repository_id)
        except DatabaseUnavailable:
            return ""


def _read_token(authorization: str) -> str | None:
    """The token in a header; None if it shows none."""
    scheme, _, shown = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return shown.strip()
        case "basic":
            try:
                return base64.b64decode(shown, validate=True).decode().partition(":")[2]
            except ValueError:
                return None
        case _:
            return None


def _unpack(body: bytes, encoding: str) -> bytes:
    """A body that may be packed, as the Collector of OpenTelemetry does; never more than :data:`MAX_MESSAGE`."""
    if encoding.lower() in {"", "identity"}:
        return body
    if encoding.lower() != "gzip":
        raise _Refused(415, "Send it as it is, or packed by gzip.")
    try:
        plain = zlib.decompressobj(_GZIP).decompress(body, MAX_MESSAGE + 1)
    except zlib.error:
        raise _Refused(400, "The body is not what gzip makes.") from None
    if len(plain) > MAX_MESSAGE:
        raise _Refused(413, f"Unpacked, the body is larger than {MAX_MESSAGE // 1024} KiB.")
    return plain


def open_feedback(
    database: Database,
    client: DBOSClient,
    clock: Clock,
    ceilings: Ceilings,
    *,
    patience: float,
    count: Callable[[int], None],
) -> FeedbackDoor:
    """The door to the database of a process.

    :param client: a DBOS client on it.
    :param ceilings: the operator's, which no configuration of a repository exceeds.
    :param patience: seconds until a report must be stored.
    """
    intake = FeedbackIntake(database, client, clock, patience)
    return FeedbackDoor(intake, clock, partial(explain_silence, database, ceilings), count=count)


def _describe(refused: _Refused) -> dict[str, JsonValue]:
    mistakes: list[JsonValue] = [each.model_dump() for each in refused.mistakes]
    return {"error": refused.why, **({"fields": mistakes} if mistakes else {})}


def _answer(status: int, content: Mapping[str, JsonValue], retry_after: float | None) -> web.Response:
    headers = {} if retry_after is None else {"Retry-After": str(max(1, math.ceil(retry_after)))}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer, Basic realm="Forge"'
    response = web.json_response(content, status=status, headers=headers)
    if status >= 400:
        response.force_close()  # do not wait for the rest of the body
    return response
