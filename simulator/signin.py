"""The page of the web site where an App has people sign in."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from simulator.pages.session import COOKIE, Visit
from simulator.state import Account, SignInCode, World

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
            return _answer(request, {"error": "incorrect_client_credentials"})
        code = self.world.sign_ins.pop(str(given.get("code")), None)
        if code is None or code.expires_at <= self.world.now() or not _proves(code, str(given.get("code_verifier"))):
            return _answer(request, {"error": "bad_verification_code"})
        if given.get("redirect_uri", code.redirect_uri) != code.redirect_uri:
            return _answer(request, {"error": "redirect_uri_mismatch"})
        token = self.world.new_token("ghu_", timedelta(hours=8))
        token.user = code.account
        token.app = app
        return _answer(request, {"access_token": token.value, "token_type": "bearer", "scope": "", "expires_in": 28800})


def _proves(code: SignInCode, verifier: str) -> bool:
    """RFC 7636, 4.6."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return not code.challenge or digest == code.challenge


def _answer(request: web.Request, fields: Mapping[str, str | int]) -> web.Response:
    """As a form, unless the caller asks for JSON."""
    if "json" in request.headers.get("Accept", ""):
        return web.json_response(fields)
    return web.Response(text=urlencode(fields), content_type="application/x-www-form-urlencoded")


def _redirect(target: str, query: dict[str, str]) -> web.Response:
    given = {name: value for name, value in query.items() if value}
    return web.Response(status=302, headers={"Location": f"{target}{'&' if '?' in target else '?'}{urlencode(given)}"})
