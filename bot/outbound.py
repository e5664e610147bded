"""Asks an address that a repository's configuration names, so that nobody reaches this machine or its network by it.

The name is resolved here, once; the connection goes to a number that was looked at, whatever the name means a moment
later. Every redirect is looked at in the same way. Nothing of the environment and nothing of an earlier answer is used:
no proxy, no password file, no cookie, no open connection.
"""

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import httpx2
import structlog

from domain.deployments.readings import NO_PARAMETERS
from domain.errors import OutboundFailed, OutboundRefused
from domain.ports import OutboundAnswer
from github.addresses import Reach, Resolve, classify, load_trusted, resolve_host, unwrap

SETTING = "FORGE_OUTBOUND_ALLOW"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAMED_HOST = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*")
_NUMERIC = re.compile(r"[0-9a-f.]*:[0-9a-f.:]*|[0-9.]+|0x[0-9a-f]+")
_BY_NAME = frozenset({Reach.private, Reach.shared, Reach.loopback})
"""What the name of a host can allow. The rest is allowed by its number alone, for a name can lead there by mistake."""


@dataclass(frozen=True)
class Allowance:
    """What an operator allows besides the internet.

    :param hosts: names in small letters; ``*.example`` is every name below ``example``, but not ``example``.
    :param networks: whose addresses may be asked whatever name leads there.
    """

    hosts: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Allowance":
        """The allowance of ``metrics.internal, *.svc.cluster.local, 10.2.0.0/16``.

        :raises ValueError: a part is neither a host nor a network; the message completes "… is wrong".
        """
        hosts: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for place, part in enumerate(text.split(","), 1):
            part = part.strip().lower().removesuffix(".")
            if _NUMERIC.fullmatch(part.partition("/")[0]):
                networks.append(_parse_network(part, place))
            elif _NAMED_HOST.fullmatch(part):
                hosts.add(part)
            elif part:
                raise ValueError(
                    f"entry {place} is neither a host nor a network; write hosts without http:// and port, such as "
                    "metrics.internal or *.svc.cluster.local, and networks such as 10.2.0.0/16, separated by commas"
                )
        return cls(frozenset(hosts), tuple(networks))

    def find_obstacle(self, host: str, address: str) -> Reach | None:
        """What kind of address it is that may not be asked; None if it may.

        :param host: the name that leads there, as ASCII.
        :param address: a number that the name was resolved to.
        """
        reach = classify(unwrap(address))
        if reach is Reach.public or self._holds(address):
            return None
        return None if reach in _BY_NAME and self._names(host) else reach

    def covers(self, host: str, address: str) -> bool:
        """Whether the operator named a host or its number, be it of the internet or not."""
        return self._names(host) or self._holds(address)

    def _holds(self, address: str) -> bool:
        return any(each in network for network in self.networks for each in (unwrap(address), ip_address(address)))

    def _names(self, host: str) -> bool:
        name = host.lower().removesuffix(".")
        labels = name.split(".")
        parents = {"*." + ".".join(labels[start:]) for start in range(1, len(labels))}
        return not self.hosts.isdisjoint({name, *parents})


NOTHING = Allowance()


log = structlog.get_logger(__name__)

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+", re.IGNORECASE)
_HEADERS = {"User-Agent": "Forge", "Accept": "*/*", "Connection": "close"}
_COMPRESSED, _UNCOMPRESSED = {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}


@dataclass(frozen=True)
class OutboundLimits:
    """What one request may take.

    :param connecting: seconds for TCP, and again for TLS, with each of a host's addresses.
    :param total: seconds from the look-up of the name to the last byte, redirects included.
    :param bytes: of a body, compressed and decompressed.
    :param redirects: that are followed.
    :param addresses: of one host that are tried.
    :param at_once: requests; more of them wait, and their time does not run meanwhile.
    :param glance: bytes of the answer to a post, of which the rest is left unread.
    """

    connecting: float = 5.0
    total: float = 10.0
    bytes: int = 1 << 20
    redirects: int = 3
    addresses: int = 4
    at_once: int = 20
    glance: int = 500


LIMITS = OutboundLimits()


@dataclass(frozen=True)
class _Question:
    """What an address is asked; with a body it is posted."""

    headers: Mapping[str, str]
    body: bytes | None = None


_GET = _Question(_COMPRESSED)


@dataclass(frozen=True)
class _Hop:
    """The answer of one address; with a location it is not the last one."""

    status: int
    body: bytes
    location: str | None
    retry_after: str = ""


class OutboundClient:
    """Asks addresses over HTTP/1.1.

    :param allowed: what the operator allows besides the internet.
    :param resolve: finds the numeric addresses of a host; None: the system does.
    :param trust: whose certificates are accepted; None: those that the system trusts.
    """

    def __init__(
        self,
        allowed: Allowance = NOTHING,
        resolve: Resolve | None = None,
        trust: ssl.SSLContext | None = None,
        limits: OutboundLimits = LIMITS,
    ) -> None:
        self._allowed = allowed
        # Threads of its own: a name server that does not answer must not hold up what else waits in threads.
        self._threads = ThreadPoolExecutor(limits.at_once, "outbound")
        self._resolve = resolve or partial(resolve_host, threads=self._threads)
        self._trust = trust or load_trusted()
        self._limits = limits
        self._places = asyncio.Semaphore(limits.at_once)

    def close(self) -> None:
        """Give back its threads; one that still waits for a name server ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def get(self, url: str, parameters: Mapping[str, str] = NO_PARAMETERS) -> OutboundAnswer:
        """The answer of an address, whatever its status.

        :raises OutboundRefused: Forge may not ask it, or where it redirects to.
        :raises OutboundFailed: there was no whole answer in time, or it was too large.
        """
        target = _require_safe(_parse(url))
        target = target.copy_merge_params(dict(parameters)) if parameters else target
        return await self._take_time(target, self._follow)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> OutboundAnswer:
        """Send something, and read the beginning of the answer, whatever its status. No redirect is followed.

        :param headers: beside those of every request.
        :raises OutboundRefused: Forge may not send it there; over http only to what the operator allows.
        :raises OutboundFailed: there was no answer in time; what was sent may have arrived.
        """
        target = _require_safe(_parse(url))
        question = _Question({**_UNCOMPRESSED, **headers}, body)
        return await self._take_time(target, lambda there, until: self._ask(there, until, question))

    async def _take_time(self, url: httpx2.URL, ask: Callable[[httpx2.URL, float], Awaitable[_Hop]]) -> OutboundAnswer:
        """The answer, if there is one in time and a place to ask from."""
        async with self._places:
            began = _now()
            try:
                async with asyncio.timeout(self._limits.total):
                    last = await ask(url, began + self._limits.total)
            except TimeoutError:
                whole = f"{self._limits.total:g} seconds"
                raise OutboundFailed(f"{_name(url)} gave no whole answer within {whole}.") from None
            return OutboundAnswer(last.status, last.body, _now() - began, last.retry_after)

    async def _follow(self, url: httpx2.URL, until: float) -> _Hop:
        """The answer at the end of all redirects.

        :param until: when the loop's clock shows it, there is no more time.
        """
        for _ in range(self._limits.redirects + 1):
            hop = await self._ask(url, until)
            if hop.location is None:
                return hop
            url = _redirect(url, hop.location)
        raise OutboundFailed(f"{_name(url)} is behind more than {self._limits.redirects} redirects.")

    async def _ask(self, url: httpx2.URL, until: float, question: _Question = _GET) -> _Hop:
        """The answer of the first of a host's addresses that accepts a connection."""
        failure = OutboundFailed(f"{_name(url)} has no address.")
        for address in await self._find_addresses(url):
            self._require_private(url, address, question)
            try:
                return await self._send(url, address, until, question)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = OutboundFailed(f"{_name(url)} could not be connected to: {_explain(error)}.")
            except httpx2.HTTPError as error:  # without its cause: that holds the whole address
                kind = type(error).__name__
                raise OutboundFailed(f"The connection to {_name(url)} broke ({kind}).") from None
        raise failure

    async def _find_addresses(self, url: httpx2.URL) -> list[str]:
        """The numbers of a host, if every single one may be asked.

        :raises OutboundRefused: one may not.
        """
        host = url.raw_host.decode("ascii")
        try:
            found = list(dict.fromkeys(await self._resolve(host, _port(url))))
        except OSError:
            raise OutboundFailed(f"The host of {_name(url)} cannot be found.") from None
        for address in found:
            obstacle = self._allowed.find_obstacle(host, address)
            if obstacle is not None:
                log.warning("outbound.refused", host=host, address=address, reach=obstacle.value)
                raise OutboundRefused(
                    f"{_name(url)} leads to an address that is not of the internet ({obstacle}).",
                    f"Forge asks it only if its operator allows that ({SETTING}).",
                )
        return found[: self._limits.addresses]

    def _require_private(self, url: httpx2.URL, address: str, question: _Question) -> None:
        """Send nothing over http, where everybody on the way can read it, but to what the operator allows.

        :raises OutboundRefused: it would be.
        """
        is_open = question.body is not None and url.scheme == "http"
        if is_open and not self._allowed.covers(url.raw_host.decode("ascii"), address):
            advice = f"Use https, or let the operator allow this host ({SETTING})."
            raise OutboundRefused(f"Nothing is sent to {_name(url)}, because everybody on the way can read it.", advice)

    async def _send(self, url: httpx2.URL, address: str, until: float, question: _Question) -> _Hop:
        """One request to one number, in a connection of its own."""
        host = url.raw_host.decode("ascii")
        # It waits for TCP, then for TLS. Cancelled meanwhile, the library would not close what it has opened.
        connecting = max(0.0, min(self._limits.connecting, (until - _now()) / 2))
        waits = {"connect": connecting, **dict.fromkeys(("read", "write", "pool"), self._limits.total)}
        request = httpx2.Request(
            "GET" if question.body is None else "POST",
            url.copy_with(host=address),
            headers={"Host": url.netloc.decode("ascii"), **_HEADERS, **question.headers},
            content=question.body,
            extensions={"timeout": waits, "sni_hostname": host.removesuffix(".")},
        )
        # No pool: a connection whose certificate is that of one name would be used for another at the same number.
        async with httpx2.AsyncHTTPTransport(verify=self._trust, trust_env=False) as transport:
            response = await transport.handle_async_request(request)
            try:
                if question.body is not None:
                    retry_after = response.headers.get("retry-after", "")
                    return _Hop(response.status_code, await self._glance(response), None, retry_after)
                location = response.headers.get("location") if response.status_code in _REDIRECTS else None
                body = b"" if location is not None else await self._read(response, _name(url))
            finally:
                await response.aclose()
        return _Hop(response.status_code, body, location)

    async def _glance(self, response: httpx2.Response) -> bytes:
        """The beginning of a body that only explains; what breaks meanwhile changes nothing."""
        body = bytearray()
        with suppress(httpx2.HTTPError):
            async for part in response.aiter_raw():
                body += part[: self._limits.glance - len(body)]
                if len(body) >= self._limits.glance:
                    break
        return bytes(body)

    async def _read(self, response: httpx2.Response, name: str) -> bytes:
        """The decompressed body. The raw bytes are read, because a small piece of them can become a gigabyte."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip"}:
            raise OutboundFailed(f"{name} compressed its answer in a way that was not asked for.")
        return await _collect(response.aiter_raw(), "gzip" in encoding, self._limits.bytes, name)


async def _collect(parts: AsyncIterator[bytes], is_compressed: bool, most: int, name: str) -> bytes:
    """The body, decompressed no further than ``most`` bytes."""
    unzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if is_compressed else None
    body, received = bytearray(), 0
    async for part in parts:
        received += len(part)
        try:
            body += part if unzip is None else unzip.decompress(part, most + 1 - len(body))
        except zlib.error:
            raise OutboundFailed(f"{name} gave an answer that cannot be decompressed.") from None
        if max(received, len(body)) > most:
            raise OutboundFailed(f"{name} answered with more than {most:,} bytes.")
    if unzip is not None and received and (not unzip.eof or unzip.unused_data):
        raise OutboundFailed(f"{name} gave an answer that cannot be decompressed.")
    return bytes(body)


def _parse(url: str) -> httpx2.URL:
    try:
        return httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise OutboundRefused("What should be read is not an address.", "Write https://HOST/PATH.") from None


def _require_safe(url: httpx2.URL) -> httpx2.URL:
    """The address, if it has the form of one that may be asked.

    :raises OutboundRefused: it has not.
    """
    if url.scheme not in {"http", "https"}:
        raise OutboundRefused("An address that Forge reads must begin with https:// or http://.")
    if not _HOST.fullmatch(url.raw_host.decode("ascii")) or not 0 < _port(url) < 1 << 16:
        raise OutboundRefused("An address that Forge reads must name a host.", "Write https://HOST/PATH.")
    if url.userinfo:
        raise OutboundRefused(f"{_name(url)} must not be read with a user name or password in its address.")
    return url


def _redirect(url: httpx2.URL, location: str) -> httpx2.URL:
    """Where an address redirects to.

    :raises OutboundRefused: Forge does not follow there.
    """
    try:
        target = url.join(location)
    except (httpx2.InvalidURL, ValueError):
        raise OutboundFailed(f"{_name(url)} redirects to something that is not an address.") from None
    if url.scheme == "https" and target.scheme == "http":
        raise OutboundRefused(f"{_name(url)} redirects from https to http, which Forge does not follow.")
    return _require_safe(target)


def _name(url: httpx2.URL) -> str:
    """The address without path and query, which may hold secrets."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _now() -> float:
    return asyncio.get_running_loop().time()


def _port(url: httpx2.URL) -> int:
    return {"http": 80, "https": 443}[url.scheme] if url.port is None else url.port


def _explain(error: httpx2.TransportError) -> str:
    """Why there is no connection, from the error beneath."""
    if isinstance(error, httpx2.ConnectTimeout):
        return "it does not answer"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({cause.verify_message.rstrip('.')})"
        if isinstance(cause, ssl.SSLError):
            return "it does not speak TLS as expected"
        cause = cause.__cause__ or cause.__context__
    return "it does not accept connections"


def _parse_network(part: str, place: int) -> IPv4Network | IPv6Network:
    try:
        return ip_network(part)
    except ValueError as error:
        why = (
            "it has bits of a host set" if "host bits" in str(error) else "write it such as 10.2.0.0/16 or fd00:1::/32"
        )
        raise ValueError(f"entry {place} is not a network: {why}") from None
