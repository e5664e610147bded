"""One version of a small service, as a process of its own: ``service.py VERSION PORT TROUBLE``.

It counts as client libraries do: a counter with a code does not exist before the first such answer. ``TROUBLE`` is
JSON; see :class:`tests.bench.deployments.cases.Trouble`.
"""

import asyncio
import json
import os
import sys
import time

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
WORK = 0.02  # seconds an answer takes


class Service:
    """What it does and what it counted."""

    def __init__(self, version: str, trouble: dict[str, float]) -> None:
        self.version, self.trouble, self.began = version, trouble, 0.0
        self.counts: dict[int, int] = {}
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        self.owed = 0.0  # errors: a share is exactly what the case says, not a draw

    async def answer(self, path: str) -> tuple[int, str]:
        """Status and body."""
        if path == "/metrics":
            return (404, "") if self.trouble.get("mute") else (200, self.render())
        if path == "/health":
            return 200, "ok"
        if path == "/break":
            self.trouble["errors"] = 1.0
            return 200, "broken"
        began = time.monotonic()
        if not self.began:
            self.began = began
            if crash := self.trouble.get("crash"):
                asyncio.get_running_loop().call_later(crash, os._exit, 1)
        delay = self.trouble.get("delay", WORK)
        leak = self.trouble.get("leak", 0)
        if leak and began - self.began > leak:
            delay += 0.02 * (began - self.began - leak)
        await asyncio.sleep(min(delay, 3.0))
        self.owed += self.trouble.get("errors", 0.0)
        status = 500 if self.owed >= 1 else 200
        self.owed -= status == 500
        took = time.monotonic() - began
        self.counts[status] = self.counts.get(status, 0) + 1
        self.buckets[next((place for place, most in enumerate(BUCKETS) if took <= most), len(BUCKETS))] += 1
        self.seconds += took
        return status, self.version

    def render(self) -> str:
        """All figures as Prometheus reads them."""
        lines = ["# TYPE http_requests_total counter"]
        lines += [f'http_requests_total{{code="{code}"}} {count}' for code, count in sorted(self.counts.items())]
        lines.append("# TYPE http_seconds histogram")
        total = 0
        for most, count in zip((*map(str, BUCKETS), "+Inf"), self.buckets, strict=True):
            total += count
            lines.append(f'http_seconds_bucket{{le="{most}"}} {total}')
        lines += [f"http_seconds_sum {self.seconds}", f"http_seconds_count {total}", ""]
        return "\n".join(lines)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer what one connection asks."""
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                status, body = await self.answer(line.split()[1].decode())
                head = f"HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write((head + body).encode())
                await writer.drain()
        except (ConnectionError, IndexError):
            pass
        finally:
            writer.close()


async def main(version: str, port: int, trouble: dict[str, float]) -> None:
    """Serve until the process is ended, or crashes by itself."""
    server = await asyncio.start_server(Service(version, trouble).serve, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])))
