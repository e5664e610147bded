"""Forge's side of a gateway: answers what it is told to, and remembers what was sent."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from httpx2 import AsyncClient, Response
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from agents.llm.client import CallRequest
from agents.llm.gateway.gateway import ModelGateway
from agents.llm.messages import join_texts
from domain.money import Refusal
from domain.verdicts import BreakerState, Check, Reason

Given = ModelResponse | Refusal | str
USED = RequestUsage(input_tokens=100, output_tokens=7, cache_read_tokens=30, cache_write_tokens=20)


def say(text: str) -> ModelResponse:
    return ModelResponse([TextPart(text)], usage=USED, finish_reason="stop")


def call_tool(arguments: dict[str, Any], text: str = "") -> ModelResponse:
    said = [TextPart(text)] if text else []
    return ModelResponse([*said, ToolCallPart("bash", arguments, "call_1")], usage=USED, finish_reason="tool_call")


def refuse() -> Refusal:
    reason = Reason(code="cost", text="the budget of the review phase is used up.")
    return Refusal(check=Check(name="cost", state=BreakerState.open, reason=reason, suggestion="Raise it."))


@dataclass
class ScriptedForge:
    """Gives the answers one after the other; the last one stands."""

    answers: list[Given]
    asked: list[CallRequest] = field(default_factory=list[CallRequest])

    async def fetch(self, sent: CallRequest) -> Given:
        self.asked.append(sent)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    @property
    def shown(self) -> str:
        """What the last call showed to the model."""
        return join_texts(self.asked[-1].messages, self.asked[-1].parameters)


QUESTION: dict[str, Any] = {"model": "any", "messages": [{"role": "user", "content": "Fix it."}]}
MESSAGE: dict[str, Any] = {**QUESTION, "max_tokens": 50}


@dataclass(frozen=True)
class Agent:
    """A program that has the address of a gateway and a key."""

    http: AsyncClient

    async def complete(self, **changes: Any) -> Response:
        """Ask in OpenAI's format."""
        return await self.http.post("/v1/chat/completions", json=QUESTION | changes)

    async def ask(self, **changes: Any) -> Response:
        """Ask in Anthropic's format."""
        return await self.http.post("/v1/messages", json=MESSAGE | changes)


@asynccontextmanager
async def connect(gateway: ModelGateway, **headers: str) -> AsyncGenerator[Agent]:
    """An agent with the gateway's key, or with other headers."""
    told = headers or {"Authorization": f"Bearer {gateway.key}"}
    async with AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}", headers=told, timeout=10) as http:
        yield Agent(http)
