"""Sends signed webhooks as fast as they are answered, or at a fixed rate: `python -m tests.bench.load '{…}'`.

Plain sockets and requests made beforehand, so that it is the server that is measured and not its client. The answer is
one line of JSON: the statuses and how long each request took, in milliseconds.
"""

import asyncio
import collections
import hashlib
import hmac
import json
import sys
import time
import uuid
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

HEAD = (
    "POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: GitHub-Hookshot/bench\r\n"
    "Content-Type: application/json\r\nX-GitHub-Event: {event}\r\nX-GitHub-Delivery: {guid}\r\n"
    "X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {length}\r\n\r\n"
)
_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Load:
    """What to send.

    :param body: file with the payload.
    :param rate: requests per second over all connections; 0 for as fast as they are answered.
    :param told: whether to say what became of each delivery, and to go on where a connection breaks.
    """

    port: int
    secret: str
    event: str
    body: str
    seconds: float
    connections: int = 64
    rate: float = 0
    told: bool = False


@dataclass
class Result:
    """What came back: milliseconds from the first byte sent to the last received, and the statuses."""

    seconds: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    milliseconds: list[float] = field(default_factory=list[float])
    guids: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By status, or ``broken``: which deliveries; if that is to be told."""
    breaks: dict[str, int] = field(default_factory=dict[str, int])
    """Why connections broke, and how often."""
    work: float = 0.0  # seconds of processor time the server took, which other load on the machine changes little
    sending: float = 0.0  # seconds of processor time who sends took

    @property
    def per_second(self) -> float:
        return len(self.milliseconds) / self.seconds

    @property
    def each(self) -> float:
        """Microseconds of the server's processor time per request."""
        return self.work * 1e6 / len(self.milliseconds)

    def percentile(self, share: float) -> float:
        """The time in milliseconds within which this share of the requests was answered."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def send(load: Load) -> Result:
    """Send until the time is over and every request is answered."""
    body = Path(load.body).read_bytes()
    signature = hmac.new(load.secret.encode(), body, hashlib.sha256).hexdigest()
    result, statuses = Result(), collections.Counter[str]()
    guids, breaks = collections.defaultdict[str, list[str]](list), collections.Counter[str]()
    start, worked = time.perf_counter(), time.process_time()

    async def one_connection(number: int) -> None:
        connection: _Connection | None = None
        pause = load.connections / load.rate if load.rate else 0
        turn = start + pause * number / load.connections
        while (now := time.perf_counter()) < start + load.seconds:
            if now < turn:
                await asyncio.sleep(turn - now)
            guid = str(uuid.uuid4())
            head = HEAD.format(event=load.event, guid=guid, signature=signature, length=len(body))
            sent = time.perf_counter()
            try:
                connection = connection or await asyncio.open_connection("127.0.0.1", load.port)
                sent = time.perf_counter()
                status = await _exchange(connection, head.encode() + body)
            except (OSError, asyncio.IncompleteReadError) as error:
                if not load.told:
                    raise
                status = "broken"
                breaks[repr(error)] += 1
            result.milliseconds.append((time.perf_counter() - sent) * 1000)
            statuses[status] += 1
            guids[status].append(guid)
            if connection and status != "202":  # the server closes it
                connection[1].close()
                connection = None
            turn += pause
        if connection:
            connection[1].close()

    await asyncio.gather(*(one_connection(number) for number in range(load.connections)))
    result.seconds, result.statuses = time.perf_counter() - start, dict(statuses)
    result.sending = time.process_time() - worked
    result.guids = dict(guids) if load.told else {}
    result.breaks = dict(breaks)
    return result


async def _exchange(connection: _Connection, request: bytes) -> str:
    """The status of the answer."""
    reader, writer = connection
    writer.write(request)
    status, length = _head(await reader.readuntil(b"\r\n\r\n"))
    await reader.readexactly(length)
    return status


def _head(head: bytes) -> tuple[str, int]:
    lines = head.decode("latin-1").split("\r\n")
    lengths = [line.split(":")[1] for line in lines if line.lower().startswith("content-length:")]
    return lines[0].split(" ")[1], int(lengths[0])


async def from_another_process(load: Load) -> Result:
    """Run the load in a process of its own against a server in this one."""
    before = time.process_time()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.load", json.dumps(asdict(load)), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return replace(Result(**json.loads(printed)), work=time.process_time() - before)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(asyncio.run(send(Load(**json.loads(sys.argv[1])))))))
