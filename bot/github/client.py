"""GitHub's REST API as an installation sees it: reads that may be repeated, writes in turn, lists that are whole."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import cast
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from bot.github.errors import bad_answer, to_error
from bot.github.etags import EtagCache
from bot.github.graphql import Document, address, parse_outcome
from bot.github.limits import Limit, LimitGate, LimitStore, graphql_limit
from bot.github.pacing import Budget, InMemoryBudget, Sleep, Write, WriteLanes, retry_read
from bot.github.request import Credential, Exchange, content
from bot.github.settings import GitHubSettings
from bot.github.tokens import APP, AppSignature, InstallationTokens
from bot.github.transport import Answer, Call, Tail, Transport
from domain.errors import NotFound, Unauthorized, Unavailable
from domain.ports import Clock
from domain.runs.run import RepositoryRef

CONCURRENT_READS = 20  # GitHub: at most 100 requests at once
PAGE = 100
Stop = Callable[[], Awaitable[None]]
"""Raises when nothing may be written any more."""

MAX_PAGES = 50


async def never_stop() -> None:
    """Stops nothing."""


class Client:
    """Authorised requests to one GitHub. Paths are relative to the API's address, query values unescaped.

    :param stop: asked right before every write.
    :param budget: counts the writes of each installation; None: those of this process only.
    """

    def __init__(
        self,
        settings: GitHubSettings,
        clock: Clock,
        limits: LimitStore,
        sleep: Sleep,
        stop: Stop = never_stop,
        budget: Budget | None = None,
    ) -> None:
        self._api_url = settings.api_url
        self._sleep = sleep
        self._stop = stop
        self._clock = clock
        self._gate = LimitGate(limits, clock)
        self._transport = Transport(settings.api_url, settings.resolve, settings.connections)
        self._exchange = Exchange(self._transport, self._gate, clock)
        self._signature = AppSignature(settings, clock)
        self.tokens = InstallationTokens(settings, self._exchange, self._signature, clock, sleep)
        self._etags = EtagCache()
        self._lanes = WriteLanes(settings.write_interval_s, clock, sleep, budget or InMemoryBudget(clock))
        self._reads = asyncio.Semaphore(CONCURRENT_READS)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def get(
        self, installation_id: int, path: str, purpose: str, query: Mapping[str, str | int] | None = None
    ) -> object:
        """One object, from memory if GitHub says that it has not changed."""
        call = Call(purpose, "GET", self._url(path, query))

        async def read() -> object:
            return content(await self._read_if_changed(installation_id, call), purpose)[0]

        return await retry_read(read, self._sleep)

    async def get_as_app(self, path: str, purpose: str) -> object:
        """One object, asked for by the App itself."""
        return (await self.page_as_app(path, purpose))[0]

    async def page_as_app(
        self, path: str, purpose: str, query: Mapping[str, str | int] | None = None
    ) -> tuple[object, str | None]:
        """One page, asked for by the App itself, and the address of the next one."""
        call = Call(purpose, "GET", self._url(path, query))

        async def read() -> tuple[object, str | None]:
            await self._sleep_if_low(APP)
            async with self._reads:
                answer = await self._exchange.send(APP, call, self._signature.credential())
            return content(answer, purpose)

        return await retry_read(read, self._sleep)

    async def write_as_app(self, method: str, path: str, purpose: str) -> None:
        """One write by the App itself, in turn and never repeated; what GitHub says beyond 2xx is not looked at.

        :raises Unavailable: it may have taken effect all the same.
        """
        call = Call(purpose, method, self._url(path))
        await self._gate.check(APP)
        async with self._lanes.turn(APP, Write.to(method, path)):
            await self._sleep_if_low(APP)
            await self._exchange.send(APP, call, self._signature.credential())

    async def items(
        self,
        installation_id: int,
        path: str,
        purpose: str,
        query: Mapping[str, str | int] | None = None,
        key: str | None = None,
    ) -> list[object]:
        """All items of a list, over all its pages, or an error: never a part of them.

        Pages are not asked for by ETag: a full last page does not change when the next one appears.

        :param key: where the pages are objects: the field with the items, beside ``total_count``.
        :raises Unavailable: a page failed, is no list, leads back, or fewer items came than GitHub counts.
        """
        url: str | None = self._url(path, {**(query or {}), "per_page": PAGE})
        seen: set[str] = set()
        items: list[object] = []
        total = 0
        while url is not None:
            if url in seen or len(seen) == MAX_PAGES:
                raise bad_answer(purpose, "pages without an end")
            seen.add(url)
            page, url = await self._page(installation_id, Call(purpose, "GET", url))
            part, total = _items(page, key, purpose)
            items += part
        if len(items) < total:
            raise bad_answer(purpose, f"{len(items)} items of {total}")
        return items

    async def tail(self, installation_id: int, path: str, purpose: str, most: int) -> Tail:
        """The end of a file that GitHub only tells the address of, where the App's token is not shown.

        :param most: bytes at most.
        :raises NotFound: GitHub, or who keeps it for GitHub, does not have it (any more).
        """
        call = Call(purpose, "GET", self._url(path), is_led_away=True)

        async def read() -> Tail:
            answer = await self._read(installation_id, call, refusals=(302,))
            address = answer.headers.get("location")
            if address is None:
                raise bad_answer(purpose, "no address of it")
            async with self._reads:
                kept = await self._transport.tail(address, most, purpose)
            if kept.status in {404, 410}:
                raise to_error(Answer(kept.status, {}, b""), purpose)
            if kept.status != 200:  # an address holds for a minute: the next one may do
                raise Unavailable(f"Could not {purpose}: the host that GitHub pointed to answered {kept.status}.")
            return kept

        return await retry_read(read, self._sleep)

    async def write(self, installation_id: int, method: str, path: str, purpose: str, body: JsonValue) -> object:
        """One write, in turn and never repeated, except after a 401, which had no effect.

        :raises Unavailable: it may have taken effect all the same.
        """
        call = Call(purpose, method, self._url(path), json.dumps(body).encode())
        return content(await self._write_in_turn(installation_id, call, Write.to(method, path)), purpose)[0]

    async def attempt(
        self,
        installation_id: int,
        method: str,
        path: str,
        purpose: str,
        body: JsonValue,
        refusals: Collection[int],
        still: Callable[[], Awaitable[None]] | None = None,
    ) -> Answer:
        """One write like :meth:`write`, whose refusals with these statuses are answers; a limit is none of them.

        :param still: asked when it is this write's turn; what it raises keeps it from being sent.
        :raises Unavailable: it may have taken effect all the same.
        """
        call = Call(purpose, method, self._url(path), json.dumps(body).encode())
        return await self._write_in_turn(installation_id, call, Write.to(method, path), refusals, still)

    async def graphql(
        self, repository: RepositoryRef, document: Document, variables: Mapping[str, JsonValue], purpose: str
    ) -> object:
        """The data of a GraphQL answer. A query may be repeated, a mutation is sent in turn and never again.

        :param repository: what it is about; a mutation takes one of its turns.
        :raises CodeHostError: also for what GraphQL names in its errors, with status 200.
        """
        installation_id = repository.installation_id
        body = json.dumps({"query": document.text, "variables": dict(variables)}).encode()
        call = Call(purpose, "POST", address(self._api_url), body)
        if document.is_mutation:
            write = Write(repository_path(repository))  # none of ours creates content
            answer = await self._write_in_turn(installation_id, call, write)
            return await self._graphql_data(installation_id, call, answer)

        async def read() -> object:
            return await self._graphql_data(installation_id, call, await self._read(installation_id, call))

        return await retry_read(read, self._sleep)

    async def _graphql_data(self, installation_id: int, call: Call, answer: Answer) -> object:
        data = parse_outcome(content(answer, call.purpose)[0], call.purpose)
        if isinstance(data, Limit):
            limit = graphql_limit(answer, data.reason, self._clock.now())
            raise await self._gate.note_limit(installation_id, limit)
        return data

    async def _write_in_turn(
        self,
        installation_id: int,
        call: Call,
        write: Write,
        refusals: Collection[int] = (),
        still: Callable[[], Awaitable[None]] | None = None,
    ) -> Answer:
        await self._gate.check(installation_id)
        async with self._lanes.turn(installation_id, write):
            await self._sleep_if_low(installation_id)
            await self._stop()
            if still is not None:
                await still()
            return await self._send_authorised(installation_id, call, refusals=refusals)

    async def _page(self, installation_id: int, call: Call) -> tuple[object, str | None]:
        async def read() -> tuple[object, str | None]:
            return content(await self._read(installation_id, call), call.purpose)

        return await retry_read(read, self._sleep)

    async def _read_if_changed(self, installation_id: int, call: Call) -> Answer:
        seen = self._etags.find(installation_id, call.url)
        answer = await self._read(installation_id, call, seen.etag if seen else None)
        if seen is not None and answer.status == 304:
            return seen.answer
        self._etags.keep(installation_id, call.url, answer)
        return answer

    async def _read(
        self, installation_id: int, call: Call, etag: str | None = None, refusals: Collection[int] = ()
    ) -> Answer:
        await self._sleep_if_low(installation_id)
        async with self._reads:
            return await self._send_authorised(installation_id, call, etag, refusals)

    async def _send_authorised(
        self, installation_id: int, call: Call, etag: str | None = None, refusals: Collection[int] = ()
    ) -> Answer:
        """Sends with the installation's token, and once more with a new one if GitHub refuses the old."""
        token = await self.tokens.get(installation_id)
        try:
            return await self._exchange.send(installation_id, call, Credential(token=token), etag, refusals)
        except Unauthorized:
            self.tokens.drop(installation_id, token)
        token = await self.tokens.get(installation_id)
        return await self._exchange.send(installation_id, call, Credential(token=token), etag, refusals)

    async def _sleep_if_low(self, installation_id: int) -> None:
        pause = self._gate.pause_s(installation_id)
        if pause > 0:
            await self._sleep(pause)

    def _url(self, path: str, query: Mapping[str, str | int] | None = None) -> str:
        address = f"{self._api_url}/{path}"
        return f"{address}?{urlencode(query)}" if query else address


def repository_path(repository: RepositoryRef) -> str:
    """Where a repository is below the API's address."""
    return f"repos/{quote_segment(repository.owner)}/{quote_segment(repository.name)}"


def require_same(repository: RepositoryRef, found_id: int) -> None:
    """:raises NotFound: the name belongs to another repository now."""
    if found_id != repository.id:
        raise NotFound(
            f"{repository.full_name} is another repository now: it was renamed or deleted, and its name taken again."
        )


def quote_segment(text: str) -> str:
    """A name as one segment of a path: it can neither add segments nor leave its place.

    :raises ValueError: it is empty, ``.`` or ``..``.
    """
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} cannot be part of an address.")
    return quote(text, safe="")


def _items(page: object, key: str | None, purpose: str) -> tuple[list[object], int]:
    total = 0
    if key is not None:
        if not isinstance(page, dict):
            raise bad_answer(purpose, "a page that is no object")
        fields = cast("dict[str, object]", page)
        page, count = fields.get(key), fields.get("total_count")
        if not isinstance(count, int):
            raise bad_answer(purpose, "a page without total_count")
        total = count
    if not isinstance(page, list):
        raise bad_answer(purpose, "a page that is no list")
    return cast("list[object]", page), total
