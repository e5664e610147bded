"""One request to GitHub within its limits, over REST or GraphQL, and the tokens and signatures that authorise it.

gidgethub makes the headers, finds the next page and parses the answer. Errors of GraphQL come with status 200:

RATE_LIMITED                     a rate limit, for the caller to wait out
NOT_FOUND                        NotFound
FORBIDDEN INSUFFICIENT_SCOPES    Forbidden
no type, and "went wrong"        Unavailable    GitHub's words for its own failure
everything else                  Unprocessable
"""

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

import jwt
from gidgethub import GitHubException
from gidgethub.abc import GitHubAPI
from gidgethub.sansio import decipher_response
from pydantic import AwareDatetime, Field, JsonValue

from domain.errors import CodeHostError, Forbidden, NotFound, Unavailable, Unprocessable
from domain.ports import Clock
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value
from github.errors import bad_answer, quote, to_error
from github.limits import Limit, LimitGate, find_limit, find_rate, graphql_limit
from github.pacing import Sleep, retry_read
from github.payloads.parsing import parse
from github.settings import GitHubSettings, rsa_key
from github.transport import Answer, Call, Transport

_KINDS: dict[str, type[CodeHostError]] = {
    "NOT_FOUND": NotFound,
    "FORBIDDEN": Forbidden,
    "INSUFFICIENT_SCOPES": Forbidden,
}
_ADVICE: dict[type[CodeHostError], str] = {
    NotFound: "It was deleted, or the App has no access to it.",
    Forbidden: "Check the App's permissions and whether the owner accepted them.",
}
_OWN_FAILURE = re.compile(r"went wrong|timed? ?out|timeout|try again", re.IGNORECASE)


@dataclass(frozen=True)
class Document:
    """One GraphQL operation; values are passed as variables, never written into it."""

    kind: Literal["query", "mutation"]
    body: str

    @property
    def text(self) -> str:
        return f"{self.kind} {self.body}"

    @property
    def is_mutation(self) -> bool:
        return self.kind == "mutation"


def find_graphql_address(api_url: str) -> str:
    """The address of GraphQL: ``https://api.github.com/graphql``; on Enterprise Server, ``https://HOST/api/graphql``."""
    return f"{api_url.removesuffix('/v3')}/graphql"


def to_graphql_error(answer: object, purpose: str) -> CodeHostError | Limit:
    """The error or the rate limit that an answer reports."""
    try:
        errors = parse(_Answer, answer, purpose).errors
    except Unavailable as error:
        return error
    for error in errors:
        if error.type == "RATE_LIMITED":
            return Limit(quote(error.message), None)
    return _explain_error(errors[0], purpose) if errors else bad_answer(purpose, "neither data nor errors")


APP = 0  # the App itself, in place of an installation
NO_BODY = b""
_REQUESTER = "forge-app"
_ACCEPT = "application/vnd.github+json"
_API_VERSION = "2022-11-28"
_UNREADABLE = (GitHubException, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What gidgethub raises for a refusal, and for an answer that GitHub does not document."""


@dataclass(frozen=True)
class Channel:
    """What all requests to one GitHub share."""

    api_url: str
    transport: Transport
    gate: LimitGate
    clock: Clock
    sleep: Sleep


JWT_BACKDATED = timedelta(seconds=60)  # GitHub's advice against clocks that differ
JWT_LASTS = timedelta(minutes=9)  # GitHub accepts at most 10
RENEWED_BEFORE = timedelta(minutes=5)
KEPT_AT_LEAST = timedelta(minutes=1)  # with a very wrong clock, do not request a token each time


class _TokenPayload(Value):
    token: str = Field(min_length=1, repr=False)
    expires_at: AwareDatetime


@dataclass(frozen=True)
class _Token:
    value: str = field(repr=False)
    renew_at: datetime


class AppSignature:
    """Makes the JWTs of the App itself. gidgethub's own function reads the machine's clock, not the given one."""

    def __init__(self, settings: GitHubSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def make(self) -> str:
        issued = self._clock.now() - JWT_BACKDATED
        claims = {
            "iat": int(issued.timestamp()),
            "exp": int((issued + JWT_LASTS).timestamp()),
            "iss": str(self._settings.app_id),
        }
        return jwt.encode(claims, rsa_key(self._settings.private_key), algorithm="RS256")


class Tokens(Protocol):
    """The tokens with which requests are authorised."""

    async def get(self, installation_id: int) -> str:
        """A token that is valid for longer than a request takes."""
        ...

    def drop(self, installation_id: int, refused: str) -> None:
        """Forget a token that GitHub refused."""
        ...


class GivenToken(Tokens):
    """A token of a person or of a job of GitHub Actions: the same for everything, and never renewed."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get(self, installation_id: int) -> str:
        return self._token

    def drop(self, installation_id: int, refused: str) -> None:
        """Does nothing: there is no other one."""


class InstallationTokens(Tokens):
    """The current token of each installation; callers at the same time share one request."""

    def __init__(self, channel: Channel, signature: AppSignature) -> None:
        self._channel = channel
        self._signature = signature
        self._clock = channel.clock
        self._tokens: dict[int, _Token] = {}
        self._locks: dict[int, asyncio.Lock] = {}

    async def get(self, installation_id: int) -> str:
        """A token with at least five minutes left.

        :raises Forbidden: the installation is suspended.
        :raises NotFound: the App is no longer installed.
        """
        async with self._locks.setdefault(installation_id, asyncio.Lock()):
            token = self._tokens.get(installation_id)
            if token is None or token.renew_at <= self._clock.now():
                token = await self._renew(installation_id)
            return token.value

    def drop(self, installation_id: int, refused: str) -> None:
        """Forget a token GitHub refused, unless another one took its place meanwhile."""
        token = self._tokens.get(installation_id)
        if token is not None and token.value == refused:
            del self._tokens[installation_id]

    async def _renew(self, installation_id: int) -> _Token:
        payload = await retry_read(lambda: self._create(installation_id), self._channel.sleep)
        renew_at = max(payload.expires_at - RENEWED_BEFORE, self._clock.now() + KEPT_AT_LEAST)
        token = _Token(payload.token, renew_at)
        self._tokens[installation_id] = token
        PROCESS_REDACTOR.learn_temporary(token.value)
        return token

    async def _create(self, installation_id: int) -> _TokenPayload:
        purpose = f"get a token for installation {installation_id}"
        request = Request(self._channel, APP, purpose, jwt=self._signature.make())
        try:
            made = await request.rest("POST", f"app/installations/{installation_id}/access_tokens")
        except NotFound:
            raise NotFound(
                f"The App is not installed any more (installation {installation_id}).",
                "Install it again if Forge should go on.",
            ) from None
        except Forbidden:
            raise Forbidden(
                f"GitHub gives no token for installation {installation_id}: it is suspended.",
                "Its owner can resume it in GitHub's settings.",
            ) from None
        return parse(_TokenPayload, made.data, purpose)


@dataclass(frozen=True)
class Response:
    """An answer and its data. An expected refusal has no data.

    :param following: address of the next page.
    """

    answer: Answer
    data: object = None
    following: str | None = None


class Request(GitHubAPI):
    """One request for an installation, with its token, or for the App itself, with its signature.

    gidgethub calls its hooks for limits only before REST, so limits are checked in ``_request``.

    :param payer: the installation whose limits count.
    :param purpose: completes "Could not …".
    """

    def __init__(
        self, channel: Channel, payer: int, purpose: str, *, token: str | None = None, jwt: str | None = None
    ) -> None:
        super().__init__(_REQUESTER, oauth_token=token, base_url=channel.api_url)
        self._channel = channel
        self._payer = payer
        self._purpose = purpose
        self._jwt = jwt
        self._is_led_away = False
        self._answer = Answer(0, {}, NO_BODY)

    async def rest(
        self,
        method: str,
        path: str,
        body: JsonValue | bytes = NO_BODY,
        *,
        etag: str | None = None,
        refusals: Collection[int] = (),
    ) -> Response:
        """A success or an expected refusal.

        :param path: absolute, or below the API's address.
        :param refusals: statuses that are returned and not raised; a 302 among them is not followed.
        :raises CodeHostError: everything else.
        """
        self._is_led_away = 302 in refusals
        conditions = {} if etag is None else {"if-none-match": etag}
        try:
            data, following, _ = await self._make_request(
                method, path, None, body, _ACCEPT, self._jwt, extra_headers=conditions
            )
        except _UNREADABLE:
            if self._answer.status in refusals:
                return Response(self._answer)
            raise self._to_error() from None  # without its cause, which may hold a secret
        return Response(self._answer, data, following)

    async def ask_graphql(self, document: Document, variables: Mapping[str, JsonValue]) -> object:
        """The data of an answer without errors; data beside errors is incomplete and does not count.

        :raises CodeHostError: the answer reports an error, or does not come from GraphQL.
        """
        try:
            data = await self.graphql(document.text, endpoint=find_graphql_address(self.base_url), **variables)
        except _UNREADABLE:
            raise await self._to_graphql_error() from None
        if not isinstance(data, dict):
            raise bad_answer(self._purpose, "neither data nor errors")
        return data

    async def sleep(self, seconds: float) -> None:
        await self._channel.sleep(seconds)

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = NO_BODY
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Sends nothing while the payer is blocked, and stores each limit that GitHub reports."""
        gate = self._channel.gate
        await gate.check(self._payer)
        call = Call(self._purpose, method, url, body, self._is_led_away)
        answer = await self._channel.transport.send(call, {**headers, "x-github-api-version": _API_VERSION})
        limit = find_limit(answer, self._channel.clock.now())
        if limit is not None:
            raise await gate.note_limit(self._payer, limit)
        gate.note(self._payer, find_rate(answer.headers))
        self._answer = answer
        return answer.status, answer.headers, answer.body

    def _to_error(self) -> CodeHostError:
        if 200 <= self._answer.status < 300:
            return bad_answer(self._purpose, "a body that is not complete JSON")
        return to_error(self._answer, self._purpose)

    async def _to_graphql_error(self) -> CodeHostError:
        if self._answer.status != 200:
            return self._to_error()
        try:
            found = to_graphql_error(json.loads(self._answer.body), self._purpose)
        except (ValueError, RecursionError):
            return self._to_error()
        if isinstance(found, Limit):
            limit = graphql_limit(self._answer, found.reason, self._channel.clock.now())
            return await self._channel.gate.note_limit(self._payer, limit)
        return found


def decipher(answer: Answer) -> object:
    """The data of a cached success."""
    return decipher_response(answer.status, answer.headers, answer.body)[0]


class _GraphqlError(Value):
    message: str = ""
    type: str = ""


class _Answer(Value):
    errors: tuple[_GraphqlError, ...] = ()


def _explain_error(error: _GraphqlError, purpose: str) -> CodeHostError:
    kind = _KINDS.get(error.type, Unprocessable)
    if not error.type and _OWN_FAILURE.search(error.message):
        kind = Unavailable
    said = quote(error.message) or error.type or "no reason given"
    return kind(f"Could not {purpose}: GitHub answered {said}.", _ADVICE.get(kind, ""))
