"""Who is calling: an App by its JWT, an installation or a person by a token."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import jwt

from simulator.errors import Refusal, no_access, not_found
from simulator.state import Installation, Repository, Token, World
from simulator.webhooks import Actor

LONGEST_JWT = timedelta(minutes=10)
_LEVELS = ("none", "read", "write", "admin")


@dataclass(frozen=True)
class Caller:
    kind: Literal["app", "installation", "user"]
    actor: Actor
    token: Token | None = None
    installations: Collection[Installation] = ()  # of the App that a person signed in through

    @property
    def name(self) -> str:
        return f"app/{self.actor.account.login}" if self.kind == "app" else self.actor.account.login

    @property
    def key(self) -> str:
        """Under which the rate limit counts."""
        if self.token is not None and self.token.installation is not None:
            return str(self.token.installation.id)
        return self.name

    def holds(self, needed: str) -> bool:
        """Whether the token carries a permission such as `checks:write`."""
        if self.token is None:
            return False
        if self.token.user is not None and not self.token.permissions:
            return True
        name, _, level = needed.partition(":")
        held = self.token.permissions.get(name, "read" if name == "metadata" else "none")
        return _LEVELS.index(held) >= _LEVELS.index(level)

    def _is_installed(self, repository: Repository) -> bool:
        return any(each.covers(repository) for each in self.installations)

    def reaches(self, repository: Repository) -> bool:
        """Whether the repository belongs to what the token was given for."""
        if self.token is None:
            return False
        chosen = self.token.repository_ids
        if self.token.user is not None:
            is_hidden = self.token.app is not None and repository.private and not self._is_installed(repository)
            is_chosen = chosen is None or repository.id in chosen
            return is_chosen and not is_hidden and repository.allows(self.token.user, "read")
        if self.token.app is not None:
            return chosen is not None and repository.id in chosen
        installation = self.token.installation
        return (
            installation is not None and installation.covers(repository) and (chosen is None or repository.id in chosen)
        )


def authenticate(world: World, header: str | None) -> Caller:
    if not header:
        raise Refusal(401, "Requires authentication")
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "basic":
        value = basic_password(value)
    elif scheme.lower() not in ("bearer", "token"):
        raise Refusal(401, "Bad credentials")
    if value.count(".") == 2:
        return _app_caller(world, value)
    return _token_caller(world, value)


def basic_password(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        raise Refusal(401, "Bad credentials") from None


def _token_caller(world: World, value: str) -> Caller:
    token = world.tokens.get(value)
    if token is None or token.expires_at <= world.now():
        raise Refusal(401, "Bad credentials")
    if token.user is not None:
        return Caller("user", Actor(token.user), token, world.installations.values())
    if token.app is not None:
        return Caller("installation", Actor(token.app.bot, token.app), token)
    if token.installation is None or token.installation.id not in world.installations:
        raise Refusal(401, "Bad credentials")
    if token.installation.suspended_at is not None:
        raise Refusal(403, "This installation has been suspended")
    app = token.installation.app
    return Caller("installation", Actor(app.bot, app), token)


def _app_caller(world: World, value: str) -> Caller:
    """Checks signature and claims as GitHub does, on the simulator's clock."""
    options: Any = {f"verify_{claim}": False for claim in ("exp", "iat", "nbf", "aud", "iss", "sub", "jti")}
    try:
        claims = jwt.decode(value, world.app.public_key_pem, algorithms=["RS256"], options=options)
    except jwt.PyJWTError:
        raise Refusal(401, "A JSON web token could not be decoded") from None
    now = world.now().timestamp()
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or issued > now:
        raise _claim("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
    if not isinstance(expires, int | float) or expires <= now:
        raise _claim(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the "
            "assertion expires"
        )
    if expires - now > LONGEST_JWT.total_seconds():
        raise _claim("'Expiration time' claim ('exp') is too far in the future")
    if str(claims.get("iss")) not in (str(world.app.id), world.app.client_id):
        raise _claim("Integration not found")
    return Caller("app", Actor(world.app.bot, world.app))


def _claim(message: str) -> Refusal:
    return Refusal(401, message)


def find_visible(
    world: World, caller: Caller, full_name: str, needs: tuple[str, ...], *, by_readers: bool = False
) -> Repository:
    """The repository, if the caller may do this there: 404 when it cannot see it, 403 without the permission.

    `by_readers`: a person need not be able to write there, as for comments and reviews.
    """
    repository = world.repository(full_name)
    if repository is None:
        raise _redirect_moved(world, caller, full_name)
    reached = caller.reaches(repository)
    if not reached and repository.private:
        raise not_found()
    reading = any(needed.endswith(":read") for needed in needs)
    person = caller.token.user if caller.token else None
    denied = no_access("personal access token" if person else "integration", "; ".join(needs))
    if not reached and not reading:
        raise denied
    # What is public may be read with any token.
    if not any(caller.holds(needed) for needed in needs) and (repository.private or not reading):
        raise denied
    if person and not reading and not by_readers and not repository.allows(person, "write"):
        raise Refusal(403, "Must have write access to the repository.")
    return repository


def _redirect_moved(world: World, caller: Caller, full_name: str) -> Refusal:
    repository = world.repositories.get(world.old_names.get(full_name.lower(), 0))
    if repository is None or repository.deleted or (repository.private and not caller.reaches(repository)):
        return not_found()
    return Refusal(301, "Moved Permanently", headers={"Location": f"{world.api_url}/repositories/{repository.id}"})
