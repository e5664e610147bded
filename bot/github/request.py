"""One request to GitHub within its limits; gidgethub makes the headers, finds the next page and parses the answer."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gidgethub import GitHubException
from gidgethub.abc import GitHubAPI
from gidgethub.sansio import decipher_response
from pydantic import JsonValue

from bot.github import graphql
from bot.github.errors import bad_answer, to_error
from bot.github.graphql import Document
from bot.github.limits import Limit, LimitGate, find_limit, find_rate, graphql_limit
from bot.github.pacing import Sleep
from bot.github.transport import Answer, Call, Transport
from domain.errors import CodeHostError
from domain.ports import Clock

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
            data = await self.graphql(document.text, endpoint=graphql.address(self.base_url), **variables)
        except _UNREADABLE:
            raise await self._to_graphql_error() from None
        if not isinstance(data, dict):
            raise bad_answer(self._purpose, "neither data nor errors")
        return data  # pyright: ignore[reportUnknownVariableType]

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
            found = graphql.to_error(json.loads(self._answer.body), self._purpose)
        except (ValueError, RecursionError):
            return self._to_error()
        if isinstance(found, Limit):
            limit = graphql_limit(self._answer, found.reason, self._channel.clock.now())
            return await self._channel.gate.note_limit(self._payer, limit)
        return found


def decipher(answer: Answer) -> object:
    """The data of a cached success."""
    return decipher_response(answer.status, answer.headers, answer.body)[0]
