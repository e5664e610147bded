"""The pages on which people register an App by its manifest, install it, and sign in to it.

https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from aiohttp import web

from simulator import user
from simulator.errors import Refusal, not_found
from simulator.pages.html import COOKIE, Content, Html, Visit, button, element, form, link, path, render_hidden
from simulator.pages.layout import page
from simulator.state import Account, Json, Manifest, Repository, SignInCode, World
from simulator.webhooks import Webhooks

_LONGEST_NAME = 34  # characters
_LEVELS = ("read", "write", "admin")
_NOT_CHOSEN = {"installation", "installation_repositories", "installation_target", "github_app_authorization"}
"""Events that every App is sent; GitHub refuses a manifest that names them."""


@dataclass
class Registration:
    """Registers and installs the App. This GitHub has one App, which is from then on what the manifest says."""

    world: World
    hooks: Webhooks

    def add_routes(self, router: web.UrlDispatcher) -> None:
        for owner in ("", "/organizations/{organization}"):
            router.add_post(f"{owner}/settings/apps/new", self.show_manifest)
            router.add_post(f"{owner}/settings/apps", self.register)
        for app in ("/apps/{slug}", "/github-apps/{slug}"):  # github.com's address, and an Enterprise Server's
            router.add_get(app, self.show_app)
            router.add_get(f"{app}/installations/new", self.choose_repositories)
            router.add_post(f"{app}/installations", self.install)

    async def show_manifest(self, request: web.Request) -> web.Response:
        """Take the posted manifest and show it with a button; nothing is registered yet."""
        form_data = await request.post()
        visit = _visit(self.world, request)
        try:
            owner = self._find_owner(visit)
            manifest = _parse(str(form_data.get("manifest", "")))
        except Refusal as refusal:
            return _refuse(visit, refusal)
        action = f"{request.path.removesuffix('/new')}?{request.query_string}"
        granted = [element("li", f"{name}: {level}") for name, level in manifest["default_permissions"].items()]
        name = element("input", name="name", value=manifest.get("name"), aria_label="GitHub App name", required=True)
        fields = form(
            action,
            render_hidden(manifest=json.dumps(manifest)),
            element("p", element("label", "GitHub App name ", name)),
            element("p", button(f"Create GitHub App for {owner.login}"), " ", link("/", "Cancel")),
        )
        shown = [
            element("h1", f"Create GitHub App for {owner.login}"),
            fields,
            element("h2", "Permissions"),
            element("ul", granted),
            element("h2", "Events"),
            element("p", ", ".join(map(str, manifest["default_events"]))),
        ]
        return _answer(page(visit, "Create GitHub App", *shown), leads_to=str(manifest["redirect_url"]))

    async def register(self, request: web.Request) -> web.Response:
        """Register the App and send the browser back with a code that lives for an hour."""
        form_data = await request.post()
        visit = _visit(self.world, request)
        try:
            owner = self._find_owner(visit)
            manifest = _parse(str(form_data.get("manifest", "")))
            name = str(form_data.get("name") or manifest.get("name", ""))
            if not name or len(name) > _LONGEST_NAME:
                raise Refusal(422, f"Name is too long (maximum is {_LONGEST_NAME} characters)")
        except Refusal as refusal:
            return _refuse(visit, refusal)
        self._change_app(manifest, name, owner)
        code = secrets.token_hex(20)
        self.world.manifests[code] = Manifest(manifest, self.world.now())
        return _redirect(str(manifest["redirect_url"]), {"code": code, "state": request.query.get("state", "")})

    def _find_owner(self, visit: Visit) -> Account:
        """The account that will own the App: the person's own, or an organisation that the person owns."""
        login, viewer = visit.params.get("organization"), visit.viewer
        if viewer is None:
            raise Refusal(403, "Sign in first")
        if login is None:
            return viewer
        found = self.world.accounts.get(login.lower())
        if found is None or found.type != "Organization" or viewer.id not in found.owners:
            raise not_found()
        return found

    def _change_app(self, manifest: Json, name: str, owner: Account) -> None:
        app, world = self.world.app, self.world
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        del world.apps[app.slug], world.accounts[app.bot.login.lower()]
        app.name, app.slug, app.owner, app.bot.login = name, slug, owner, f"{slug}[bot]"
        world.apps[slug], world.accounts[app.bot.login] = app, app.bot
        app.permissions = {"metadata": "read", **manifest["default_permissions"]}
        app.events = list(manifest["default_events"])
        app.setup_url = str(manifest.get("setup_url") or "")
        app.callback_urls = [str(each) for each in manifest.get("callback_urls", [])]
        app.client_secret = secrets.token_hex(20)
        self.hooks.url = cast(Json, manifest.get("hook_attributes", {})).get("url")
        self.hooks.secret = secrets.token_hex(20)

    async def show_app(self, request: web.Request) -> web.Response:
        visit = _visit(self.world, request)
        if request.match_info["slug"] != self.world.app.slug:
            return _refuse(visit, not_found())
        install = link(f"{request.path}/installations/new", "Install")
        shown = [element("h1", self.world.app.name), element("p", f"By {self.world.app.owner.login}")]
        return _answer(page(visit, self.world.app.name, *shown, element("p", install)))

    async def choose_repositories(self, request: web.Request) -> web.Response:
        visit = _visit(self.world, request)
        if request.match_info["slug"] != self.world.app.slug:
            return _refuse(visit, not_found())
        found = self._list_repositories()
        boxes: list[Content] = [
            element("p", element("label", element("input", type="checkbox", name="id", value=each.id), each.full_name))
            for each in found
        ]
        name = self.world.app.name
        where = path(*request.path.strip("/").split("/")[:2], "installations")
        shown = form(where, boxes, button("Install"), " ", link("/", "Cancel"))
        return _answer(
            page(visit, f"Install {name}", element("h1", f"Install {name}"), shown), self.world.app.setup_url
        )

    async def install(self, request: web.Request) -> web.Response:
        chosen = {str(each) for each in (await request.post()).getall("id", [])}
        visit = _visit(self.world, request)
        repositories = [each for each in self._list_repositories() if str(each.id) in chosen]
        viewer, owner = visit.viewer, self.world.app.owner
        if viewer is None or (viewer is not owner and viewer.id not in owner.owners):
            return _refuse(visit, not_found())
        if not repositories:
            return _refuse(visit, Refusal(422, "Select at least one repository"))
        installation = user.install(self.world, repositories, None)
        query = {"installation_id": str(installation.id), "setup_action": "install"}
        return _redirect(self.world.app.setup_url or self.world.url, query)

    def _list_repositories(self) -> Sequence[Repository]:
        """Those of the App's owner: it is not public, so nobody else can install it."""
        owned = [each for each in self.world.repositories.values() if each.owner is self.world.app.owner]
        return [each for each in owned if not each.deleted]


def _parse(text: str) -> Json:
    """The manifest, if GitHub takes it."""
    try:
        manifest: Any = json.loads(text)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict):
        raise Refusal(422, "Error: manifest is not valid JSON")
    given = cast(Json, manifest)
    permissions = cast(Json, given.setdefault("default_permissions", {}))
    events = cast(list[Any], given.setdefault("default_events", []))
    mistakes = [
        "redirect_url is missing" if not given.get("redirect_url") else "",
        *(f"{name} is not a permission level" for name, level in permissions.items() if level not in _LEVELS),
        *(f"{event} is not an event that can be chosen" for event in events if event in _NOT_CHOSEN),
    ]
    if any(mistakes):
        raise Refusal(422, "Error: " + ", ".join(filter(None, mistakes)))
    return given


def _visit(world: World, request: web.Request) -> Visit:
    return Visit(world, "/", request.match_info, request.query, {}, request.cookies.get(COOKIE))


def _answer(shown: Html, leads_to: str = "", status: int = 200) -> web.Response:
    """A page; a browser lets its form lead nowhere but here and, by the answer, to one other place."""
    place = urlsplit(leads_to)
    origin = f" {place.scheme}://{place.netloc}" if place.netloc else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'{origin}; base-uri 'none'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return web.Response(status=status, text=shown.text, content_type="text/html", headers=headers)


def _refuse(visit: Visit, refusal: Refusal) -> web.Response:
    message = element("p", str(refusal.body["message"]))
    shown = page(replace(visit, here="/"), "This was refused", element("h1", "This was refused"), message)
    return _answer(shown, status=refusal.status)


def _redirect(target: str, query: dict[str, str]) -> web.Response:
    given = {name: value for name, value in query.items() if value}
    return web.Response(status=302, headers={"Location": f"{target}{'&' if '?' in target else '?'}{urlencode(given)}"})


CODE_LASTS = timedelta(minutes=10)


@dataclass
class SignIn:
    """Where the App has people sign in.

    :param viewer: who sits at the browser; nobody signs in while it is None.
    :param follows_pages: whoever the pages are acting as sits there, instead.
    """

    world: World
    viewer: Account | None = None
    follows_pages: bool = False

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/login/oauth/authorize", self.authorize)
        router.add_post("/login/oauth/access_token", self.access_token)

    async def authorize(self, request: web.Request) -> web.Response:
        if request.query.get("client_id") != self.world.app.client_id:
            return web.Response(status=404, text="Not Found")
        target, state = request.query.get("redirect_uri", ""), request.query.get("state", "")
        known = self.world.app.callback_urls
        if known and target not in known:
            return _redirect(known[0], {"error": "redirect_uri_mismatch", "state": state})
        viewer = self._find_viewer(request)
        if viewer is None:
            refused = {"error": "access_denied", "error_description": "The user has denied your application access."}
            return _redirect(target, {**refused, "state": state})
        challenge = request.query.get("code_challenge", "")
        if challenge and request.query.get("code_challenge_method") != "S256":
            return _redirect(target, {"error": "invalid_request", "state": state})  # GitHub knows no other method
        code = secrets.token_hex(10)
        self.world.sign_ins[code] = SignInCode(viewer, target, challenge, self.world.now() + CODE_LASTS)
        return _redirect(target, {"code": code, "state": state})

    def _find_viewer(self, request: web.Request) -> Account | None:
        if not self.follows_pages:
            return self.viewer
        return Visit(self.world, "/", {}, {}, {}, request.cookies.get(COOKIE)).viewer

    async def access_token(self, request: web.Request) -> web.Response:
        """A code counts once, for ten minutes, and with its verifier. Errors come with status 200, as on GitHub."""
        text = await request.text()
        given = json.loads(text) if "json" in request.content_type else dict(parse_qsl(text))
        app = self.world.app
        if (given.get("client_id"), given.get("client_secret")) != (app.client_id, app.client_secret):
            return _answer_form(request, {"error": "incorrect_client_credentials"})
        code = self.world.sign_ins.pop(str(given.get("code")), None)
        if code is None or code.expires_at <= self.world.now() or not _proves(code, str(given.get("code_verifier"))):
            return _answer_form(request, {"error": "bad_verification_code"})
        if given.get("redirect_uri", code.redirect_uri) != code.redirect_uri:
            return _answer_form(request, {"error": "redirect_uri_mismatch"})
        token = self.world.new_token("ghu_", timedelta(hours=8))
        token.user = code.account
        token.app = app
        return _answer_form(
            request, {"access_token": token.value, "token_type": "bearer", "scope": "", "expires_in": 28800}
        )


def _proves(code: SignInCode, verifier: str) -> bool:
    """RFC 7636, 4.6."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return not code.challenge or digest == code.challenge


def _answer_form(request: web.Request, fields: Mapping[str, str | int]) -> web.Response:
    """As a form, unless the caller asks for JSON."""
    if "json" in request.headers.get("Accept", ""):
        return web.json_response(fields)
    return web.Response(text=urlencode(fields), content_type="application/x-www-form-urlencoded")
