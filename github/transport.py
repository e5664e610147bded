"""Sends one HTTP request to GitHub: no credential leaves the API's origin, and no redirect leads inside."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.request import getproxies, proxy_bypass

import httpx2

from domain.errors import Unavailable
from github.addresses import Reach, Resolve, classify, load_trusted, resolve_host, unwrap


def choose_address(addresses: Collection[str], of_api: Collection[str]) -> str | None:
    """The address to connect to; None if any of them belongs to this machine, its link or a private network.

    Connect to this address and not to the name, which could resolve to another one next time.

    :param of_api: the addresses of GitHub's API. If they are private, the host that keeps its logs may be, too.
    """
    inner_too = bool(of_api) and all(classify(unwrap(each)) is Reach.private for each in of_api)
    allowed = {Reach.public, Reach.private} if inner_too else {Reach.public}
    if not all(classify(unwrap(each)) in allowed for each in addresses):
        return None
    return next(iter(addresses), None)


CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0
TOTAL_TIMEOUT_S = 60.0  # the read time-out starts again with every byte of a slow body
MAX_CONNECTIONS = 40
MAX_REDIRECTS = 3

_FOLLOWED_FOR_READS = frozenset({301, 302, 307, 308})
_FOLLOWED_FOR_WRITES = frozenset({307, 308})  # 301 and 302 would turn the write into a read


@dataclass(frozen=True)
class Call:
    """One request to GitHub.

    :param purpose: completes "Could not …".
    :param url: absolute.
    :param body: JSON, already encoded.
    :param is_led_away: a 302 is the answer, because another host keeps the content.
    """

    purpose: str
    method: str
    url: str
    body: bytes = b""
    is_led_away: bool = False


@dataclass(frozen=True)
class Answer:
    """GitHub's raw answer. Header names are compared without case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Tail:
    """The end of a file that another host keeps for GitHub.

    :param is_cut: there is more before it.
    """

    status: int
    end: bytes
    is_cut: bool


class Transport:
    """An HTTP/1.1 connection pool to one GitHub.

    :param api_url: absolute address of the API, without a final slash.
    :param resolve: finds the numeric addresses of a host.
    :param connections: opens and keeps the connections; None: over the network.
    """

    def __init__(
        self, api_url: str, resolve: Resolve = resolve_host, connections: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._origin = _origin(httpx2.URL(api_url))
        self._resolve = resolve
        self._http = httpx2.AsyncClient(
            verify=load_trusted(),
            timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS // 2),
            follow_redirects=False,
            transport=connections,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call, headers: Mapping[str, str]) -> Answer:
        """The answer to ``call``, whatever its status.

        :raises Unavailable: there was no complete answer, or it pointed to another origin. A write may have happened.
        """
        url = self._own_url(httpx2.URL(call.url), call.purpose)
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._once(call, url, headers)
            target = None if call.is_led_away and answer.status == 302 else _redirect(call.method, answer)
            if target is None:
                return answer
            url = self._own_url(_join(url, target), call.purpose)
        raise Unavailable(f"Could not {call.purpose}: GitHub redirected more than {MAX_REDIRECTS} times.")

    async def tail(self, address: str, most: int, purpose: str) -> Tail:
        """The end of a file on another host. Sends no credential and follows no redirect.

        :param address: where GitHub points to; it is enough to get the file.
        :param most: bytes at most.
        :raises Unavailable: there was no complete answer, or the address is not safe.
        """
        request = await self._build_request(self._foreign_url(address, purpose), purpose)
        end = bytearray()
        is_cut = False
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT_S), self._stream(request) as response:
                async for part in response.aiter_bytes():
                    end += part
                    is_cut = is_cut or len(end) > most
                    del end[: max(0, len(end) - most)]
        except (httpx2.TimeoutException, TimeoutError):
            raise Unavailable(f"Could not {purpose}: the host that GitHub pointed to did not answer in time.") from None
        except httpx2.HTTPError as error:  # without its cause: that holds the address, which is a credential itself
            kind = type(error).__name__
            raise Unavailable(
                f"Could not {purpose}: the host that GitHub pointed to broke the connection ({kind})."
            ) from None
        return Tail(response.status_code, bytes(end), is_cut)

    @asynccontextmanager
    async def _stream(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Response]:
        response = await self._http.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def _build_request(self, url: httpx2.URL, purpose: str) -> httpx2.Request:
        """A request to the address that was checked, with the host name that GitHub gave.

        :raises Unavailable: the host is in the network Forge runs in, or has no address.
        """
        if _origin(url) == self._origin or _is_proxied(url):
            return self._http.build_request("GET", url)
        try:
            found = choose_address(await self._addresses(url.host), await self._addresses(self._origin[1]))
        except OSError:
            raise Unavailable(f"Could not {purpose}: the host that GitHub pointed to has no address.") from None
        if found is None:
            raise Unavailable(
                f"Could not {purpose}: GitHub pointed into the network that Forge runs in, which is never followed."
            )
        extensions = {"sni_hostname": url.host}
        headers = {"Host": url.netloc.decode("ascii")}
        return self._http.build_request("GET", url.copy_with(host=found), headers=headers, extensions=extensions)

    async def _addresses(self, host: str) -> Sequence[str]:
        return await self._resolve(host, 443)

    async def _once(self, call: Call, url: httpx2.URL, headers: Mapping[str, str]) -> Answer:
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT_S):
                response = await self._http.request(call.method, url, headers=headers, content=call.body)
        except (httpx2.TimeoutException, TimeoutError):
            raise Unavailable(f"Could not {call.purpose}: GitHub did not answer in time.") from None
        except httpx2.HTTPError as error:  # without its cause: that holds the request, and so the token
            kind = type(error).__name__
            raise Unavailable(f"Could not {call.purpose}: the connection to GitHub broke ({kind}).") from None
        return Answer(response.status_code, response.headers, response.content)

    def _own_url(self, url: httpx2.URL | None, purpose: str) -> httpx2.URL:
        if url is None or _origin(url) != self._origin or url.userinfo:
            raise Unavailable(
                f"Could not {purpose}: GitHub pointed to an address outside its API, which is never followed.",
                "Check FORGE_GITHUB_API_URL.",
            )
        return url

    def _foreign_url(self, address: str, purpose: str) -> httpx2.URL:
        """The address, if it uses https or is the API's own host."""
        url = _join(httpx2.URL(), address)
        if url is None or not url.host or url.userinfo or (url.scheme != "https" and _origin(url) != self._origin):
            raise Unavailable(f"Could not {purpose}: GitHub pointed to an address that is not safe.")
        return url


def _is_proxied(url: httpx2.URL) -> bool:
    """Whether the operator's proxy makes the connection; it resolves the address and has its own rules."""
    return bool(getproxies().get(url.scheme)) and not proxy_bypass(url.host)


def _redirect(method: str, answer: Answer) -> str | None:
    followed = _FOLLOWED_FOR_READS if method == "GET" else _FOLLOWED_FOR_WRITES
    return answer.headers.get("location") if answer.status in followed else None


def _join(url: httpx2.URL, target: str) -> httpx2.URL | None:
    try:
        return url.join(target)
    except httpx2.InvalidURL:
        return None


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)
