"""Decides which addresses may be asked: those of the internet, and inner ones that the operator allows."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from bot.addresses import Reach, classify, unwrap

SETTING = "FORGE_OUTBOUND_ALLOW"

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*")
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
            elif _HOST.fullmatch(part):
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


def _parse_network(part: str, place: int) -> IPv4Network | IPv6Network:
    try:
        return ip_network(part)
    except ValueError as error:
        why = (
            "it has bits of a host set" if "host bits" in str(error) else "write it such as 10.2.0.0/16 or fd00:1::/32"
        )
        raise ValueError(f"entry {place} is not a network: {why}") from None
