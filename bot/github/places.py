"""Decides which addresses Forge may connect to if GitHub points to another host: never the network Forge runs in."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numeric addresses of a host."""


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The numeric addresses of a host, as the system knows them.

    :raises OSError: it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]).partition("%")[0] for *_, place in found]


def choose_address(addresses: Collection[str], of_api: Collection[str]) -> str | None:
    """The address to connect to; None if any of them belongs to this machine, its link or a private network.

    Connect to this address and not to the name, which could resolve to another one next time.

    :param of_api: the addresses of GitHub's API. If they are private, the host that keeps its logs may be, too.
    """
    inner_too = bool(of_api) and all(_is_inner(_plain(each)) for each in of_api)
    found = [_plain(each) for each in addresses]
    if not found or not all(_is_public(each) or (inner_too and _is_inner(each)) for each in found):
        return None
    return str(found[0])


def _plain(address: str) -> Address:
    """The address; an IPv4 address within an IPv6 one is taken out."""
    found = ip_address(address)
    mapped = (found.ipv4_mapped or found.sixtofour) if isinstance(found, IPv6Address) else None
    return mapped or found


def _is_public(address: Address) -> bool:
    return address.is_global and not address.is_multicast


def _is_inner(address: Address) -> bool:
    """Whether it is in a private network, but not this machine or its link, where metadata services are."""
    return address.is_private and not (
        address.is_loopback or address.is_link_local or address.is_unspecified or address.is_reserved
    )
