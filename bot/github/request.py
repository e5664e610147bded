"""One request under the limits: nothing is sent while blocked, and every refusal becomes an error of the domain."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gidgethub import GitHubException
from gidgethub.sansio import create_headers, decipher_response

from bot.github.errors import bad_answer, to_error
from bot.github.limits import LimitGate, find_limit, find_rate
from bot.github.transport import Answer, Call, Transport
from domain.ports import Clock

REQUESTER = "forge-app"
_ACCEPT = "application/vnd.github+json"
_API_VERSION = "2022-11-28"


@dataclass(frozen=True)
class Credential:
    """A token of an installation, or the App's own signature (a JWT), exactly one of them."""

    token: str | None = None
    jwt: str | None = None

    def __repr__(self) -> str:
        return "Credential(…)"


class Exchange:
    """Sends a call for an installation (0: the App itself)."""

    def __init__(self, transport: Transport, gate: LimitGate, clock: Clock) -> None:
        self._transport = transport
        self._gate = gate
        self._clock = clock

    async def send(
        self,
        installation_id: int,
        call: Call,
        credential: Credential,
        etag: str | None = None,
        refusals: Collection[int] = (),
    ) -> Answer:
        """A success, or 304 where ``etag`` still holds, or one of the refusals that are answers here.

        :raises CodeHostError: everything else.
        """
        await self._gate.check(installation_id)
        answer = await self._transport.send(call, _headers(call, credential, etag))
        limit = find_limit(answer, self._clock.now())
        if limit is not None:
            raise await self._gate.note_limit(installation_id, limit)
        self._gate.note(installation_id, find_rate(answer.headers))
        if 200 <= answer.status < 300 or answer.status in refusals or (answer.status == 304 and etag is not None):
            return answer
        raise to_error(answer, call.purpose)


def content(answer: Answer, purpose: str) -> tuple[object, str | None]:
    """The JSON of a success and the address of the next page.

    :raises Unavailable: the body is truncated or not JSON.
    """
    try:
        data, _, following = decipher_response(answer.status, answer.headers, answer.body)
    except (GitHubException, ValueError, LookupError, RecursionError):
        raise bad_answer(purpose, "a body that is not complete JSON") from None
    return data, following


def _headers(call: Call, credential: Credential, etag: str | None) -> Mapping[str, str]:
    headers = create_headers(REQUESTER, accept=_ACCEPT, oauth_token=credential.token, jwt=credential.jwt)
    headers["x-github-api-version"] = _API_VERSION
    if call.body:
        headers["content-type"] = "application/json"
    if etag is not None:
        headers["if-none-match"] = etag
    return headers
