"""Signs people in through the App: sends them to GitHub, asks who came back and what they see, and ends their token."""

import base64
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlencode

import structlog
from pydantic import Field, SecretStr

from domain.errors import CodeHostError, Forbidden, NotAllowed, NotFound, Unavailable
from domain.ports import Clock
from domain.runs.run import RepositoryRef
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value
from github.client import PAGE, quote_segment, read_items
from github.errors import bad_answer, to_error
from github.limits import find_limit
from github.payloads.parsing import AccountShown, parse, parse_all
from github.settings import GitHubSettings
from github.transport import Answer, Call, Transport

log = structlog.get_logger(__name__)

MOST_CANDIDATES = 2_000
"""Repositories of one person that are remembered; further ones are found by their address."""

_AGENT = "forge-app"
_ASKING = "ask GitHub what somebody who signs in may see"


class _TokenShown(Value):
    access_token: str = Field(default="", repr=False)
    error: str = ""


class _InstallationListed(Value):
    id: int


class _RepositoryListed(Value):
    id: int
    name: str
    owner: AccountShown


@dataclass(frozen=True)
class SignedInPerson:
    """Who came back from GitHub.

    :param candidates: the repositories with Forge that they had access to a moment ago.
    """

    account_id: int
    login: str
    candidates: tuple[RepositoryRef, ...] = ()


class GitHubSignIn:
    """GitHub's web flow for Apps.

    https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
    """

    def __init__(self, settings: GitHubSettings, client_id: str, client_secret: SecretStr, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._client_id = client_id
        self._client_secret = client_secret
        self._site = Transport(settings.web_url, settings.resolve, settings.connections)
        self._api = Transport(settings.api_url, settings.resolve, settings.connections)

    async def aclose(self) -> None:
        await self._site.aclose()
        await self._api.aclose()

    def address(self, state: str, challenge: str, target: str) -> str:
        """Where a browser goes to sign in.

        :param challenge: of PKCE, S256.
        :param target: where GitHub sends it back to.
        """
        query = {
            "client_id": self._client_id,
            "redirect_uri": target,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._settings.web_url}/login/oauth/authorize?{urlencode(query)}"

    async def identify(self, code: str, verifier: str, target: str) -> SignedInPerson:
        """Ask who came back with this code, and what they see. Their token is ended before this returns.

        :raises NotAllowed: GitHub does not take the code: it is used, too old, or of another sign-in.
        :raises CodeHostError: GitHub did not answer.
        """
        async with self._open_token(code, verifier, target) as token:
            person = parse(AccountShown, await self._get("user", token), "ask who signed in")
            candidates = await self._list_candidates(token)
            return SignedInPerson(person.id, person.login, tuple(candidates[:MOST_CANDIDATES]))

    @asynccontextmanager
    async def _open_token(self, code: str, verifier: str, target: str) -> AsyncGenerator[str]:
        purpose = "sign somebody in"
        form = {
            "client_id": self._client_id,
            "client_secret": self._client_secret.get_secret_value(),
            "code": code,
            "redirect_uri": target,
            "code_verifier": verifier,
        }
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        url = f"{self._settings.web_url}/login/oauth/access_token"
        answer = await self._site.send(Call(purpose, "POST", url, urlencode(form).encode()), _with_agent(headers))
        given = parse(_TokenShown, _read(answer, purpose), purpose)
        if not given.access_token:
            log.info("sign_in.refused", why=given.error[:80])
            raise NotAllowed("GitHub did not take the sign-in: it was used before, or took too long.", "Sign in again.")
        PROCESS_REDACTOR.learn_temporary(given.access_token)
        try:
            yield given.access_token
        finally:
            await self._end(given.access_token)

    async def _end(self, token: str) -> None:
        """End a token; if GitHub does not answer, it ends by itself after eight hours, and nobody knows it any more."""
        password = f"{self._client_id}:{self._client_secret.get_secret_value()}"
        headers = {"authorization": "Basic " + base64.b64encode(password.encode()).decode()}
        url = f"{self._settings.api_url}/applications/{quote_segment(self._client_id)}/token"
        body = json.dumps({"access_token": token}).encode()
        with suppress(CodeHostError):
            answer = await self._api.send(
                Call("end a person's token", "DELETE", url, body),
                _with_agent({**headers, "content-type": "application/json"}),
            )
            if answer.status == 204:
                return
        log.warning("sign_in.token_not_ended", advice="It ends by itself within eight hours; nothing keeps it.")

    async def _list_candidates(self, token: str) -> list[RepositoryRef]:
        found: list[RepositoryRef] = []
        listed = await self._list("user/installations", "installations", token)
        for each in parse_all(_InstallationListed, listed, _ASKING):
            if len(found) < MOST_CANDIDATES:
                found += await self._list_readable(each.id, token)
        return found

    async def _list_readable(self, installation_id: int, token: str) -> list[RepositoryRef]:
        """The repositories of one installation; none where GitHub hides them, so that the others are still listed.

        It does so for an installation that is suspended or gone, and for an organisation that asks for a sign-in of
        its own (SAML) or takes only some addresses.
        """
        try:
            listed = await self._list(f"user/installations/{installation_id}/repositories", "repositories", token)
        except (Forbidden, NotFound) as error:
            log.info("sign_in.installation_hidden", installation=installation_id, why=error.message)
            return []
        return [
            RepositoryRef(installation_id=installation_id, id=each.id, owner=each.owner.login, name=each.name)
            for each in parse_all(_RepositoryListed, listed, _ASKING)
        ]

    async def _list(self, path: str, key: str, token: str) -> list[object]:
        """The items of a list, as many pages as hold :data:`MOST_CANDIDATES`."""
        found: list[object] = []
        while len(found) < MOST_CANDIDATES:
            data = await self._get(f"{path}?per_page={PAGE}&page={len(found) // PAGE + 1}", token)
            page, _ = read_items(data, key, _ASKING)
            found += page
            if len(page) < PAGE:
                break
        return found

    async def _get(self, path: str, token: str) -> object:
        headers = {"accept": "application/vnd.github+json", "authorization": f"Bearer {token}"}
        call = Call(_ASKING, "GET", f"{self._settings.api_url}/{path}")
        answer = await self._api.send(call, _with_agent(headers))
        if find_limit(answer, self._clock.now()) is not None:
            raise Unavailable(f"Could not {_ASKING}: GitHub answered {answer.status}, and asks for fewer requests.")
        return _read(answer, _ASKING)


def _with_agent(headers: Mapping[str, str]) -> dict[str, str]:
    return {**headers, "user-agent": _AGENT}


def _read(answer: Answer, purpose: str) -> object:
    if answer.status != 200:
        raise to_error(answer, purpose)
    try:
        return json.loads(answer.body)
    except ValueError:
        raise bad_answer(purpose, "a body that is not JSON") from None
