"""Closes connections that send no request in time; aiohttp itself waits an hour."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

log = structlog.get_logger(__name__)

HEADER_SECONDS = 10.0  # GitHub gives up on a delivery after as many
IDLE_SECONDS = 75.0  # between two requests; longer than proxies keep an idle connection


class Connection(RequestHandler):
    """A connection that is closed if a request's headers do not arrive in time, or no further request comes.

    :param header_seconds: seconds from the connection, or from the first byte of a later request, to the last header.
    """

    __slots__ = ("_header_seconds", "_headers_due")

    def __init__(self, manager: web.Server, *, header_seconds: float, **more: Any) -> None:
        super().__init__(manager, **more)
        self._header_seconds = header_seconds
        self._headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._lacks_headers:
            self._stop_waiting()
        elif self._headers_due is None:
            self._expect_headers()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def log_exception(self, *args: Any, **more: Any) -> None:
        """Logs one line for malformed HTTP, which anybody can send, and a traceback for errors of Forge."""
        error = more.get("exc_info")
        if isinstance(error, HttpProcessingError):
            log.info("http.malformed", why=" ".join(str(error.message).split())[:200])
        else:
            super().log_exception(*args, **more)

    @property
    def _lacks_headers(self) -> bool:
        """Whether it waits for a request; false while one is read or answered."""
        return self._waiter is not None and not self._waiter.done()

    def _expect_headers(self) -> None:
        self._headers_due = asyncio.get_running_loop().call_later(self._header_seconds, self._close_if_waiting)

    def _stop_waiting(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _close_if_waiting(self) -> None:
        self._headers_due = None
        if self._lacks_headers:
            self.force_close()


def connection_factory(server: web.Server, header_seconds: float = HEADER_SECONDS) -> Callable[[], Connection]:
    """Makes a server's connections. Bodies are not decompressed, because the signature covers the bytes as sent."""
    return partial(
        Connection,
        server,
        loop=asyncio.get_running_loop(),
        header_seconds=header_seconds,
        keepalive_timeout=IDLE_SECONDS,
        access_log=None,
        auto_decompress=False,
    )
