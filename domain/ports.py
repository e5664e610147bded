"""What a lower layer needs from above: other addresses, the clock and the purse."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from domain.money import Receipt, Refusal, Reservation


@dataclass(frozen=True)
class OutboundAnswer:
    """What an address answered at the end of its redirects.

    :param body: decompressed, at most 1 MiB; of a post, only its beginning.
    :param seconds: from the look-up of its name to the last byte.
    :param retry_after: the header of this name, to a post.
    """

    status: int
    body: bytes
    seconds: float
    retry_after: str = ""


class Outbound(Protocol):
    """The addresses that a repository's configuration names."""

    async def get(self, url: str, parameters: Mapping[str, str] = MappingProxyType({})) -> OutboundAnswer:
        """The answer of an address, whatever its status. Nothing is sent along that tells who asks.

        :param url: http or https, without credentials.
        :param parameters: are added to its query.
        :raises OutboundRefused: Forge may not ask it, or where it redirects to.
        :raises OutboundFailed: there was no whole answer in time, or it was too large.
        """
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> OutboundAnswer:
        """Send something there; the answer, whatever its status. No redirect is followed.

        :param url: https, or http where the operator allows the host; without credentials.
        :param headers: such as what the body is, and its signature.
        :raises OutboundRefused: Forge may not send it there.
        :raises OutboundFailed: there was no answer in time; what was sent may have arrived.
        """
        ...


class Clock(Protocol):
    """The time, so that tests can move it."""

    def now(self) -> datetime:
        """Now, with time zone UTC."""
        ...


class ModelBudget(Protocol):
    """The money of one phase of one run: reserved before each call of a model, settled after it."""

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        """Set money aside for a call, unless a limit would be passed.

        :param step: the step the call belongs to. An earlier reservation of the same step that was never settled
            is settled as lost: the process died while the call was in flight.
        :param amount: the call's worst case in micro-USD.
        """
        ...

    async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
        """Replace a reservation by what the call really cost; what is charged, in micro-USD."""
        ...
