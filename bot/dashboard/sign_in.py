"""The pages around signing in, and under which address people reach the dashboard and come back to it."""

from urllib.parse import unquote, urlsplit

import structlog
from aiohttp import web
from pydantic import SecretStr

from bot.dashboard.authority import GitHubSilent
from bot.dashboard.cookies import BegunSignIn, Cookies, digest, make_session_id
from bot.dashboard.visit import HEADERS, ROOT, Page, build_address, render
from bot.settings import Settings
from bot.setup.choices import find_install_page
from domain.errors import CodeHostError, NotAllowed
from domain.github.installations import MOST_ISSUES
from github.addresses import find_host_name, is_loopback
from github.sign_in import GitHubSignIn
from memory.process import sessions
from memory.process.sessions import DashboardSession
from messages.welcome import TITLE as WELCOME_TITLE
from pipeline.context import Services

_LONGEST = 2_000  # characters of an address that somebody comes back to


log = structlog.get_logger(__name__)

_RETURN = f"{ROOT}/signed-in"
_MOVED = "moved"
_STRANGE = (
    "This sign-in was not begun in this browser, was used already, or took more than ten minutes. Nothing happened; "
    "sign in again from here."
)
_BUSY = (
    "Too many people sign in at this moment whose browsers never did before. Nothing happened; try again in a minute."
)


class SignInPages:
    """The pages that people see who are not signed in."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self._services = services
        self._settings = settings
        secret = settings.client_secret or SecretStr("")
        self._github = GitHubSignIn(settings.github, settings.client_id, secret, services.clock)

    async def aclose(self) -> None:
        await self._github.aclose()

    async def welcome(self, request: web.Request) -> web.Response:
        """The public page: what this is, and the way in; after the set-up or an installation, what happens now."""
        if "set-up" in request.query:
            page = find_install_page(self._settings.store.load(), self._settings.github_web_url)
            return self._render(request, Page("running.html", "Forge runs", {"page": page}))
        action = request.query.get("setup_action", "")
        if not action:
            return self._render(request, Page("welcome.html", "Forge"))
        shown = {"action": action, "welcome": self._settings.welcome, "issue": WELCOME_TITLE, "most": MOST_ISSUES}
        return self._render(request, Page("installed.html", "What happens now", shown))

    async def offer(self, request: web.Request) -> web.Response:
        """Offers to sign in, and says what that reads."""
        target = choose_target(request.query.get("to", ROOT))
        shown = {"target": target, "wanted": "" if target == ROOT else target, "is_out": "out" in request.query}
        return self._render(request, Page("sign-in.html", "Sign in", shown))

    async def leave(self, request: web.Request) -> web.Response:
        """Sends the browser to GitHub.

        GitHub leads back to Forge's own address, so a browser at another name of it (localhost for 127.0.0.1) goes
        there first: a cookie counts for one name only. It is led there once, as a proxy may pass on another name.
        """
        origin, target = find_own_origin(self._settings, request), choose_target(request.query.get("to", ROOT))
        if origin is None or explain_setup(self._settings, request):
            return await self.offer(request)
        if _MOVED not in request.query and not is_at(origin, request):
            address = origin + build_address("to-github", to=target, **{_MOVED: "1"})
            return web.Response(status=303, headers={**HEADERS, "Location": address})
        begun = BegunSignIn.begin(target, self._services.clock.now())
        address = self._github.address(begun.state, begun.challenge, origin + _RETURN)
        response = web.Response(status=303, headers={**HEADERS, "Location": address})
        make_cookies(self._settings, request).keep_sign_in(response, begun)
        return response

    async def arrive(self, request: web.Request) -> web.Response:
        """Takes the browser back from GitHub, and begins a session if GitHub says who it is."""
        cookies, now = make_cookies(self._settings, request), self._services.clock.now()
        begun, origin = cookies.read_sign_in(request), find_own_origin(self._settings, request)
        if begun is None or origin is None or not begun.is_answered_by(request.query.get("state", ""), now):
            return self._refuse(request, 400, _STRANGE)
        if "code" not in request.query:
            why = "GitHub did not sign you in, because you or an owner of the organisation did not allow it."
            return self._refuse(request, 403, f"{why} Nothing happened; you can sign in again.")
        known = cookies.read_known(request)
        is_first = await sessions.claim_sign_in(
            self._services.database, digest(begun.state), now, digest(known) if known else ""
        )
        if is_first is None:
            return self._refuse(request, 429, _BUSY)
        if not is_first:
            return self._refuse(request, 400, _STRANGE)
        return await self._begin_session(request, begun, origin)

    async def _begin_session(self, request: web.Request, begun: BegunSignIn, origin: str) -> web.Response:
        cookies, database = make_cookies(self._settings, request), self._services.database
        try:
            person = await self._github.identify(request.query["code"], begun.verifier, origin + _RETURN)
        except NotAllowed as error:
            return self._refuse(request, 403, str(error))
        except CodeHostError as error:
            raise GitHubSilent(str(error)) from None
        session_id, old = make_session_id(), cookies.read_session(request)
        session = DashboardSession(digest(session_id), person.account_id, person.login, person.candidates)
        if old:
            await sessions.end(database, digest(old))
        await sessions.begin(database, session, self._services.clock.now())
        log.info("dashboard.signed_in", login=person.login, account=person.account_id)
        response = web.Response(status=303, headers={**HEADERS, "Location": begun.target})
        cookies.keep_session(response, session_id)
        cookies.keep_known(response)
        cookies.forget_sign_in(response)
        return response

    def _refuse(self, request: web.Request, status: int, why: str) -> web.Response:
        response = self._render(request, Page("refused.html", "Not signed in", {"why": why}, status))
        make_cookies(self._settings, request).forget_sign_in(response)
        return response

    def _render(self, request: web.Request, page: Page) -> web.Response:
        setup = explain_setup(self._settings, request)
        return render(page, setup=setup, login="", csrf="", sign_in=build_address("sign-in"), now=None)


def make_cookies(settings: Settings, request: web.Request) -> Cookies:
    """The cookies of the site that this request reached."""
    secret = settings.client_secret.get_secret_value() if settings.client_secret is not None else ""
    origin = find_own_origin(settings, request) or "https:"
    return Cookies(is_secure=origin.startswith("https:"), key=f"forge dashboard {secret}".encode())


def find_own_origin(settings: Settings, request: web.Request) -> str | None:
    """Scheme and host of the dashboard; None if nobody set it and the request does not come from this machine."""
    if settings.public_url:
        return settings.public_url
    host = request.headers.get("Host", "")
    return f"http://{host}" if is_loopback(find_host_name(host)) else None


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
