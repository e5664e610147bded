"""Decides under which address people reach the dashboard, and which of its own pages they come back to."""

from urllib.parse import unquote, urlsplit

from aiohttp import web

from bot.addresses import Reach, classify, find_host_name, is_loopback, is_named, unwrap
from bot.dashboard.visit import ROOT
from bot.settings import Installation, Settings

_LONGEST = 2_000  # characters of an address that somebody comes back to


def find_own_origin(settings: Settings, request: web.Request) -> str | None:
    """Scheme and host of the dashboard; None if nobody set it and the request does not come from this machine."""
    if settings.public_url:
        return settings.public_url
    host = request.headers.get("Host", "")
    return f"http://{host}" if is_loopback(find_host_name(host)) else None


def is_own_host(settings: Installation, host: str) -> bool:
    """Whether a request is for this server under a name of its own.

    Somebody else can point a name of theirs to this machine (DNS rebinding), and the browsers of people who are here
    would take its pages for theirs. They cannot own a number of this machine, or ``localhost``.

    :param host: the header of that name.
    """
    if is_named(settings.public_url, host):
        return True
    return is_loopback(find_host_name(host)) and _is_heard_on_loopback(settings.host)


def _is_heard_on_loopback(listens: str) -> bool:
    """Whether a server at this address of its machine is reached by loopback, too."""
    if is_loopback(listens) or not listens:
        return True
    try:
        return classify(unwrap(listens)) is Reach.unspecified
    except ValueError:  # a name
        return False


def is_at(origin: str, request: web.Request) -> bool:
    """Whether a browser reached this server under an address, as far as the request tells."""
    return urlsplit(origin).netloc.lower() == request.headers.get("Host", "").lower()


def explain_setup(settings: Settings, request: web.Request) -> str:
    """What is missing before anybody can sign in, for the operator; empty if nothing is."""
    if not settings.client_id or settings.client_secret is None:
        return (
            "Nobody can sign in yet: FORGE_CLIENT_ID and FORGE_CLIENT_SECRET are not set. The App's settings on GitHub "
            "show the client id and make a secret."
        )
    origin = find_own_origin(settings, request)
    if origin is None:
        return (
            "Nobody can sign in here yet: FORGE_PUBLIC_URL is not set. Set it to the address under which people reach "
            "this server, such as https://forge.example.com."
        )
    place = urlsplit(origin)
    if place.path or place.query or place.fragment:
        return "Nobody can sign in here: FORGE_PUBLIC_URL has a path. Set it to scheme and host only."
    if place.scheme != "https" and not is_loopback(place.hostname or ""):
        return (
            "Nobody can sign in here: FORGE_PUBLIC_URL is not https, so others could read along. Put a proxy with a "
            "certificate in front of Forge, and set the address of that."
        )
    return ""


def choose_target(wanted: str) -> str:
    """The page of the dashboard that somebody wanted; its first page for anything else, such as another site."""
    if len(wanted) > _LONGEST or not wanted.isascii() or not wanted.isprintable():
        return ROOT
    path = wanted.partition("?")[0]
    is_own = path == ROOT or path.startswith(f"{ROOT}/")
    is_plain = not any(sign in unquote(path) for sign in ("\\", "//", "/.")) and "#" not in wanted
    return wanted if is_own and is_plain else ROOT
