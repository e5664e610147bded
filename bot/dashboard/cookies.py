"""Makes and reads the cookies of a sign-in and a session, and reads the forms that come from our own pages."""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from aiohttp import web

from bot.pages import Denied, read_fields
from safety.authorization import KNOWN_LASTS, LONGEST, SIGN_IN_LASTS, is_sign_in_over

_SESSION = "forge-session"
_SIGN_IN = "forge-sign-in"
_KNOWN = "forge-known"
_BYTES = 32  # of randomness
_LONGEST_COOKIE = 4_096


@dataclass(frozen=True)
class BegunSignIn:
    """A sign-in that a browser began.

    :param state: comes back from GitHub with the browser.
    :param verifier: of PKCE, which only GitHub is told.
    :param target: the page that was wanted.
    :param at: seconds since 1970.
    """

    state: str
    verifier: str
    target: str
    at: float

    @classmethod
    def begin(cls, target: str, now: datetime) -> "BegunSignIn":
        return cls(secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES), target, now.timestamp())

    @property
    def challenge(self) -> str:
        """RFC 7636, S256."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def is_answered_by(self, state: str, now: datetime) -> bool:
        """Whether a browser that comes back with this state ends this sign-in, and in time."""
        is_same = hmac.compare_digest(self.state.encode(), state.encode())
        return is_same and not is_sign_in_over(datetime.fromtimestamp(self.at, UTC), now)


@dataclass(frozen=True)
class Cookies:
    """The cookies of a site.

    :param is_secure: the site is https; browsers then keep the cookies from being set by anybody else.
    :param key: signs what a browser keeps for us.
    """

    is_secure: bool
    key: bytes

    def keep_sign_in(self, response: web.Response, begun: BegunSignIn) -> None:
        content = base64.urlsafe_b64encode(json.dumps(asdict(begun)).encode()).decode().rstrip("=")
        self._set(response, _SIGN_IN, f"{content}.{self._sign(content)}", int(SIGN_IN_LASTS.total_seconds()))

    def read_sign_in(self, request: web.Request) -> BegunSignIn | None:
        """The sign-in that this browser began; None if it began none, or changed what we gave it."""
        content, _, signature = self._get(request, _SIGN_IN).partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(content).encode()):
            return None
        try:
            return BegunSignIn(**json.loads(base64.urlsafe_b64decode(f"{content}==")))
        except (ValueError, TypeError):  # of another version of Forge
            return None

    def keep_session(self, response: web.Response, session_id: str) -> None:
        self._set(response, _SESSION, session_id, int(LONGEST.total_seconds()))

    def read_session(self, request: web.Request) -> str:
        """The id of the session; empty if there is none."""
        return self._get(request, _SESSION)

    def keep_known(self, response: web.Response) -> None:
        """Let the browser show, when it signs in again, that somebody did before; it says nothing else."""
        content = secrets.token_urlsafe(_BYTES)
        self._set(response, _KNOWN, f"{content}.{self._sign(content, _KNOWN)}", int(KNOWN_LASTS.total_seconds()))

    def read_known(self, request: web.Request) -> str:
        """What a browser was given that signed in before; empty if there is nothing of ours."""
        content, _, signature = self._get(request, _KNOWN).partition(".")
        return content if hmac.compare_digest(signature.encode(), self._sign(content, _KNOWN).encode()) else ""

    def forget_sign_in(self, response: web.Response) -> None:
        self._set(response, _SIGN_IN, "", 0)

    def forget_session(self, response: web.Response) -> None:
        self._set(response, _SESSION, "", 0)

    def _get(self, request: web.Request, name: str) -> str:
        value = request.cookies.get(self._name(name), "")
        return value if len(value) <= _LONGEST_COOKIE and value.isascii() else ""

    def _set(self, response: web.Response, name: str, value: str, seconds: int) -> None:
        response.set_cookie(
            self._name(name), value, max_age=seconds, path="/", secure=self.is_secure, httponly=True, samesite="Lax"
        )

    def _name(self, name: str) -> str:
        # https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-the-__host-prefix
        return f"__Host-{name}" if self.is_secure else name

    def _sign(self, content: str, purpose: str = "sign-in") -> str:
        return hmac.new(self.key, f"{purpose} {content}".encode(), hashlib.sha256).hexdigest()


def make_session_id() -> str:
    """A random id for the cookie of a new session."""
    return secrets.token_urlsafe(_BYTES)


def digest(secret: str) -> str:
    """What the database keeps of a random value; the value itself cannot be found from it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_form_token(session_id: str) -> str:
    """What each form of a session carries, so that no other site can send it."""
    return hmac.new(session_id.encode(), b"form", hashlib.sha256).hexdigest()


MAX_FORM = 256 * 1024  # bytes
FIELD = "csrf"
_ANEW = "Open the page anew, and send it."


async def read_form(request: web.Request, session_id: str, origin: str | None) -> Mapping[str, str]:
    """The fields of a form of this session, without the token.

    :param origin: of our own pages.
    :raises Denied: it comes from elsewhere, or is too large or malformed.
    """
    fields = await read_own_fields(request, origin)
    if not hmac.compare_digest(fields.pop(FIELD, "").encode(), make_form_token(session_id).encode()):
        raise Denied(403, "This form belongs to another session.", _ANEW)
    return fields


async def read_own_fields(request: web.Request, origin: str | None) -> dict[str, str]:
    """The fields of a form from one of our own pages, whichever session that was of; nothing may be done for it.

    :raises Denied: it comes from elsewhere, or is too large or malformed.
    """
    if origin is None or request.headers.get("Origin") != origin:
        raise Denied(403, "This form was not sent from a page of this dashboard.", _ANEW)
    return await read_fields(request, MAX_FORM)
