"""The dashboard's pages and routes, and what happens around each page: session, authority, form, frame, errors."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

import structlog
from aiohttp import web

from bot.dashboard import audit, checkpoints, figures, memories, overview, runs
from bot.dashboard.authority import GitHubSilent, ReadableRepository, find_readable
from bot.dashboard.cookies import FIELD, Cookies, digest, make_form_token, read_form, read_own_fields
from bot.dashboard.sign_in import SignInPages, find_own_origin, make_cookies
from bot.dashboard.visit import (
    HEADERS,
    ROOT,
    Download,
    NotHere,
    Page,
    RepositoryAction,
    RepositoryPage,
    SeeOther,
    Shown,
    Visit,
    build_address,
    render,
    show_style,
    style_address,
)
from bot.pages import Denied
from bot.settings import Settings
from domain.errors import DatabaseUnavailable
from memory.process import sessions
from memory.process.sessions import DashboardSession
from pipeline.context import Services
from safety.authorization import refuse_role
from safety.github_limits import look_on

log = structlog.get_logger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_REPOSITORY = f"{ROOT}/{{owner}}/{{repository}}"
_SILENT = (
    "GitHub did not say what you may read here, so nothing is shown. That is mostly over in a minute: load the page "
    "again."
)
_SPENT = (
    "GitHub takes a number of requests in an hour. Few are left, and Forge needs these for its work, so it did not ask "
    "what you may read here, and nothing is shown. Load the page again after"
)
_STRANGE_HOST = (
    "This server does not answer under the name in this address. Open the address that FORGE_PUBLIC_URL says, or set "
    "it to this one; a proxy in front of Forge has to pass the header Host on.\n"
)


@dataclass(frozen=True)
class SignedInRequest:
    """A request of somebody who is signed in.

    :param session_id: the random id in their cookie.
    """

    request: web.Request
    session: DashboardSession
    session_id: str


class Dashboard:
    """Answers every request below ``/dashboard``, and ``GET /``."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self._services = services
        self._settings = settings
        self._sign_in = SignInPages(services, settings)

    async def aclose(self) -> None:
        await self._sign_in.aclose()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Add the routes of all pages."""
        router.add_get("/", self._guard(self._sign_in.welcome))
        router.add_get("/setup{rest:(/.*)?}", self._guard(_lead_to_front))
        router.add_get(style_address(), show_style)
        router.add_get(f"{ROOT}/sign-in", self._guard(self._sign_in.offer))
        router.add_get(f"{ROOT}/to-github", self._guard(self._sign_in.leave))
        router.add_get(f"{ROOT}/signed-in", self._guard(self._sign_in.arrive))
        router.add_post(f"{ROOT}/sign-out", self._guard(self._with_session(self._sign_out)))
        router.add_get(ROOT, self._guard(self._with_session(self._list_repositories)))
        router.add_get(f"{ROOT}/gates", self._guard(self._with_session(self._list_gates)))
        for page in PAGES:
            router.add_get(_build_path(page.path), self._guard(self._with_session(partial(self._show, page))))
        for action in ACTIONS:
            router.add_post(_build_path(action.path), self._guard(self._act(action)))
        router.add_route("*", f"{ROOT}{{rest:(/.*)?}}", self._guard(self._miss))

    # --- around every page ---------------------------------------------------------------------------------------

    def _guard(self, answer: Handler) -> Handler:
        """Turns what can go wrong into pages, and refuses names of others; never answers 500 with a traceback."""

        async def answer_safely(request: web.Request) -> web.StreamResponse:
            if not self._settings.is_own_host(request.headers.get("Host", "")):
                return web.Response(status=421, text=_STRANGE_HOST, headers=HEADERS)
            try:
                with look_on() if request.method in {"GET", "HEAD"} else nullcontext():
                    return await answer(request)
            except GitHubSilent as error:
                log.warning("dashboard.github_silent", why=str(error))
                why = _SILENT if error.until is None else f"{_SPENT} {error.until:%H:%M} UTC."
                return self._explain(503, "GitHub does not answer", why)
            except DatabaseUnavailable as error:
                log.error("dashboard.no_database", error=str(error))
                return self._explain(503, "The database does not answer", "Load the page again in a moment.")
            except Denied as error:
                return self._explain(error.status, "This form was not taken", f"{error.reason} {error.advice}")
            except web.HTTPException:
                raise
            except Exception:
                log.exception("dashboard.unexpected", path=request.path)
                why = "Forge made a mistake of its own; its log has the details. Nothing was changed by this page."
                return self._explain(500, "This page could not be made", why)

        return answer_safely

    async def _require_session(self, request: web.Request) -> SignedInRequest | web.Response:
        """The session of a request, or the way to sign in and come back."""
        session_id = self._cookies(request).read_session(request)
        found = None
        if session_id:
            found = await sessions.find(self._services.database, digest(session_id), self._services.clock.now())
        if found is not None:
            return SignedInRequest(request, found, session_id)
        wanted = request.path_qs if request.method in {"GET", "HEAD"} else ""
        return _see(build_address("sign-in", to=wanted if wanted != ROOT else ""))

    def _with_session(self, answer: Callable[[SignedInRequest], Awaitable[web.StreamResponse]]) -> Handler:
        """Answers whoever is signed in, and sends anybody else to sign in."""

        async def handle(request: web.Request) -> web.StreamResponse:
            signed_in = await self._require_session(request)
            return await answer(signed_in) if isinstance(signed_in, SignedInRequest) else signed_in

        return handle

    def _cookies(self, request: web.Request) -> Cookies:
        return make_cookies(self._settings, request)

    # --- pages of one repository -----------------------------------------------------------------------------------

    async def _show(self, page: RepositoryPage, signed_in: SignedInRequest) -> web.StreamResponse:
        readable = await self._find_readable(signed_in, page.least)
        if readable is None:
            return self._miss_for(signed_in)
        renamed = _find_renamed(signed_in.request, readable)
        if renamed is not None:
            return _see(renamed)
        return await self._answer(signed_in, self._open_visit(signed_in, readable), page.show, page)

    def _act(self, action: RepositoryAction) -> Handler:
        async def act(request: web.Request) -> web.StreamResponse:
            signed_in = await self._require_session(request)
            if not isinstance(signed_in, SignedInRequest):
                return await self._give_back(request) or signed_in
            form = await read_form(request, signed_in.session_id, find_own_origin(self._settings, request))
            readable = await self._find_readable(signed_in, action.least)
            if readable is None:
                return self._miss_for(signed_in)
            return await self._answer(signed_in, self._open_visit(signed_in, readable, form), action.act)

        return act

    async def _give_back(self, request: web.Request) -> web.Response | None:
        """What somebody typed whose session is over, for them to copy; None if they typed nothing."""
        fields = await read_own_fields(request, find_own_origin(self._settings, request))
        typed = {name: text for name, text in fields.items() if text and name != FIELD}
        if not typed:
            return None
        page = Page("signed-out.html", "You are signed out", {"typed": typed, "target": request.path}, status=403)
        return render(page, login="", csrf="", setup="")

    async def _find_readable(self, signed_in: SignedInRequest, least: str) -> ReadableRepository | None:
        """The repository of the address, if the visitor has this role there now."""
        parts = _drop_nulls(signed_in.request.match_info)
        found = await find_readable(self._services, signed_in.session, parts["owner"], parts["repository"])
        return None if found is None or refuse_role(found.role, least) is not None else found

    def _open_visit(
        self, signed_in: SignedInRequest, readable: ReadableRepository, form: Mapping[str, str] | None = None
    ) -> Visit:
        return Visit(
            services=self._services,
            web_url=self._settings.github_web_url,
            session=signed_in.session,
            repository=readable.repository,
            role=readable.role,
            now=self._services.clock.now(),
            parts=_drop_nulls(signed_in.request.match_info),
            query=_drop_nulls(signed_in.request.query),
            form=_drop_nulls(form or {}),
        )

    async def _answer(
        self,
        signed_in: SignedInRequest,
        visit: Visit,
        show: Callable[[Visit], Awaitable[Shown]],
        page: RepositoryPage | None = None,
    ) -> web.StreamResponse:
        try:
            shown = await show(visit)
        except NotHere:
            return self._miss_for(signed_in)
        match shown:
            case SeeOther():
                return _see(shown.address)
            case Download():
                return _download(shown)
            case Page():
                tabs = [
                    (each.tab, visit.address(*filter(None, each.path.split("/"))), _is_under(each, page))
                    for each in PAGES
                    if each.tab and visit.may(each.least)
                ]
                return self._render(shown, signed_in, visit=visit, tabs=tabs)

    # --- other pages -----------------------------------------------------------------------------------------------

    async def _list_repositories(self, signed_in: SignedInRequest) -> web.StreamResponse:
        after = signed_in.request.query.get("after", "")
        page = await overview.show_list(self._services, signed_in.session, after)
        return self._render(page, signed_in)

    async def _list_gates(self, signed_in: SignedInRequest) -> web.StreamResponse:
        page = await overview.show_everywhere(self._services, signed_in.session, self._settings.github_web_url)
        return self._render(page, signed_in)

    async def _sign_out(self, signed_in: SignedInRequest) -> web.StreamResponse:
        request = signed_in.request
        await read_form(request, signed_in.session_id, find_own_origin(self._settings, request))
        await sessions.end(self._services.database, signed_in.session.digest)
        response = _see(build_address("sign-in", out="yes"))
        self._cookies(request).forget_session(response)
        return response

    async def _miss(self, request: web.Request) -> web.StreamResponse:
        """The answer for addresses that no page has; who is not signed in is asked to, as for every other address."""
        path, query = request.rel_url.raw_path, request.rel_url.raw_query_string
        if path.endswith("/") and request.method in {"GET", "HEAD"}:
            place = path.rstrip("/")  # begins with our own path, so it cannot lead elsewhere
            return _see(f"{place}?{query}" if query else place)
        signed_in = await self._require_session(request)
        return self._miss_for(signed_in) if isinstance(signed_in, SignedInRequest) else signed_in

    def _miss_for(self, signed_in: SignedInRequest) -> web.Response:
        address = unquote(signed_in.request.rel_url.raw_path)
        page = Page("missing.html", "Not there", {"login": signed_in.session.login, "address": address}, status=404)
        return self._render(page, signed_in)

    def _explain(self, status: int, title: str, why: str) -> web.Response:
        return render(Page("message.html", title, {"why": why}, status), login="", csrf="", setup="")

    def _render(self, page: Page, signed_in: SignedInRequest, **around: object) -> web.Response:
        frame = {"login": signed_in.session.login, "csrf": make_form_token(signed_in.session_id)}
        return render(page, now=self._services.clock.now(), **frame, **around)


def _build_path(path: str) -> str:
    return f"{_REPOSITORY}/{path}" if path else _REPOSITORY


def _is_under(tab: RepositoryPage, page: RepositoryPage | None) -> bool:
    """Whether a tab leads to the page, or to the list that it belongs to."""
    return page is not None and (page is tab or (bool(tab.path) and page.path.startswith(f"{tab.path}/")))


def _drop_nulls(fields: Mapping[str, str]) -> dict[str, str]:
    """Without the one character that PostgreSQL takes in no text."""
    return {name: value.replace("\x00", "") for name, value in fields.items()}


def _find_renamed(request: web.Request, readable: ReadableRepository) -> str | None:
    """The address under the present name of a repository, if it has another name in the request's address."""
    parts, present = request.match_info, readable.repository
    if (parts["owner"], parts["repository"]) == (present.owner, present.name):
        return None
    rest = request.rel_url.raw_parts[4:]
    path = "/".join([build_address(present.owner, present.name), *rest])
    query = request.rel_url.raw_query_string  # as it was sent: decoded, it would say something else
    return f"{path}?{query}" if query else path


async def _lead_to_front(_request: web.Request) -> web.StreamResponse:
    """From the pages of a set-up that is over."""
    return _see("/")


def _see(address: str) -> web.Response:
    return web.Response(status=303, headers={**HEADERS, "Location": address})


def _download(shown: Download) -> web.Response:
    name = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in shown.name if sign.isascii())
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=shown.body, content_type=shown.content_type, charset="utf-8", headers=headers)


PAGES: Sequence[RepositoryPage] = (
    RepositoryPage("", overview.show_repository, tab="Overview"),
    RepositoryPage("runs", runs.list_runs, tab="Runs"),
    RepositoryPage("runs/{run}", runs.show_run),
    RepositoryPage("runs/{run}/timeline", runs.show_timeline),
    RepositoryPage("runs/{run}/checkpoints", checkpoints.list_checkpoints, least=checkpoints.LEAST),
    RepositoryPage("runs/{run}/checkpoints/{checkpoint}", checkpoints.show_checkpoint, least=checkpoints.LEAST),
    RepositoryPage("memories", memories.list_memories, tab="Memories"),
    RepositoryPage("memories/new", memories.offer_form, least=memories.EDITOR),
    RepositoryPage("memories/{memory}", memories.show_memory),
    RepositoryPage("costs", figures.show_costs, tab="Costs"),
    RepositoryPage("metrics", figures.show_metrics, tab="Metrics"),
    RepositoryPage("gates", overview.list_gates, tab="Gates"),
    RepositoryPage("deployments", figures.list_deployments, tab="Deployments"),
    RepositoryPage("audit", audit.show_audit, least=audit.LEAST, tab="Audit"),
    RepositoryPage("audit/export/{form}", audit.export_audit, least=audit.LEAST),
)
ACTIONS: Sequence[RepositoryAction] = (
    RepositoryAction("memories/new", memories.add, least="read"),
    RepositoryAction("memories/{memory}", memories.correct, least="read"),
    RepositoryAction("memories/{memory}/archive", memories.archive, least="read"),
)
"""They say themselves which role they take, so that people who had it learn that they have it no more."""
