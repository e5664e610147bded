"""Decides which addresses Forge may connect to if GitHub points to another host: never the network Forge runs in."""

from collections.abc import Collection

from bot.addresses import Reach, classify, unwrap


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
