"""Finds the numeric addresses of a host, tells those of the internet from inner ones, and says whose TLS is trusted."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from enum import StrEnum
from functools import cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from ssl import SSLContext
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numeric addresses of a host."""


class Reach(StrEnum):
    """From where an address can be reached."""

    public = "public"
    private = "private"  # an inner network
    shared = "a carrier's"  # 100.64.0.0/10, between a carrier and its customers
    loopback = "loopback"
    link_local = "link-local"  # metadata services of clouds answer there
    metadata = "a cloud's own"  # metadata services elsewhere
    multicast = "multicast"
    unspecified = "unspecified"
    reserved = "reserved"


_INTERNET_6 = ip_network("2000::/3")  # all that IANA has given away as global unicast
_NAT64 = ip_network("64:ff9b::/96")
_SHARED = ip_network("100.64.0.0/10")
_THIS_NETWORK = ip_network("0.0.0.0/8")
_METADATA = frozenset(ip_address(each) for each in ("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254"))
"""Azure, Oracle, Alibaba and AWS: addresses that only machines of that cloud reach."""
_NOT_PUBLIC = tuple(ip_network(each) for each in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20"))
"""Registered as not global (RFC 6890 and later); not every release of Python knows them."""


async def resolve_host(host: str, port: int, threads: Executor | None = None) -> Sequence[str]:
    """The numeric addresses of a host, as the system knows them.

    :param threads: what waits for the answer, if not the threads that everything else shares.
    :raises OSError: it has none.
    """
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = await asyncio.get_running_loop().run_in_executor(threads, ask)
    except UnicodeError:  # a label that is empty or longer than 63 letters
        raise socket.gaierror(socket.EAI_NONAME, "not the name of a host") from None
    return [str(place[0]).partition("%")[0] for *_, place in found]


def is_loopback(host: str) -> bool:
    """Whether a host, by name or by number, is this machine as only its own programs reach it."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_heard_on_loopback(listens: str) -> bool:
    """Whether a server at this address of its machine is reached by loopback, too."""
    if is_loopback(listens) or not listens:
        return True
    try:
        return classify(unwrap(listens)) is Reach.unspecified
    except ValueError:  # a name
        return False


_USUAL_PORTS = {"https": ":443", "http": ":80"}


def spell_as_browser(address: str) -> str:
    """An address with its scheme and host as browsers send them in Origin: in small letters, without the usual port."""
    place = urlsplit(address)
    origin = f"{place.scheme}://{place.netloc}"
    port = _USUAL_PORTS.get(place.scheme, "")
    return origin.lower().removesuffix(port) + address[len(origin) :] if place.netloc else address


def is_named(origin: str, host: str) -> bool:
    """Whether browsers and proxies may call an origin so: with or without the usual port.

    :param origin: scheme and host, with a port if it is not the usual one; empty: there is none.
    :param host: the header of that name.
    """
    public = urlsplit(origin)
    place, port = public.netloc.lower(), _USUAL_PORTS.get(public.scheme, "")
    return bool(place) and host.lower() in {place, f"{place}{port}", place.removesuffix(port)}


def find_host_name(host: str) -> str:
    """The name or number in the header Host; empty if there is none, or what no browser sends."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises for what is no number
        return "" if parts.netloc != host or "@" in host else parts.hostname or ""
    except ValueError:
        return ""


def unwrap(address: str) -> Address:
    """The address; an IPv4 address within an IPv6 one (mapped, 6to4, NAT64) is taken out."""
    found = ip_address(address)
    if not isinstance(found, IPv6Address):
        return found
    if found in _NAT64:
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return found.ipv4_mapped or found.sixtofour or found


def classify(address: Address) -> Reach:
    """From where an address can be reached."""
    if address.is_unspecified or address in _THIS_NETWORK:
        return Reach.unspecified
    if address in _METADATA:
        return Reach.metadata
    for reach, is_it in (
        (Reach.loopback, address.is_loopback),
        (Reach.link_local, address.is_link_local),
        (Reach.multicast, address.is_multicast),
        (Reach.shared, address in _SHARED),
        (Reach.reserved, address.is_reserved or any(address in each for each in _NOT_PUBLIC)),
        (Reach.private, address.is_private),
        (Reach.reserved, not address.is_global or (address.version == 6 and address not in _INTERNET_6)),
    ):
        if is_it:
            return reach
    return Reach.public


@cache
def load_trusted() -> SSLContext:
    """The trusted certificates; read once, because that takes 50 ms."""
    import httpx2  # slow, and only who connects needs it

    return httpx2.create_ssl_context()
