"""A real registry of Python packages over HTTP, which is a proxy to nothing else, and a tiny package in it."""

import asyncio
import base64
import hashlib
import io
import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from workspace.sandbox.registry_proxy import Address

WHEEL = "tiny-1.0-py3-none-any.whl"


@dataclass
class Registry:
    """Where it listens, the first line of every request, and how many connections it has and had at once at most."""

    address: Address = field(default=Address("127.0.0.1", 0))
    requests: list[str] = field(default_factory=list[str])
    connections: int = 0
    most: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer; who asks for nothing is waited for."""
        self.connections += 1
        self.most = max(self.most, self.connections)
        self.closed.clear()
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line = head.partition("\r\n")[0]
            self.requests.append(line)
            status, body = _answer_request(*line.split(" ")[:2])
            described = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
            writer.write(f"{described}Content-Type: text/html\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # who asked is gone
        finally:
            writer.close()
            self.connections -= 1
            if not self.connections:
                self.closed.set()


def _answer_request(method: str, target: str) -> tuple[str, bytes]:
    if method == "CONNECT":
        return "403 Forbidden", b"not on the list"
    path = target.partition("://")[2].partition("/")[2] if "://" in target else target[1:]
    match path:
        case "hello":
            return "200 OK", b"hello from the registry"
        case "simple/tiny/":
            return "200 OK", f'<!DOCTYPE html><html><body><a href="/{WHEEL}">{WHEEL}</a></body></html>'.encode()
        case _ if path == WHEEL:
            return "200 OK", wheel()
        case _:
            return "404 Not Found", b""


def wheel() -> bytes:
    """A package ``tiny`` with nothing but a greeting."""
    files = {
        "tiny.py": b"GREETING = 'installed'\n",
        "tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files["tiny-1.0.dist-info/RECORD"] = f"{record}tiny-1.0.dist-info/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@asynccontextmanager
async def serve_registry() -> AsyncGenerator[Registry]:
    """A registry that listens on the loopback of this machine."""
    registry = Registry()
    server = await asyncio.start_server(registry.answer, "127.0.0.1", 0, backlog=512)
    async with server:
        registry.address = Address(*server.sockets[0].getsockname()[:2])
        yield registry
