"""The simulated GitHub in a browser: plain HTML from the server, for whoever you choose to be."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import cast

from aiohttp import web

from simulator.errors import Refusal
from simulator.pages import actions, checks, conversation, files, repositories
from simulator.pages.actions import Verb
from simulator.pages.html import COOKIE, Html, Visit, div, element, link
from simulator.pages.layout import page
from simulator.state import Json, World

Page = Callable[[Visit], Html]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_REPOSITORY = "/{owner}/{repo}"
_ISSUE = _REPOSITORY + "/{kind:issues|pull}/{number:[0-9]+}"
PAGES: list[tuple[str, Page]] = [
    ("/", repositories.front),
    ("/{owner}", repositories.account),
    (_REPOSITORY, repositories.show),
    (_REPOSITORY + "/pull/{number:[0-9]+}", conversation.show_pull),
    (_REPOSITORY + "/pull/{number:[0-9]+}/files", files.show),
    (_REPOSITORY + "/pull/{number:[0-9]+}/checks", checks.show),
    (_REPOSITORY + "/issues/{number:[0-9]+}", conversation.show_issue),
    (_REPOSITORY + "/deployments", checks.show_deployments),
    (_REPOSITORY + "/actions/runs/{number:[0-9]+}", checks.show_run),
    (_REPOSITORY + "/commit/{sha}", repositories.commit),
    (_REPOSITORY + "/compare/{range:.+}", repositories.compare),
    (_REPOSITORY + "/blob/{revision}/{path:.+}", repositories.blob),
    (_REPOSITORY + "/edit/{branch}/{path:.+}", repositories.edit),
]
FORMS: list[tuple[str, Verb]] = [
    (_REPOSITORY + "/issues", actions.open_issue),
    (_REPOSITORY + "/edit/{branch}/{path:.+}", actions.commit_file),
    (_REPOSITORY + "/compare/{range:.+}", actions.propose),
    (_ISSUE + "/{verb}", actions.perform),
]
# Nothing is fetched from anywhere, and no script runs, whatever a comment says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_LOGIN = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}")


@dataclass
class Site:
    world: World

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/acting", self.act_as)
        for where, show in PAGES:
            router.add_get(where, self._serve_page(show))
        router.add_get(_REPOSITORY + "/runs/{number:[0-9]+}", self.check_run)
        for where, verb in FORMS:
            router.add_post(where, self._serve_form(verb))

    async def act_as(self, request: web.Request) -> web.Response:
        """Be somebody else from now on; somebody new is a stranger everywhere."""
        visit = await self._visit(request)
        login = visit.form.get("other", "").strip() or visit.form.get("login", "")
        if not _LOGIN.fullmatch(login):
            return _render_refusal(visit, 422, "A login has letters, digits and single hyphens, at most 39.")
        answer = _see_other(visit.form.get("back", ""))
        answer.set_cookie(COOKIE, self.world.account(login).login, path="/", samesite="Lax", httponly=True)
        return answer

    async def check_run(self, request: web.Request) -> web.Response:
        visit = await self._visit(request)
        try:
            return _see_other(checks.pull_of(visit))
        except Refusal as refusal:
            return _render_refusal(visit, refusal.status, explain_refusal(refusal))

    def _serve_page(self, show: Page) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            visit = await self._visit(request)
            try:
                return _answer(show(visit))
            except Refusal as refusal:
                return _render_refusal(visit, refusal.status, explain_refusal(refusal))

        return handle

    def _serve_form(self, verb: Verb) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            visit = await self._visit(request)
            try:
                return _see_other(await verb(visit))
            except PermissionError as error:
                return _render_refusal(visit, 403, str(error))
            except Refusal as refusal:
                return _render_refusal(visit, refusal.status, explain_refusal(refusal))
            except LookupError as error:
                return _render_refusal(visit, 422, str(error.args[0]))

        return handle

    async def _visit(self, request: web.Request) -> Visit:
        fields = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        login = request.cookies.get(COOKIE)
        return Visit(self.world, request.rel_url.raw_path, request.match_info, request.query, fields, login)


def explain_refusal(refusal: Refusal) -> str:
    """GitHub's message and what it says about each field."""
    errors = cast("list[Json | str]", refusal.body.get("errors", []))
    details = [error if isinstance(error, str) else str(error.get("message") or error) for error in errors]
    return ". ".join([str(refusal.body["message"]).strip(), *details])


def _answer(shown: Html, status: int = 200) -> web.Response:
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return web.Response(status=status, text=shown.text, content_type="text/html", headers=headers)


def _render_refusal(visit: Visit, status: int, message: str) -> web.Response:
    title = {403: "You may not do this", 404: "Not found"}.get(status, "This was refused")
    back = re.sub(r"/[a-z]+$", "", visit.here) or "/"  # from a form's address to the page it was on
    content = div("refused", element("h1", title), element("p", message), element("p", link(back, "Back")))
    return _answer(page(replace(visit, here=back), title, content), status)


def _see_other(target: str) -> web.Response:
    """Only ever to this site."""
    local = target if re.match(r"/(?![/\\])", target) else "/"
    return web.Response(status=303, headers={"Location": local})
