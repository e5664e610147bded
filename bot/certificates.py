"""The certificates that Forge trusts, for every client that speaks TLS."""

from functools import cache
from ssl import SSLContext

import httpx2


@cache
def load_trusted() -> SSLContext:
    """The trusted certificates; read once, because that takes 50 ms."""
    return httpx2.create_ssl_context()
