"""Events as GitHub words them, and their signed deliveries, sent once in the background and kept for redelivery."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp

from simulator import check_json, pull_json, repository_json
from simulator.state import (
    Account,
    App,
    CheckRun,
    CheckSuite,
    Installation,
    Issue,
    Json,
    PullRequest,
    Repository,
    World,
    timestamp,
)

TIMEOUT = 10.0
MAX_PAYLOAD = 25 * 1024 * 1024


@dataclass(eq=False)
class Delivery:
    """One attempt to deliver an event; a redelivery is another one with the same guid."""

    id: int
    guid: str
    event: str
    action: str | None
    payload: Json
    raw: bytes
    installation_id: int | None
    repository_id: int | None
    created_at: datetime
    redelivery: bool = False
    delivered_at: datetime | None = None
    duration: float = 0.0
    status: str = "pending"
    status_code: int = 0
    url: str = ""
    request_headers: dict[str, str] = field(default_factory=dict[str, str])
    response_headers: dict[str, str] = field(default_factory=dict[str, str])
    response: str = ""

    def brief(self) -> Json:
        return {
            "id": self.id,
            "guid": self.guid,
            "delivered_at": timestamp(self.delivered_at or self.created_at),
            "redelivery": self.redelivery,
            "duration": round(self.duration, 2),
            "status": self.status,
            "status_code": self.status_code,
            "event": self.event,
            "action": self.action,
            "installation_id": self.installation_id,
            "repository_id": self.repository_id,
            "throttled_at": None,
        }

    def full(self) -> Json:
        request = {"headers": self.request_headers, "payload": self.payload}
        response = {"headers": self.response_headers, "payload": self.response or None}
        return {**self.brief(), "url": self.url, "request": request, "response": response}


class Webhooks:
    """Sends every event once, in the background; a failure is only written to the log."""

    def __init__(self, url: str | None, secret: str, now: Callable[[], datetime], ids: itertools.count[int]) -> None:
        self.url = url
        self.secret = secret
        self.hook_id = next(ids)
        self.app_id = 0
        self.timeout = TIMEOUT
        self.as_form = False  # as some proxies send it
        self.deliveries: list[Delivery] = []
        self._now = now
        self._ids = ids
        self._held: list[Delivery] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self.optional: Mapping[str, Json] = {}  # what is left out of events

    async def start(self) -> None:
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def send(self, event: str, payload: Json, installation: Installation | None, repository: Repository | None) -> None:
        payload = leave_out(payload, self.optional.get(f"{event} {payload.get('action', '')}".strip(), {}))
        raw = json.dumps(payload, separators=(",", ":")).encode()
        if len(raw) > MAX_PAYLOAD:
            return  # GitHub never sends these
        delivery = Delivery(
            next(self._ids),
            str(uuid.uuid4()),
            event,
            payload.get("action"),
            json.loads(raw),
            raw,
            installation.id if installation else None,
            repository.id if repository else None,
            self._now(),
        )
        self.deliveries.append(delivery)
        self._dispatch(delivery)

    def _dispatch(self, delivery: Delivery) -> None:
        if self.url is None:
            delivery.status = "no webhook URL"
        elif self._held is not None:
            self._held.append(delivery)
        else:
            task = asyncio.get_running_loop().create_task(self._deliver(delivery, self.url))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def hold(self) -> None:
        """Keep deliveries back until `release`, as when GitHub is late."""
        self._held = [] if self._held is None else self._held

    def release(self, *, reverse: bool = False) -> None:
        held, self._held = self._held or [], None
        for delivery in reversed(held) if reverse else held:
            self._dispatch(delivery)

    def redeliver(self, delivery: Delivery) -> Delivery:
        """Attempt the same event again with the same guid."""
        again = Delivery(
            next(self._ids),
            delivery.guid,
            delivery.event,
            delivery.action,
            delivery.payload,
            delivery.raw,
            delivery.installation_id,
            delivery.repository_id,
            self._now(),
            redelivery=True,
        )
        self.deliveries.append(again)
        self._dispatch(again)
        return again

    async def settle(self) -> None:
        """Wait until no delivery is on its way, including those that answers to deliveries caused."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)

    def signature(self, raw: bytes) -> str:
        return "sha256=" + hmac.new(self.secret.encode(), raw, hashlib.sha256).hexdigest()

    def headers(self, delivery: Delivery, raw: bytes) -> dict[str, str]:
        sha1 = hmac.new(self.secret.encode(), raw, hashlib.sha1).hexdigest()
        return {
            "Accept": "*/*",
            "Content-Type": "application/x-www-form-urlencoded" if self.as_form else "application/json",
            "User-Agent": "GitHub-Hookshot/5f1a2b3",
            "X-GitHub-Delivery": delivery.guid,
            "X-GitHub-Event": delivery.event,
            "X-GitHub-Hook-ID": str(self.hook_id),
            "X-GitHub-Hook-Installation-Target-ID": str(self.app_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature": f"sha1={sha1}",
            "X-Hub-Signature-256": self.signature(raw),
        }

    def _body(self, delivery: Delivery) -> bytes:
        if not self.as_form:
            return delivery.raw
        return urlencode({"payload": delivery.raw.decode()}).encode()

    async def _deliver(self, delivery: Delivery, url: str) -> None:
        assert self._session is not None
        started = time.monotonic()
        raw = self._body(delivery)
        delivery.url, delivery.request_headers = url, self.headers(delivery, raw)
        limit = aiohttp.ClientTimeout(total=self.timeout)
        try:
            async with self._session.post(url, data=raw, headers=delivery.request_headers, timeout=limit) as answer:
                delivery.response = (await answer.read()).decode(errors="replace")
                delivery.status_code, delivery.status = answer.status, answer.reason or ""
                delivery.response_headers = dict(answer.headers)
        except TimeoutError:
            delivery.status_code, delivery.status = 0, "timed out"
        except aiohttp.ClientError:
            delivery.status_code, delivery.status = 0, "failed to connect to host"
        if 200 <= delivery.status_code < 300:
            delivery.status = "OK"
        delivery.delivered_at, delivery.duration = self._now(), time.monotonic() - started


def leave_out(body: Any, optional: Json) -> Any:
    """A body without what may be left out, or with null where that may stand.

    :param optional: by field: 1 for one that is left out, 0 for one that is null, or the same within; `[]` stands for
        list items.
    """
    if isinstance(body, list):
        return [leave_out(each, optional.get("[]", {})) for each in cast(list[Any], body)]
    if not isinstance(body, dict):
        return body
    kept = {name: value for name, value in cast(Json, body).items() if optional.get(name) != 1}
    return {name: _empty(value, optional[name]) if name in optional else value for name, value in kept.items()}


def _empty(value: Any, optional: Json | int) -> Any:
    return None if isinstance(optional, int) else leave_out(value, optional)


@dataclass(frozen=True)
class Actor:
    """Who does something: a person, or an App through its bot account."""

    account: Account
    app: App | None = None


def emit(
    world: World, event: str, action: str | None, repository: Repository, sender: Account, **fields: object
) -> None:
    installation = world.installation_of(repository)
    if installation is None or installation.suspended_at is not None:
        return
    payload: Json = {**({"action": action} if action else {}), **fields}
    payload["repository"] = repository_json.repository(world, repository)
    if event == "push":  # there it is a number
        payload["repository"]["pushed_at"] = int(world.now().timestamp())
    if repository.owner.type == "Organization":
        payload["organization"] = repository_json.organization(world, repository.owner)
    payload["sender"] = repository_json.account(world, sender)
    payload["installation"] = {"id": installation.id, "node_id": f"MDIz{installation.id}"}
    world.hooks.send(event, payload, installation, repository)


def emit_pull(world: World, action: str, pull: PullRequest, sender: Account, **fields: object) -> None:
    shape = pull_json.full_pull(world, pull)
    emit(world, "pull_request", action, pull.repository, sender, number=pull.number, pull_request=shape, **fields)


def emit_issue(world: World, action: str, issue: Issue, sender: Account, **fields: object) -> None:
    emit(world, "issues", action, issue.repository, sender, issue=repository_json.issue(world, issue), **fields)


def emit_check_run(world: World, action: str, run: CheckRun, sender: Account, **fields: object) -> None:
    shape = check_json.check_run(world, run)
    shape["check_suite"] = check_json.check_suite(world, run.suite)
    emit(world, "check_run", action, run.repository, sender, check_run=shape, **fields)


def emit_check_suite(world: World, action: str, suite: CheckSuite, sender: Account) -> None:
    shape = check_json.check_suite(world, suite)
    emit(world, "check_suite", action, suite.repository, sender, check_suite=shape)


def emit_installation(world: World, action: str, installation: Installation, sender: Account) -> None:
    payload: Json = {
        "action": action,
        "installation": repository_json.installation(world, installation),
        "sender": repository_json.account(world, sender),
    }
    if action in ("created", "deleted", "suspend", "unsuspend"):
        payload["repositories"] = [
            repository_json.brief_repository(item) for item in installation.repositories.values()
        ]
        payload["requester"] = None
    world.hooks.send("installation", payload, installation, None)


def emit_selection(
    world: World, installation: Installation, sender: Account, added: list[Repository], removed: list[Repository]
) -> None:
    payload: Json = {
        "action": "added" if added else "removed",
        "installation": repository_json.installation(world, installation),
        "repository_selection": "all" if installation.has_all else "selected",
        "repositories_added": [repository_json.brief_repository(item) for item in added],
        "repositories_removed": [repository_json.brief_repository(item) for item in removed],
        "requester": None,
        "sender": repository_json.account(world, sender),
    }
    world.hooks.send("installation_repositories", payload, installation, None)
