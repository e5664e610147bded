"""A client of GitHub's API: repeats failed reads, sends writes one at a time, and returns only complete lists."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from domain.errors import Forbidden, NotFound, Unauthorized, Unavailable
from domain.ports import Clock
from domain.runs.run import RepositoryRef
from github.errors import bad_answer, to_error
from github.limits import LimitGate
from github.pacing import Sleep, Write, WriteBudget, WriteLanes, retry_read
from github.request import (
    APP,
    NO_BODY,
    AppSignature,
    Channel,
    Document,
    GivenToken,
    InstallationTokens,
    Request,
    Response,
    Tokens,
    decipher,
)
from github.settings import GitHubSettings, PersonalAccess
from github.transport import Answer, Tail, Transport
from memory.db.engine import Database
from safety.github_limits import is_looking_on

MAX_ENTRIES = 500
MAX_BODY = 256 * 1024  # bytes; larger answers are not worth the memory
MAX_BYTES = 16 * 1024 * 1024  # of all bodies


T = TypeVar("T")
Send = Callable[[Request], Awaitable[T]]

Stop = Callable[[], Awaitable[None]]
"""Raises if a write is not wanted any more."""

CONCURRENT_READS = 20  # GitHub: at most 100 requests at once
PAGE = 100
MAX_PAGES = 50


async def never_stop() -> None:
    """Allows every write."""


class Client:
    """Authorised requests to one GitHub. Paths are relative to the API's address, query values unescaped.

    :param database: keeps GitHub's rate limits and how much each installation wrote, for all processes; None: this
        process is alone, and forgets them at its end.
    :param sleep: waits the given seconds; tests give another.
    :param stop: called right before every write; raises to prevent it.
    """

    def __init__(
        self,
        settings: GitHubSettings | PersonalAccess,
        clock: Clock,
        database: Database | None,
        sleep: Sleep = asyncio.sleep,
        stop: Stop = never_stop,
    ) -> None:
        self.settings = settings
        self.app_id = settings.app_id if isinstance(settings, GitHubSettings) else APP
        self._sleep = sleep
        self._stop = stop
        self._gate = LimitGate(clock, database)
        self._transport = Transport(settings.api_url, settings.resolve, settings.connections)
        self._channel = Channel(settings.api_url, self._transport, self._gate, clock, sleep)
        self._signature: AppSignature | None = None
        if isinstance(settings, GitHubSettings):
            self._signature = AppSignature(settings, clock)
            self.tokens: Tokens = InstallationTokens(self._channel, self._signature)
        else:
            self.tokens = GivenToken(settings.token)
        self._etags = EtagCache()
        self._lanes = WriteLanes(settings.write_interval_s, clock, sleep, WriteBudget(clock, database))
        self._reads = asyncio.Semaphore(CONCURRENT_READS)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def get(
        self, installation_id: int, path: str, purpose: str, query: Mapping[str, str | int] | None = None
    ) -> object:
        """One object, from the cache if GitHub says that it has not changed."""
        path = _add_query(path, query)

        async def read() -> object:
            seen = self._etags.find(installation_id, path)
            etag, refusals = (seen.etag, (304,)) if seen else (None, ())
            response = await self._read(
                installation_id, purpose, lambda request: request.rest("GET", path, etag=etag, refusals=refusals)
            )
            if seen and response.answer.status == 304:
                return decipher(seen.answer)
            self._etags.keep(installation_id, path, response.answer)
            return response.data

        return await retry_read(read, self._sleep)

    async def get_as_app(self, path: str, purpose: str) -> object:
        """One object, requested by the App itself."""
        return (await self.page_as_app(path, purpose))[0]

    async def page_as_app(
        self, path: str, purpose: str, query: Mapping[str, str | int] | None = None
    ) -> tuple[object, str | None]:
        """One page, requested by the App itself, and the address of the next one."""

        async def read() -> tuple[object, str | None]:
            await self._sleep_if_low(APP)
            async with self._reads:
                response = await self._open_as_app(purpose).rest("GET", _add_query(path, query))
            return response.data, response.following

        return await retry_read(read, self._sleep)

    async def post_as_app(self, path: str, purpose: str) -> None:
        """One POST by the App itself, sent in its turn and never repeated. Ignores the body of a success.

        :raises Unavailable: it may have taken effect all the same.
        """
        await self._gate.check(APP)
        async with self._lanes.turn(APP, Write.to("POST", path)):
            await self._sleep_if_low(APP)
            await self._open_as_app(purpose).rest("POST", path, refusals=range(200, 300))

    async def items(
        self,
        installation_id: int,
        path: str,
        purpose: str,
        query: Mapping[str, str | int] | None = None,
        key: str | None = None,
    ) -> list[object]:
        """All items of a list, from all its pages, or an error; never only some of them.

        Pages are requested without ETag, because a full last page does not change when the next one appears.

        :param key: the field with the items beside ``total_count``, if the pages are objects.
        :raises Unavailable: a page failed or is not a list, the pages do not end, or items are missing by GitHub's
            count.
        """
        url: str | None = _add_query(path, {**(query or {}), "per_page": PAGE})
        seen: set[str] = set()
        items: list[object] = []
        total = 0
        while url is not None:
            if url in seen or len(seen) == MAX_PAGES:
                raise bad_answer(purpose, "pages without an end")
            seen.add(url)
            page, url = await self._page(installation_id, url, purpose)
            part, total = read_items(page, key, purpose)
            items += part
        if len(items) < total:
            raise bad_answer(purpose, f"{len(items)} items of {total}")
        return items

    async def tail(self, installation_id: int, path: str, purpose: str, most: int) -> Tail:
        """The end of a file on another host. GitHub answers with its address; the App's token is not sent there.

        :param most: bytes at most.
        :raises NotFound: GitHub or the other host does not have it (any more).
        """

        async def read() -> Tail:
            response = await self._read(
                installation_id, purpose, lambda request: request.rest("GET", path, refusals=(302,))
            )
            address = response.answer.headers.get("location")
            if address is None:
                raise bad_answer(purpose, "no address of the file")
            async with self._reads:
                kept = await self._transport.tail(address, most, purpose)
            if kept.status in {404, 410}:
                raise to_error(Answer(kept.status, {}, NO_BODY), purpose)
            if kept.status != 200:  # an address is valid for a minute; the next one may work
                raise Unavailable(f"Could not {purpose}: the host that GitHub pointed to answered {kept.status}.")
            return kept

        return await retry_read(read, self._sleep)

    async def write(self, installation_id: int, method: str, path: str, purpose: str, body: JsonValue) -> object:
        """One write, sent in its turn and never repeated, except after a 401, which had no effect.

        :raises Unavailable: it may have taken effect all the same.
        """
        return (await self.attempt(installation_id, method, path, purpose, body)).data

    async def attempt(
        self,
        installation_id: int,
        method: str,
        path: str,
        purpose: str,
        body: JsonValue,
        refusals: Collection[int] = (),
        still: Stop = never_stop,
    ) -> Response:
        """One write like :meth:`write`, with the whole answer.

        :param refusals: statuses that are returned and not raised, unless they are a rate limit.
        :param still: called when it is this write's turn; if it raises, nothing is sent.
        :raises Unavailable: it may have taken effect all the same.
        """
        return await self._write_in_turn(
            installation_id,
            purpose,
            Write.to(method, path),
            lambda request: request.rest(method, path, body, refusals=refusals),
            still,
        )

    async def graphql(
        self,
        repository: RepositoryRef,
        document: Document,
        variables: Mapping[str, JsonValue],
        purpose: str,
        still: Stop = never_stop,
    ) -> object:
        """The data of a GraphQL answer. A query may be repeated; a mutation is sent in its turn, once.

        :param repository: what it is about; a mutation takes a turn of this repository.
        :param still: called when it is a mutation's turn; if it raises, nothing is sent.
        :raises CodeHostError: also for errors that GraphQL reports with status 200.
        """
        payer = repository.installation_id
        if document.is_mutation:
            write = Write(repository_path(repository))  # none of ours creates content
            return await self._write_in_turn(
                payer, purpose, write, lambda request: request.ask_graphql(document, variables), still
            )

        async def read() -> object:
            return await self._read(payer, purpose, lambda request: request.ask_graphql(document, variables))

        return await retry_read(read, self._sleep)

    async def _write_in_turn(
        self, installation_id: int, purpose: str, write: Write, send: Send[T], still: Stop = never_stop
    ) -> T:
        await self._gate.check(installation_id)
        async with self._lanes.turn(installation_id, write):
            await self._sleep_if_low(installation_id)
            await self._stop()
            await still()
            return await self._send_authorised(installation_id, purpose, send)

    async def _page(self, installation_id: int, url: str, purpose: str) -> tuple[object, str | None]:
        async def read() -> tuple[object, str | None]:
            response = await self._read(installation_id, purpose, lambda request: request.rest("GET", url))
            return response.data, response.following

        return await retry_read(read, self._sleep)

    async def _read(self, installation_id: int, purpose: str, send: Send[T]) -> T:
        if is_looking_on():
            self._gate.keep_for_work(installation_id)
        await self._sleep_if_low(installation_id)
        async with self._reads:
            return await self._send_authorised(installation_id, purpose, send)

    async def _send_authorised(self, installation_id: int, purpose: str, send: Send[T]) -> T:
        """Sends with the installation's token, and once more with a new one if GitHub refuses it.

        A token keeps the permissions it was made with, so after a refusal the next request gets a new one.
        """
        token = await self.tokens.get(installation_id)
        try:
            return await send(Request(self._channel, installation_id, purpose, token=token))
        except Unauthorized:
            self.tokens.drop(installation_id, token)
        except Forbidden:
            self.tokens.drop(installation_id, token)
            raise
        token = await self.tokens.get(installation_id)
        return await send(Request(self._channel, installation_id, purpose, token=token))

    def _open_as_app(self, purpose: str) -> Request:
        if self._signature is None:
            raise Forbidden(f"Could not {purpose}: only an App can, and this is a person's token.")
        return Request(self._channel, APP, purpose, jwt=self._signature.make())

    async def _sleep_if_low(self, installation_id: int) -> None:
        pause = self._gate.pause_s(installation_id)
        if pause > 0:
            await self._sleep(pause)


def _add_query(path: str, query: Mapping[str, str | int] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def repository_path(repository: RepositoryRef) -> str:
    """A repository's path below the API's address."""
    return f"repos/{quote_segment(repository.owner)}/{quote_segment(repository.name)}"


def require_same(repository: RepositoryRef, found_id: int) -> None:
    """:raises NotFound: the name belongs to another repository now."""
    if found_id != repository.id:
        raise NotFound(
            f"{repository.full_name} is another repository now: it was renamed or deleted, and its name was reused."
        )


def quote_segment(text: str) -> str:
    """A name as one segment of a path: it can neither add segments nor lead elsewhere.

    :raises ValueError: it is empty, ``.`` or ``..``.
    """
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} cannot be part of an address.")
    return quote(text, safe="")


def read_items(page: object, key: str | None, purpose: str) -> tuple[list[object], int]:
    """What a page of a list holds, and how many items GitHub counts on all its pages; 0 where it does not say.

    :raises Unavailable: it is no page of a list.
    """
    total = 0
    if key is not None:
        if not isinstance(page, dict):
            raise bad_answer(purpose, "a page that is not an object")
        fields = cast("dict[str, object]", page)
        page, count = fields.get(key), fields.get("total_count")
        if not isinstance(count, int):
            raise bad_answer(purpose, "a page without total_count")
        total = count
    if not isinstance(page, list):
        raise bad_answer(purpose, "a page that is not a list")
    return cast("list[object]", page), total


@dataclass(frozen=True)
class CachedAnswer:
    etag: str
    answer: Answer


class EtagCache:
    """The most recently used answers. The installation is part of the key, so none is ever served another's answer."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[tuple[int, str], CachedAnswer] = OrderedDict()

    def find(self, installation_id: int, url: str) -> CachedAnswer | None:
        seen = self._entries.get((installation_id, url))
        if seen is not None:
            self._entries.move_to_end((installation_id, url))
        return seen

    def keep(self, installation_id: int, url: str, answer: Answer) -> None:
        before = self._entries.pop((installation_id, url), None)
        self._bytes -= len(before.answer.body) if before else 0
        etag = answer.headers.get("etag")
        if not etag or answer.status != 200 or len(answer.body) > MAX_BODY:
            return
        self._entries[installation_id, url] = CachedAnswer(etag, answer)
        self._bytes += len(answer.body)
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= len(oldest.answer.body)
