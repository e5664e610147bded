"""Serves a model gateway over HTTP on loopback, to a coding agent in the sandbox."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import ClientPayloadError, web

from agents.llm.gateway.anthropic_format import ANTHROPIC, count_anthropic
from agents.llm.gateway.gateway import (
    BOUNDS,
    FetchAnswer,
    GatewayBounds,
    ModelGateway,
    Reply,
    describe_model,
    fail,
    list_models,
)
from agents.llm.gateway.openai_format import OPENAI
from agents.llm.gateway.responses_format import RESPONSES
from agents.llm.gateway.wire import NotARequest, WireFormat
from bot.listener import connection_factory
from domain.text.redaction import PROCESS_REDACTOR, Redact, redact_outgoing

_BODY_SECONDS = 30.0  # in which a body must arrive, so that it does not keep other calls waiting
_CLOSING_SECONDS = 0.1
_LONGEST_NAME = 200
_LOOPBACK = "127.0.0.1"
_PATHS = "/v1/chat/completions, /v1/responses, /v1/messages, /v1/messages/count_tokens and /v1/models"
_ONCE = {"x-should-retry": "false"}  # the official clients heed it

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def open_gateway(
    answer: FetchAnswer,
    bounds: GatewayBounds = BOUNDS,
    redact: Redact = redact_outgoing,
    redact_answers: Redact = redact_outgoing,
) -> AsyncGenerator[ModelGateway]:
    """Serve a gateway at a free port; after the context nothing is answered.

    :param answer: asks the model.
    :param redact: removes secrets from what is sent.
    :param redact_answers: removes secrets from what the agent gets.
    """
    gateway = ModelGateway(answer, bounds, redact, redact_answers)
    PROCESS_REDACTOR.learn_temporary(gateway.key)
    runner = web.AppRunner(_build_application(gateway), shutdown_timeout=_CLOSING_SECONDS)
    await runner.setup()
    assert runner.server is not None  # made by its setup
    try:
        accept = connection_factory(runner.server)
        server = await asyncio.get_running_loop().create_server(accept, _LOOPBACK, 0)
        try:
            gateway.port = int(server.sockets[0].getsockname()[1])
            yield gateway
        finally:
            server.close()
    finally:
        gateway.close()
        await runner.cleanup()


def _build_application(gateway: ModelGateway) -> web.Application:
    app = web.Application(client_max_size=gateway.bounds.body)
    for prefix in ("", "/v1"):  # clients differ in what they add to the address that they are given
        app.router.add_post(f"{prefix}/chat/completions", _guard(gateway, OPENAI, _respond))
        app.router.add_post(f"{prefix}/responses", _guard(gateway, RESPONSES, _respond))
        app.router.add_post(f"{prefix}/messages", _guard(gateway, ANTHROPIC, _respond))
        app.router.add_post(f"{prefix}/messages/count_tokens", _guard(gateway, ANTHROPIC, _count))
        app.router.add_get(f"{prefix}/models", _guard(gateway, OPENAI, _show_models))
        app.router.add_get(f"{prefix}/models/{{name}}", _guard(gateway, OPENAI, _show_model))
    app.router.add_route("*", "/{path:.*}", _guard(gateway, OPENAI, _miss))
    return app


_Answering = Callable[[ModelGateway, WireFormat, web.Request], Awaitable[Reply]]


def _guard(gateway: ModelGateway, wire: WireFormat, handle: _Answering) -> Handler:
    """Answers whoever has the key, as long as the gateway is open."""

    async def handler(request: web.Request) -> web.StreamResponse:
        if gateway.is_closed and request.transport is not None:
            request.transport.abort()
        if gateway.accepts(_read_key(request)):
            reply = await handle(gateway, wire, request)
        else:
            reply = fail(wire, 401, "The key is not the one of this gateway.")
        return _send(reply)

    return handler


def _read_key(request: web.Request) -> str:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


async def _respond(gateway: ModelGateway, wire: WireFormat, request: web.Request) -> Reply:
    return await gateway.respond(wire, partial(_read_body, request, gateway.bounds.body))


async def _show_models(_gateway: ModelGateway, _wire: WireFormat, _request: web.Request) -> Reply:
    return Reply(200, json.dumps(list_models()))


async def _count(gateway: ModelGateway, wire: WireFormat, request: web.Request) -> Reply:
    return await gateway.count(wire, count_anthropic, partial(_read_body, request, gateway.bounds.body))


async def _show_model(_gateway: ModelGateway, _wire: WireFormat, request: web.Request) -> Reply:
    return Reply(200, json.dumps(describe_model(request.match_info["name"][:_LONGEST_NAME])))


async def _miss(_gateway: ModelGateway, wire: WireFormat, request: web.Request) -> Reply:
    asked = f"{request.method} {request.path[:_LONGEST_NAME]}"
    return fail(wire, 404, f"This gateway has no {asked}. It has {_PATHS}, each also without /v1.")


async def _read_body(request: web.Request, most: int) -> bytes:
    """The body.

    :raises NotARequest: it is too large, too slow, or cut off, or nobody waits for the answer.
    """
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise NotARequest(f"The request is larger than {most:,} bytes.", 413) from None
    except TimeoutError:
        raise NotARequest(f"The request did not arrive within {_BODY_SECONDS:g} s.", 408) from None
    except (ConnectionError, web.RequestPayloadError, ClientPayloadError):
        # Also if the agent hung up while it waited for its turn: nobody would read what is paid for.
        raise NotARequest("The request was cut off or malformed.") from None


def _send(reply: Reply) -> web.Response:
    response = web.Response(status=reply.status, text=reply.body, content_type=reply.media_type, charset="utf-8")
    if reply.status >= 400:
        response.headers.update(_ONCE)
        response.force_close()  # the body may not have been read
    return response
