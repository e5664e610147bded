"""Decides who may set up Forge: one browser, from this server's own pages, with what it was given once."""

import hashlib
import hmac
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from bot.pages import Denied
from domain.ports import Clock
from github.addresses import find_host_name, is_loopback, is_named

LIFETIME = timedelta(minutes=30)
"""How long a token, a state and an idle browser count."""
_MOST_STATES = 8  # answers of GitHub that are awaited at once


@dataclass(frozen=True)
class Once:
    """A secret of which only the digest is kept, until a moment."""

    digest: bytes
    until: datetime

    @classmethod
    def make(cls, now: datetime) -> tuple[str, "Once"]:
        """A new secret of 256 bits, and what is kept of it."""
        secret = secrets.token_urlsafe(32)
        return secret, cls(_digest(secret), now + LIFETIME)

    def fits(self, given: str, now: datetime) -> bool:
        """Whether it is this one, and still counts."""
        return hmac.compare_digest(self.digest, _digest(given)) and now < self.until


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()  # a header may hold any bytes


@dataclass
class SetupGuard:
    """What was given to whom.

    :param clock: tells when it ends.
    :param has_token: whether the page is reached from elsewhere, so that a token is needed.
    :param public_url: FORGE_PUBLIC_URL; empty if not set.
    :param announce: is told a new token, or None where none is needed.
    """

    clock: Clock
    has_token: bool
    public_url: str
    announce: Callable[[str | None], None]
    _token: Once | None = None
    _browser: Once | None = None
    _states: list[Once] = field(default_factory=list[Once])

    def open(self) -> None:
        """Let one browser begin."""
        secret, self._token = Once.make(self.clock.now())
        self.announce(secret if self.has_token else None)

    def find_origin(self, host: str) -> str:
        """The address under which a browser reaches this server.

        A name that somebody else could point to this machine is refused, so that a page of theirs cannot read ours.

        :param host: the header of that name.
        :raises Denied: it is not a name of this server.
        """
        if is_named(self.public_url, host):
            public = urlsplit(self.public_url)
            return f"{public.scheme}://{public.netloc}"
        name = find_host_name(host)
        if is_loopback(name) or (self.has_token and (_is_number(name) or name == socket.gethostname().lower())):
            return f"http://{host}"
        raise Denied(
            421,
            "This server is not known under the name in the address.",
            "Open the address that Forge printed. To use another name, set FORGE_PUBLIC_URL to it and start again.",
        )

    def require_own_page(self, origin: str, sent_from: str | None, site: str | None) -> None:
        """Refuse a form that another site sent.

        :param sent_from: the header Origin; every browser of today sends it with a form.
        :param site: the header Sec-Fetch-Site.
        :raises Denied: it was not sent by a page of this server.
        """
        if sent_from != origin or site not in {None, "same-origin"}:
            raise Denied(
                403,
                "This was not sent by a page of this set-up.",
                "Open the address that Forge printed, and begin there.",
            )

    def begin(self, token: str) -> str:
        """Let this browser do the set-up, and no other; returns what its cookie holds.

        :raises Denied: the token is wrong, was used or is too old, or another browser began.
        """
        now = self.clock.now()
        if self._browser is not None and now < self._browser.until:
            raise Denied(
                403,
                "The set-up is under way in another browser.",
                "Go on there. Otherwise start Forge again, or wait until nothing happened there for 30 minutes.",
            )
        if self._token is None or now >= self._token.until:
            self.open()
            if self.has_token:
                raise Denied(
                    403, "This token is too old or was used.", "Forge has just printed a new address; open it."
                )
        assert self._token is not None
        if self.has_token and not self._token.fits(token, now):
            raise Denied(403, "The token is wrong.", "Copy the whole address that Forge printed.")
        self._token = None
        self._states.clear()
        secret, self._browser = Once.make(now)
        return secret

    def knows(self, cookie: str) -> bool:
        """Whether this browser does the set-up; if so, its time begins anew."""
        now = self.clock.now()
        if self._browser is None or not self._browser.fits(cookie, now):
            return False
        self._browser = Once(self._browser.digest, now + LIFETIME)
        return True

    def make_state(self) -> str:
        """A value that GitHub gives back with its answer."""
        secret, kept = Once.make(self.clock.now())
        self._states = [*self._states[1 - _MOST_STATES :], kept]
        return secret

    def take_state(self, given: str) -> None:
        """Accept a state, once.

        :raises Denied: it is unknown, was taken before or is too old.
        """
        now = self.clock.now()
        found = [each for each in self._states if each.fits(given, now)]  # looks at all, so that the time tells nothing
        if not found:
            raise Denied(
                403,
                "This answer belongs to no registration that was begun here, or was used already.",
                "Begin again from the set-up page. If GitHub lists an App that you did not finish, delete it there.",
            )
        self._states.remove(found[0])


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
