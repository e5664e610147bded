"""Decides on each call of an agent that is not ours: whether it may ask, what is sent, and what it gets.

The agent has no key of a provider. It has an address and a one-time key that work while the gateway is open. What
serves the address over HTTP is a :class:`GatewayOpener`.
"""

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from pydantic import JsonValue
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from agents.llm.client import CallRequest
from agents.llm.gateway.wire import Body, NotARequest, WireFormat, WireRequest
from domain.errors import ForgeError
from domain.money import Refusal
from domain.text.redaction import Redact, redact_outgoing, redact_values

FetchAnswer = Callable[[CallRequest], Awaitable[ModelResponse | Refusal | str]]
"""Asks the model as :meth:`agents.llm.client.ModelClient.fetch_response` does."""
ReadBody = Callable[[], Awaitable[bytes]]

_WORDS = 300  # characters that are kept of what a model said
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class GatewayBounds:
    """The limits of one agent.

    :param calls: of the model, in all.
    :param at_once: calls; more of them wait, so that money is reserved in order.
    :param output_tokens: of one answer, even where the agent asks for more.
    :param body: bytes of one request.
    :param seconds: after which a call was answered, however slow the model is.
    """

    calls: int = 200
    at_once: int = 1
    output_tokens: int = 8000
    body: int = 8_000_000
    seconds: float = 900.0


BOUNDS = GatewayBounds()


@dataclass(frozen=True)
class Reply:
    """What the agent gets.

    :param status: an HTTP status.
    """

    status: int
    body: str
    media_type: str = JSON


class ModelGateway:
    """Answers one agent until it is closed, or until Forge refuses a call; then it refuses every call.

    ``key`` is the one that the agent needs, ``port`` where it is served on loopback, ``calls`` how many were answered,
    ``refusal`` what limit stopped it, ``failure`` what else Forge stopped it for, ``words`` what the model said last.

    :param answer: asks the model; what else it raises fails the call and goes to the log.
    :param redact: removes secrets from what is sent.
    :param redact_answers: removes secrets from what the agent gets.
    """

    def __init__(
        self,
        answer: FetchAnswer,
        bounds: GatewayBounds = BOUNDS,
        redact: Redact = redact_outgoing,
        redact_answers: Redact = redact_outgoing,
    ) -> None:
        self.key = secrets.token_urlsafe(32)
        self.port = 0
        self.bounds = bounds
        self.calls = 0
        self.refusal: Refusal | None = None
        self.failure: ForgeError | None = None
        self.is_closed = False
        self.words = ""
        self._answer = answer
        self._redact = redact
        self._redact_answers = redact_answers
        self._asked = 0
        self._free = asyncio.Semaphore(bounds.at_once)
        self._stopped = asyncio.Event()
        self._pending: set[asyncio.Task[Any]] = set()

    def accepts(self, key: str) -> bool:
        """Whether it is the agent's key; how long this takes says nothing about the key."""
        return hmac.compare_digest(key.encode("utf-8", "replace"), self.key.encode())

    async def wait_until_stopped(self) -> None:
        """Wait until no call is answered any more. Many agents go on trying for minutes, so whoever started it ends it.

        :raises ForgeError: what a call raised, such as a halt.
        """
        await self._stopped.wait()
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Answer nothing from now on; a call that the model has not answered is cancelled."""
        self.is_closed = True
        for task in self._pending:
            task.cancel()

    async def respond(self, wire: WireFormat, read: ReadBody) -> Reply:
        """What the agent gets for a call.

        :param read: the body; raises :class:`NotARequest`. It is not read before it is the call's turn.
        """
        with self._track():
            stop = self._explain_stop() or self._explain_bound()
            if stop is not None:
                return self._refuse(wire, stop)
            self._asked += 1
            async with self._free:
                try:
                    return await self._ask(wire, await read())
                except NotARequest as error:
                    return fail(wire, error.status, str(error))

    async def count(self, wire: WireFormat, count: Callable[[bytes], Body], read: ReadBody) -> Reply:
        """How much a call would send, without asking the model."""
        with self._track():
            try:
                return Reply(200, json.dumps(await asyncio.to_thread(count, await read())))
            except NotARequest as error:
                return fail(wire, error.status, str(error))

    async def _ask(self, wire: WireFormat, body: bytes) -> Reply:
        wanted, sent = await asyncio.to_thread(self._prepare, wire, body)  # a long conversation takes a while
        stop = self._explain_stop()  # an earlier call may have been refused meanwhile
        if stop is not None:
            return self._refuse(wire, stop)
        try:
            answer = await self._answer(sent)
        except ForgeError as error:
            self.failure = self.failure or error
            return self._refuse(wire, "The model was not asked: Forge stopped this work.")
        if isinstance(answer, Refusal):
            self.refusal = self.refusal or answer
            return self._refuse(wire, _explain(answer))
        if isinstance(answer, str):
            return fail(wire, 502, answer)
        self.calls += 1
        return self._write(wire, wanted, answer, secrets.token_hex(12))

    def _refuse(self, wire: WireFormat, why: str) -> Reply:
        self._stopped.set()
        return fail(wire, 429, why)

    def _prepare(self, wire: WireFormat, body: bytes) -> tuple[WireRequest, CallRequest]:
        """What the agent asks, and what is sent for it.

        :raises NotARequest: it cannot be passed on.
        """
        wanted = wire.parse(body)
        most = self.bounds.output_tokens
        sent = CallRequest(
            mask_messages(wanted.messages, self._redact),
            mask_parameters(wanted.parameters, self._redact),
            min(wanted.max_output_tokens or most, most),
            cached=True,
        )
        return wanted, sent

    def _write(self, wire: WireFormat, wanted: WireRequest, answer: ModelResponse, identity: str) -> Reply:
        shown = mask_response(answer, self._redact_answers)
        self.words = " ".join((shown.text or "").split())[:_WORDS] or self.words
        body = wire.render(shown, wanted, identity)
        if wanted.streams:
            return Reply(200, wire.frame(body, wanted.wants_usage), EVENTS)
        return Reply(200, json.dumps(body))

    def _explain_stop(self) -> str | None:
        if self.refusal is not None:
            return _explain(self.refusal)
        if self.failure is not None:
            return "The model was not asked: Forge stopped this work."
        if self.is_closed:
            return "The model was not asked: the gateway is closed."
        return None

    def _explain_bound(self) -> str | None:
        if self._asked >= self.bounds.calls:
            return f"The model was not asked: this agent has used all of its {self.bounds.calls} calls."
        return None

    @contextmanager
    def _track(self) -> Generator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._pending.add(task)
        try:
            yield
        finally:
            self._pending.discard(task)


class GatewayOpener(Protocol):
    """Serves a gateway over HTTP on loopback while the context lasts."""

    def __call__(
        self,
        answer: FetchAnswer,
        bounds: GatewayBounds = BOUNDS,
        redact: Redact = redact_outgoing,
        redact_answers: Redact = redact_outgoing,
    ) -> AbstractAsyncContextManager[ModelGateway]: ...


def fail(wire: WireFormat, status: int, message: str) -> Reply:
    """An error in the format of an API."""
    return Reply(status, json.dumps(wire.render_error(status, message)))


def list_models() -> Body:
    """The only model there is, in the formats of both providers: its name is Forge's affair."""
    return {
        "object": "list",
        "data": [describe_model("forge")],
        "has_more": False,
        "first_id": "forge",
        "last_id": "forge",
    }


def describe_model(name: str) -> Body:
    """A model of this name, in the formats of both providers; whatever name is asked for, it is the same one."""
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "forge",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _explain(refusal: Refusal) -> str:
    return f"{refusal.message} {refusal.advice}".strip()


def mask_messages(messages: Sequence[ModelMessage], redact: Redact) -> list[ModelMessage]:
    """A conversation without secrets; of an answer only texts and tool calls are kept."""
    return [
        _mask_request(message, redact) if isinstance(message, ModelRequest) else mask_response(message, redact)
        for message in messages
    ]


def mask_response(response: ModelResponse, redact: Redact) -> ModelResponse:
    """The text of an answer as one, so that no secret hides between two parts, and its tool calls."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [_mask_call(part, redact) for part in response.parts if isinstance(part, ToolCallPart)]
    return replace(response, parts=[*([TextPart(redact(text))] if text else []), *calls])


def mask_parameters(parameters: ModelRequestParameters, redact: Redact) -> ModelRequestParameters:
    """The tools of a call, without secrets in what explains them."""
    return replace(parameters, function_tools=[_mask_tool(tool, redact) for tool in parameters.function_tools])


def _mask_tool(tool: ToolDefinition, redact: Redact) -> ToolDefinition:
    described = None if tool.description is None else redact(tool.description)
    schema = cast(dict[str, JsonValue], redact_values(tool.parameters_json_schema, redact))
    return replace(tool, name=redact(tool.name), description=described, parameters_json_schema=schema)


def _mask_request(request: ModelRequest, redact: Redact) -> ModelRequest:
    told = None if request.instructions is None else redact(request.instructions)
    return replace(request, parts=[_mask_asked(part, redact) for part in request.parts], instructions=told)


def _mask_asked(part: ModelRequestPart, redact: Redact) -> ModelRequestPart:
    match part:
        case UserPromptPart(content=str() as text):
            return replace(part, content=redact(text))
        case ToolReturnPart(content=str() as text):
            name, call = redact(part.tool_name), redact(part.tool_call_id)
            return replace(part, tool_name=name, content=redact(text), tool_call_id=call)
        case _:
            raise AssertionError("the formats read nothing else")


def _mask_call(call: ToolCallPart, redact: Redact) -> ToolCallPart:
    arguments = cast(dict[str, JsonValue], redact_values(call.args_as_dict(), redact))
    return replace(call, tool_name=redact(call.tool_name), args=arguments, tool_call_id=redact(call.tool_call_id))
