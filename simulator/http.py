"""Serves the REST and GraphQL API: who is calling, limits, faults, pages, ETags.

On request it answers from the past, as GitHub does when what answers lags behind its webhooks.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlencode

from aiohttp import web

from simulator import access
from simulator.access import Caller
from simulator.errors import Dropped, Fault, Faults, RateLimits, Refusal, RequestInfo, WriteHook, not_found
from simulator.state import Issue, Json, PullRequest, Repository, World
from simulator.webhooks import Actor, Webhooks, leave_out

PREFIX = "/api/v3"
Item = TypeVar("Item")


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content_type: str = "application/json; charset=utf-8"

    def payload(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


@dataclass
class Call:
    """One request, with what a handler needs to answer it."""

    world: World
    hooks: Webhooks
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    caller: Caller
    params: dict[str, str] = field(default_factory=dict[str, str])
    rates: dict[str, Json] = field(default_factory=dict[str, Json])  # of each resource

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def body(self) -> Json:
        return parse_body(self.raw)

    @property
    def accept(self) -> str:
        return self.headers.get("Accept", "")

    def number(self, name: str = "number") -> int:
        return int(self.params[name])

    def repository(self, *needs: str, by_readers: bool = False) -> Repository:
        """The repository of the path, for a caller that holds one of the permissions."""
        name = f"{self.params['owner']}/{self.params['repo']}"
        return access.find_visible(self.world, self.caller, name, needs or ("metadata:read",), by_readers=by_readers)

    def issue(self, *needs: str) -> Issue:
        """The issue or pull request; on a pull request the permission for pull requests serves as well."""
        repository = self.repository("metadata:read")
        found = repository.issues.get(self.number())
        if isinstance(found, PullRequest):
            needs = (*needs, *(needed.replace("issues:", "pull_requests:") for needed in needs))
        self.repository(*needs)
        if found is None:
            raise not_found()
        return found

    def pull(self, *needs: str, by_readers: bool = False) -> PullRequest:
        found = self.repository(*needs, by_readers=by_readers).issues.get(self.number())
        if not isinstance(found, PullRequest):
            raise not_found()
        return found

    def page(self, items: Sequence[Item], shape: Callable[[Item], Any], key: str | None = None) -> Answer:
        """One page of a list, with its Link header; `key` wraps it together with total_count."""
        size = min(100, max(1, _parse_int(self.query.get("per_page"), 30)))
        number = max(1, _parse_int(self.query.get("page"), 1))
        shown = [shape(item) for item in items[(number - 1) * size : number * size]]
        last = max(1, -(-len(items) // size))
        links = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
        wanted = {
            name: page
            for name, page in links.items()
            if (name in ("prev", "first") and number > 1) or (name in ("next", "last") and number < last)
        }
        body = {"total_count": len(items), key: shown} if key else shown
        return Answer(200, body, self._links({name: {"page": page} for name, page in wanted.items()}, size))

    def _links(self, wanted: Mapping[str, Mapping[str, object]], size: int) -> dict[str, str]:
        links = [
            f'<{self.world.api_url}{self.path}?{urlencode({**self.query, "per_page": size, **query})}>; rel="{name}"'
            for name, query in wanted.items()
        ]
        return {"Link": ", ".join(links)} if links else {}

    def cursor_page(self, items: Sequence[Item], shape: Callable[[Item], Any], key: Callable[[Item], int]) -> Answer:
        """One page by cursor, as the delivery log has it; items come newest first."""
        size = min(100, max(1, _parse_int(self.query.get("per_page"), 30)))
        cursor = self.query.get("cursor")
        below = [item for item in items if cursor is None or key(item) <= _parse_int(cursor, 0)]
        following = below[size : size + 1]
        links = {"next": {"cursor": key(following[0])}} if following else {}
        return Answer(200, [shape(item) for item in below[:size]], self._links(links, size))


def parse_body(raw: bytes) -> Json:
    if not raw:
        return {}
    try:
        parsed = json.loads(raw)
    except ValueError:
        raise Refusal(400, "Problems parsing JSON") from None
    if not isinstance(parsed, dict):
        raise Refusal(400, "Body should be a JSON object")
    return cast(Json, parsed)


def _parse_int(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdigit() else default


Handler = Callable[[Call], Answer]


class Route:
    """`{name}` matches one path segment, `{name+}` the rest of the path."""

    def __init__(self, method: str, path: str, handler: Handler, *, jwt: bool = False, anonymous: bool = False) -> None:
        pattern = re.sub(r"\{(number|id|check|comment)\}", r"(?P<\1>\\d+)", path)
        pattern = re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", pattern)
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)
        self.method = method
        self.name = f"{method} {re.sub(r'{[^}]*}', '{}', path)}"
        self.pattern = re.compile(pattern)
        self.handler = handler
        self.jwt = jwt
        self.anonymous = anonymous  # needs no authentication


class Api:
    """Answers every request under `/api`."""

    def __init__(self, world: World, hooks: Webhooks, routes: Sequence[Route], faults: Faults) -> None:
        self.world = world
        self.hooks = hooks
        self.routes = routes
        self.faults = faults
        self.limits = RateLimits(world.now)
        self.lagging = Lagging(world)
        self.requests: list[RequestInfo] = []
        self.write_hooks: list[WriteHook] = []
        self.optional: Mapping[str, Json] = {}  # what is left out of answers

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        path = request.path.removeprefix(PREFIX).removeprefix("/api")
        info = self._record(request, path, raw)
        fault = self.faults.take(request.method, path)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.delay)
        self.limits.in_flight += 1
        try:
            answer = await self._answer(request, raw, info, fault)
        finally:
            self.limits.in_flight -= 1
        if answer is None:
            return cut(request)
        answer = _truncate(answer) if fault is not None and fault.kind == "truncated" else answer
        return self._respond(request, answer, info)

    def _record(self, request: web.Request, path: str, raw: bytes) -> RequestInfo:
        try:
            body = parse_body(raw)
        except Refusal:
            body = raw
        info = RequestInfo(self.world.now(), request.method, path, dict(request.query), body)
        info.headers = {name: value for name, value in request.headers.items() if name != "Authorization"}
        info.write = is_write(request.method, path, body)
        self.requests.append(info)
        return info

    async def _answer(self, request: web.Request, raw: bytes, info: RequestInfo, fault: Fault | None) -> Answer | None:
        """The answer, or None when the connection is to be cut."""
        if fault is not None and fault.kind == "reset_before":
            return None
        if fault is not None and fault.kind == "before":
            return _faulty(fault)
        try:
            call, route = self._admit(request, raw, info)
            answer = await self._perform(call, route, info)
        except Dropped:
            return None
        except Refusal as refusal:
            headers = _redirect(refusal, info)
            answer = Answer(refusal.status, refusal.body, headers)
        if fault is not None and fault.kind in ("after", "reset"):
            return None if fault.kind == "reset" else _faulty(fault)
        return answer

    def _admit(self, request: web.Request, raw: bytes, info: RequestInfo) -> tuple[Call, Route]:
        """Who calls what: authenticated, within the limits, and a path that exists."""
        path = self._by_name(info.path)
        route, params = self._match(request.method, path)
        if route is not None and route.anonymous:
            caller = Caller("user", Actor(self.world.account("ghost")))
        else:
            caller = access.authenticate(self.world, request.headers.get("Authorization"))
        info.actor = caller.name
        if route is None:
            raise not_found()
        if route.jwt != (caller.kind == "app") and not route.anonymous:
            raise Refusal(401, "A JSON web token could not be decoded" if route.jwt else "Bad credentials")
        rates = self._spend(request, caller, info)
        world = self.world if info.write else self.lagging.world()
        call = Call(world, self.hooks, request.method, path, request.query, request.headers, raw, caller, params, rates)
        return call, route

    def _by_name(self, path: str) -> str:
        """`/repositories/{id}/…` is the same as `/repos/{owner}/{name}/…`."""
        found = re.match(r"/repositories/(\d+)(/.*)?$", path)
        repository = self.world.repositories.get(int(found[1])) if found else None
        if found is None or repository is None:
            return path
        return f"/repos/{repository.full_name}{found[2] or ''}"

    def _match(self, method: str, path: str) -> tuple[Route | None, dict[str, str]]:
        for route in self.routes:
            if route.method == method or (method == "HEAD" and route.method == "GET"):
                found = route.pattern.fullmatch(path)
                if found:
                    return route, {name: unquote(value) for name, value in found.groupdict().items()}
        return None, {}

    def _spend(self, request: web.Request, caller: Caller, info: RequestInfo) -> dict[str, Json]:
        resource = _resource(info)
        installation = caller.token.installation if caller.token else None
        limit = installation.rate_limit if installation else 5000
        window = info.window = self.limits.window(caller.key, resource, limit)
        self.limits.check_secondary(info.write and request.method == "POST")
        if info.path != "/rate_limit":
            self.limits.spend(window, resource, caller.key)
        kinds = ("core", "graphql")
        return {kind: self.limits.window(caller.key, kind, limit).summary() for kind in kinds}

    async def _perform(self, call: Call, route: Route, info: RequestInfo) -> Answer:
        if info.write:
            for hook in self.write_hooks:
                await hook(info, "before")
        try:
            answer = route.handler(call)
            answer.body = leave_out(answer.body, self.optional.get(route.name, {}))
            info.applied = answer.status < 400
            info.status = answer.status
        except Refusal as refusal:
            info.status = refusal.status
            raise
        finally:
            if info.write:
                for hook in self.write_hooks:
                    await hook(info, "after")
        return answer

    def _respond(self, request: web.Request, answer: Answer, info: RequestInfo) -> web.Response:
        payload = answer.payload()
        headers = {"X-GitHub-Media-Type": "github.v3", "X-GitHub-Request-Id": f"SIM:{len(self.requests)}"}
        headers |= answer.headers
        status = answer.status
        if request.method in ("GET", "HEAD") and status == 200:
            tag = f'W/"{hashlib.sha256(payload).hexdigest()}"'
            headers |= {"ETag": tag, "Cache-Control": "private, max-age=60, s-maxage=60"}
            if tag in request.headers.get("If-None-Match", ""):
                status, payload = 304, b""
                if info.window is not None:  # an answer of 304 is free
                    info.window.used -= 1
        if info.window is not None:
            headers = info.window.headers(_resource(info)) | headers
        if payload:
            headers["Content-Type"] = answer.content_type
        info.status = status
        return web.Response(status=status, body=payload, headers=headers)


def _resource(info: RequestInfo) -> str:
    return "graphql" if info.path == "/graphql" else "core"


def is_write(method: str, path: str, body: Any) -> bool:
    """Whether the request changes what people see. Making a token or asking GraphQL does not."""
    if method in ("GET", "HEAD", "OPTIONS") or path.endswith("/access_tokens"):
        return False
    if path.startswith("/applications/"):  # about a token
        return False
    if path == "/graphql":
        query = cast(Json, body).get("query", "") if isinstance(body, dict) else ""
        return str(query).lstrip().startswith("mutation")
    return True


def cut(request: web.BaseRequest) -> web.Response:
    """Cut the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def _faulty(fault: Fault) -> Answer:
    errors = {"errors": [*fault.errors]} if fault.errors else {}
    return Answer(fault.status, {"message": fault.message, **errors}, dict(fault.headers))


def _redirect(refusal: Refusal, info: RequestInfo) -> dict[str, str]:
    """A renamed repository answers with the address of what was asked for, under its id."""
    if refusal.status != 301:
        return refusal.headers
    rest = re.sub(r"^/repos/[^/]+/[^/]+", "", info.path)
    location = refusal.headers["Location"] + rest
    if info.method not in ("GET", "HEAD"):
        refusal.status = 307
    refusal.body |= {"message": "Moved Permanently", "url": location}
    return {**refusal.headers, "Location": location}


def _truncate(answer: Answer) -> Answer:
    headers = {name: value for name, value in answer.headers.items() if name != "Link"}
    body = answer.body
    if isinstance(body, list):
        items = cast(list[Any], body)
        body = items[: len(items) // 2]
    return Answer(answer.status, body, headers, answer.content_type)


_LOOKS = 0.05  # seconds between two pictures of the world


class Lagging:
    """Answers reads with what the world was like some seconds ago; writes, and who may do what, are of this moment."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._by = timedelta()
        self._past: deque[tuple[datetime, World]] = deque()
        self._task: asyncio.Task[None] | None = None

    def lag(self, seconds: float) -> None:
        """Let reads lag from now on, behind what there is at this moment; 0 ends it at once."""
        self._by = timedelta(seconds=seconds)
        self._past.clear()
        if not seconds:
            self._cancel()
            return
        self._take()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._take_again())

    async def stop(self) -> None:
        task = self._task
        self._cancel()
        if task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def world(self) -> World:
        """The world as reads see it."""
        wanted = self._world.now() - self._by
        if self._past and self._past[-1][0] < wanted:
            self._take()
        while len(self._past) > 1 and self._past[1][0] <= wanted:
            self._past.popleft()
        return self._past[0][1] if self._past else self._world

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = None

    async def _take_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOKS)
            self._take()

    def _take(self) -> None:
        now = self._world.now()
        if self._past and self._past[-1][0] < now - self._by:  # somebody moved the clock: what was new is old now
            self._past.clear()
        self._past.append((now, _copy(self._world)))
        self.world()  # lets go of what is too old


def _copy(world: World) -> World:
    """The world at this moment, but for what does not lag: accounts, Apps, roles and who installed what."""
    shared: list[object] = [world.now, world.app, world.hooks, world.ids, world.accounts, world.apps, world.old_names]
    shared += [world.installations, world.tokens, world.manifests, world.sign_ins, world.links, world.stage]
    shared += [world.graphql_schema, world.unpublished]
    shared += [*world.accounts.values(), *world.apps.values()]
    for repository in world.repositories.values():
        shared += [repository.roles, repository.custom_roles]
    return copy.deepcopy(world, {id(each): each for each in shared})
