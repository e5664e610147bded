"""The page of the web site where an App has people sign in."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from simulator.state import Account, World


@dataclass
class SignIn:
    """`viewer` is who sits at the browser; nobody signs in while it is None."""

    world: World
    viewer: Account | None = None

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/login/oauth/authorize", self.authorize)
        router.add_post("/login/oauth/access_token", self.access_token)

    async def authorize(self, request: web.Request) -> web.Response:
        if request.query.get("client_id") != self.world.app.client_id:
            return web.Response(status=404, text="Not Found")
        target, state = request.query.get("redirect_uri", ""), request.query.get("state", "")
        if self.viewer is None:
            refused = {"error": "access_denied", "error_description": "The user has denied your application access."}
            return _redirect(target, {**refused, "state": state})
        code = secrets.token_hex(10)
        self.world.sign_ins[code] = self.viewer
        return _redirect(target, {"code": code, "state": state})

    async def access_token(self, request: web.Request) -> web.Response:
        """A code counts once. Errors come with status 200, as on GitHub."""
        text = await request.text()
        given = json.loads(text) if "json" in request.content_type else dict(parse_qsl(text))
        app = self.world.app
        if (given.get("client_id"), given.get("client_secret")) != (app.client_id, app.client_secret):
            return web.json_response({"error": "incorrect_client_credentials"})
        account = self.world.sign_ins.pop(str(given.get("code")), None)
        if account is None:
            return web.json_response({"error": "bad_verification_code"})
        token = self.world.new_token("ghu_", timedelta(hours=8))
        token.user = account
        return web.json_response(
            {"access_token": token.value, "token_type": "bearer", "scope": "", "expires_in": 28800}
        )


def _redirect(target: str, query: dict[str, str]) -> web.Response:
    given = {name: value for name, value in query.items() if value}
    return web.Response(status=302, headers={"Location": f"{target}{'&' if '?' in target else '?'}{urlencode(given)}"})
