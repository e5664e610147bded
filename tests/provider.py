"""A model provider on the loopback, in the shape of Anthropic's API: it answers what it is told to, and remembers."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from agents.llm.models import LanguageModel, build_language_model

KEY = "sk-ant-test-not-a-key"
USED = {"input_tokens": 900, "output_tokens": 60, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}

Reply = Callable[[web.Request], Any]


@dataclass
class Provider:
    """The loopback provider. ``replies`` are given one after the other; the last one stands."""

    replies: list[Reply] = field(default_factory=list[Reply])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await reply(request)


def report_value(value: Any, usage: dict[str, int] | None = USED, tool: str = "report") -> Reply:
    block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": value}
    return answer_text([block], usage, "tool_use")


def answer_text(blocks: list[dict[str, Any]], usage: dict[str, int] | None = USED, stop: str = "end_turn") -> Reply:
    body: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0} if usage is None else usage,
    }

    async def reply(_request: web.Request) -> web.Response:
        return web.json_response(body)

    return reply


def answer_error(status: int, kind: str = "overloaded_error", retry_after: str = "", said: str = f"no, {KEY}") -> Reply:
    headers = {"Retry-After": retry_after} if retry_after else {}

    async def reply(_request: web.Request) -> web.Response:
        body = {"type": "error", "error": {"type": kind, "message": said}}
        return web.json_response(body, status=status, headers=headers)

    return reply


def answer_late(seconds: float = 30) -> Reply:
    async def reply(_request: web.Request) -> web.Response:
        await asyncio.sleep(seconds)
        return web.json_response({})

    return reply


def answer_cut_off() -> Reply:
    """Half a body, then the connection is gone."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"id": "msg_1", "type": "mess')
        assert request.transport is not None
        request.transport.abort()
        return response

    return reply


def answer_garbage(body: str = "<html>oops</html>") -> Reply:
    async def reply(_request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    return reply


@asynccontextmanager
async def serve_provider(provider: Provider) -> AsyncGenerator[str]:
    """The address of the provider while it serves."""
    app = web.Application()
    app.router.add_post("/v1/messages", provider.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def anthropic(address: str, name: str = "claude-haiku-4-5") -> LanguageModel:
    """A model of Anthropic's at that address, made as an operator's settings make it."""
    model = build_language_model(f"anthropic:{name}", {}, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address})
    assert isinstance(model, LanguageModel)
    return model
