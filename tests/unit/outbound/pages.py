"""A local server that answers byte by byte as a test wants it, and certificates for it."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bot.outbound import LIMITS, Allowance, OutboundClient, OutboundLimits
from github.addresses import Resolve

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]
LOCAL = Allowance.parse("127.0.0.0/8, ::1")
"""What a test allows that reads from a server of its own."""


@dataclass
class Pages:
    """What a server answers, by the path with its query, and what it was asked.

    :param heard: the heads of the requests, in order.
    :param names: that TLS was asked for.
    :param connections: that were made.
    """

    port: int
    by_path: dict[str, bytes | Write]
    heard: list[str] = field(default_factory=list[str])
    names: list[str | None] = field(default_factory=list[str | None])
    connections: int = 0

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


def answer(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """A whole answer; ``content_type`` in ``headers`` is ``Content-Type``."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str, status: int = 302) -> bytes:
    return answer(b"elsewhere", status, location=location)


@asynccontextmanager
async def serve_pages(
    by_path: Mapping[str, bytes | Write], host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Pages]:
    """A server while the context lasts. A path that is not named is answered 404."""
    pages = Pages(port, dict(by_path))
    if tls is not None:
        tls.sni_callback = lambda _, name, __: pages.names.append(name)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pages.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                pages.heard.append(head)
                said = pages.by_path.get(head.split()[1], answer(b"", 404))
                if isinstance(said, bytes):
                    writer.write(said)
                    await writer.drain()
                else:
                    await said(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    pages.port = server.sockets[0].getsockname()[1]
    try:
        yield pages
    finally:
        server.close()


@asynccontextmanager
async def open_client(
    allowed: Allowance = LOCAL,
    resolve: Resolve | None = None,
    trust: ssl.SSLContext | None = None,
    limits: OutboundLimits = LIMITS,
) -> AsyncGenerator[OutboundClient]:
    """A client that may read from this machine, if nothing else is said."""
    client = OutboundClient(allowed, resolve, trust, limits)
    try:
        yield client
    finally:
        client.close()


class Names:
    """A resolver whose answers change from one question to the next; the last one stays.

    :param answers: for each host, the addresses of the first question, of the second one and so on.
    """

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._answers = {name.replace("_", "."): [*each] for name, each in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._answers:
            raise OSError
        left = self._answers[host]
        return left.pop(0) if len(left) > 1 else left[0]


def make_certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server with a certificate of this name uses, and what a client that trusts it does."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(pem + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=pem.decode())
