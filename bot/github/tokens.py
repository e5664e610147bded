"""Signs as the App and keeps one token per installation, renewed before it expires; or has one that was given."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import jwt
from pydantic import AwareDatetime, Field

from bot.github.pacing import retry_read
from bot.github.payloads.parsing import parse
from bot.github.request import APP, Channel, Request
from bot.github.settings import GitHubSettings, rsa_key
from domain.errors import Forbidden, NotFound
from domain.ports import Clock
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value

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
        """The token for an installation."""
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
