"""Metrics: what repositories choose makes no labels."""

from datetime import UTC, datetime

from aiohttp.test_utils import make_mocked_request

from bot.metrics import Metrics
from domain.events import Event, EventType
from domain.ids import new_id
from memory.bus import Bus


async def test_linters_of_repositories_share_a_label() -> None:
    bus = Bus()
    metrics = Metrics(bus)
    for source in ("ruff", "anthropic:claude-haiku-4-5", *(f"linter-{number}" for number in range(50))):
        bus.publish(_ran(source))
    response = await metrics.exposed(make_mocked_request("GET", "/metrics"))
    assert isinstance(response.body, bytes)
    counted = [line for line in response.body.decode().splitlines() if line.startswith("forge_tool_seconds_count")]
    assert counted == [
        'forge_tool_seconds_count{tool="ruff"} 1.0',
        'forge_tool_seconds_count{tool="anthropic:claude-haiku-4-5"} 1.0',
        'forge_tool_seconds_count{tool="configured linter"} 50.0',
    ]


def _ran(source: str) -> Event:
    return Event(
        id=new_id(),
        trace=new_id(),
        time=datetime.now(UTC),
        source=source,
        type=EventType.tool_executed,
        phase=None,
        payload={},
        duration=0.1,
        tokens=0,
        cost=0,
    )
