"""The gateway over HTTP: whom it answers, when it stops, and what it lets through."""

import asyncio
from typing import Any

import pytest
from httpx2 import ConnectError, RemoteProtocolError
from pydantic_ai.messages import ModelResponse

from agents.llm.client import CallRequest
from agents.llm.gateway.gateway import GatewayBounds, GatewayOpener
from bot.model_gateway import open_gateway
from domain.errors import Halted
from domain.money import Refusal
from tests.unit.gateway.forge import MESSAGE, QUESTION, ScriptedForge, call_tool, connect, refuse, say

SERVE: GatewayOpener = open_gateway
SECRET = "hunter2-hunter2-hunter2"


def hide(text: str) -> str:
    return text.replace(SECRET, "[gone]")


async def test_an_agent_is_answered_and_counted():
    forge = ScriptedForge([say("Done.")])
    async with SERVE(forge.fetch) as gateway, connect(gateway) as agent:
        first = await agent.complete(max_tokens=50)
        second = await agent.http.post("/chat/completions", json=QUESTION)

    assert first.json()["choices"][0]["message"]["content"] == "Done."
    assert first.json()["model"] == "any"
    assert second.status_code == 200
    assert first.json()["id"] != second.json()["id"]
    assert gateway.calls == 2
    assert gateway.refusal is None


async def test_the_length_of_an_answer_is_capped():
    forge = ScriptedForge([say("Done.")])
    bounds = GatewayBounds(output_tokens=100)
    async with open_gateway(forge.fetch, bounds) as gateway, connect(gateway) as agent:
        await agent.complete(max_completion_tokens=5000)
        await agent.complete()
        await agent.ask(max_tokens=20)

    assert [sent.max_output_tokens for sent in forge.asked] == [100, 100, 20]


@pytest.mark.parametrize("header", ["Authorization", "x-api-key"])
async def test_only_the_key_opens_it(header: str):
    forge = ScriptedForge([say("Done.")])
    async with open_gateway(forge.fetch) as gateway:
        scheme = "Bearer " if header == "Authorization" else ""
        async with connect(gateway, **{header: scheme + gateway.key}) as agent:
            assert (await agent.ask()).status_code == 200
        for wrong in ("x", "x" * 43, gateway.key[:-1]):
            async with connect(gateway, **{header: scheme + wrong}) as stranger:
                openai, anthropic = await stranger.complete(), await stranger.ask()
                assert (openai.status_code, openai.json()["error"]["code"]) == (401, "invalid_api_key")
                assert (anthropic.status_code, anthropic.json()["error"]["type"]) == (401, "authentication_error")
                assert (await stranger.http.get("/v1/models")).status_code == 401

    assert len(forge.asked) == 1


async def test_what_stops_forge_stops_the_agent_and_reaches_whoever_started_it():
    """A halt is no error 500, which agents would try again for minutes."""
    asked = 0

    async def halt(_sent: CallRequest) -> ModelResponse:
        nonlocal asked
        asked += 1
        raise Halted("The operator halted Forge.")

    async with open_gateway(halt) as gateway, connect(gateway) as agent:
        first, second = await agent.complete(), await agent.ask()
        with pytest.raises(Halted):
            await gateway.wait_until_stopped()
    assert [first.status_code, second.status_code, asked] == [429, 429, 1]
    assert gateway.refusal is None


async def test_after_a_refusal_it_asks_no_more():
    forge = ScriptedForge([refuse(), say("never")])
    async with open_gateway(forge.fetch) as gateway, connect(gateway) as agent:
        stopped = asyncio.create_task(gateway.wait_until_stopped())
        first, second, third = await agent.complete(), await agent.ask(), await agent.complete(messages="broken")
        await stopped
        assert gateway.refusal == refuse()

    said = "The model was not asked: the budget of the review phase is used up. Raise it."
    assert [reply.status_code for reply in (first, second, third)] == [429, 429, 429]
    assert first.json()["error"] | {"code": None} == {
        "message": said,
        "type": "insufficient_quota",
        "param": None,
        "code": None,
    }
    assert second.json() == {"type": "error", "error": {"type": "rate_limit_error", "message": said}}
    assert first.headers["x-should-retry"] == "false"
    assert gateway.refusal == refuse()
    assert len(forge.asked) == 1
    assert gateway.calls == 0


async def test_a_model_that_failed_is_a_bad_gateway_and_may_be_asked_again():
    forge = ScriptedForge(["The model did not answer in time.", say("Done.")])
    async with open_gateway(forge.fetch) as gateway, connect(gateway) as agent:
        first, second = await agent.ask(), await agent.ask()

    assert first.status_code == 502
    assert first.json()["error"] == {"type": "api_error", "message": "The model did not answer in time."}
    assert second.status_code == 200


async def test_the_number_of_calls_is_bounded_whether_they_are_answered_or_not():
    forge = ScriptedForge(["It failed.", say("Done.")])
    bounds = GatewayBounds(calls=2)
    async with open_gateway(forge.fetch, bounds) as gateway, connect(gateway) as agent:
        stopped = asyncio.create_task(gateway.wait_until_stopped())
        replies = [await agent.complete() for _ in range(2)]
        assert not stopped.done()
        replies.append(await agent.complete())
        await stopped  # as the agent has no calls left

    assert [reply.status_code for reply in replies] == [502, 200, 429]
    assert "all of its 2 calls" in replies[2].json()["error"]["message"]
    assert len(forge.asked) == 2
    assert gateway.refusal is None


async def test_a_large_body_is_refused():
    forge = ScriptedForge([say("Done.")])
    bounds = GatewayBounds(body=200_000)
    async with open_gateway(forge.fetch, bounds) as gateway, connect(gateway) as agent:
        large = await agent.ask(messages=[{"role": "user", "content": "x" * 1_000_000}])
        fitting = await agent.ask(messages=[{"role": "user", "content": "x" * 190_000}])

    assert (large.status_code, large.json()["error"]["type"]) == (413, "request_too_large")
    assert fitting.status_code == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "Invalid JSON"),
        (b"[]", "it: "),
        (b'{"model": "any"}', "messages: "),
        (b'{"model": "any", "max_tokens": 0, "messages": []}', "max_tokens: "),
        (b'{"model": "any", "max_tokens": 1, "messages": [{"role": "user", "content": "\\ud800"}]}', "Invalid JSON"),
        (b'{"model": "any", "max_tokens": 1, "messages": ' + b"[" * 5000 + b"]" * 5000 + b"}", "Invalid JSON"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_a_broken_body_is_refused_with_the_field(path: str, body: bytes, named: str):
    forge = ScriptedForge([say("Done.")])
    async with open_gateway(forge.fetch) as gateway, connect(gateway) as agent:
        reply = await agent.http.post(path, content=body)

    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert named in reply.json()["error"]["message"]
    assert not forge.asked


async def test_other_paths_do_not_exist_and_one_model_does():
    async with open_gateway(ScriptedForge([say("Done.")]).fetch) as gateway, connect(gateway) as agent:
        assert (await agent.http.post("/v1/embeddings", json={})).status_code == 404
        assert (await agent.http.get("/v1/messages")).status_code == 404
        assert (await agent.http.get("/v1/models")).json()["data"][0]["id"] == "forge"


async def test_secrets_go_neither_to_the_model_nor_to_the_agent():
    forge = ScriptedForge([call_tool({"command": f"echo {SECRET}"}, f"I try {SECRET}.")])
    tool = {"name": "bash", "description": SECRET, "parameters": {"type": "object", "title": SECRET}}
    call = {"id": "c1", "function": {"name": "bash", "arguments": f'{{"command": "echo {SECRET}"}}'}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"Use {SECRET}."},
        {"role": "user", "content": [{"type": "text", "text": f"Print {SECRET}."}]},
        {"role": "assistant", "content": SECRET, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"It is {SECRET}"},
    ]
    async with open_gateway(forge.fetch, redact=hide, redact_answers=hide) as gateway, connect(gateway) as agent:
        reply = await agent.complete(messages=messages, tools=[{"type": "function", "function": tool}])

    assert SECRET not in repr(forge.asked[-1])
    assert forge.shown.count("[gone]") == 7
    assert SECRET not in reply.text
    assert reply.text.count("[gone]") == 2


async def test_a_secret_between_two_parts_of_an_answer_is_found():
    said, more = say(SECRET[:9]), say(SECRET[9:])
    forge = ScriptedForge([ModelResponse([*said.parts, *more.parts])])
    async with open_gateway(forge.fetch, redact_answers=hide) as gateway, connect(gateway) as agent:
        assert (await agent.ask()).json()["content"] == [{"type": "text", "text": "[gone]"}]


class SlowForge:
    """Answers when it is told to; ``most`` is how many calls it had at once."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.began = asyncio.Event()
        self.was_cancelled = False
        self.now = self.most = self.calls = 0

    async def fetch(self, _sent: CallRequest) -> ModelResponse | Refusal | str:
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        self.began.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        finally:
            self.now -= 1
        return say("Done.")


@pytest.mark.parametrize("at_once", [1, 2])
async def test_more_calls_at_once_wait(at_once: int):
    forge = SlowForge()
    bounds = GatewayBounds(at_once=at_once)
    async with open_gateway(forge.fetch, bounds) as gateway, connect(gateway) as agent:
        calls = [asyncio.create_task(agent.complete()) for _ in range(5)]
        await forge.began.wait()
        await asyncio.sleep(0.2)
        assert forge.calls == at_once
        forge.go_on.set()
        replies = await asyncio.gather(*calls)

    assert [reply.status_code for reply in replies] == [200] * 5
    assert forge.most == at_once


async def test_a_call_whose_agent_hung_up_while_it_waited_is_not_paid_for():
    forge = SlowForge()
    async with open_gateway(forge.fetch) as gateway, connect(gateway) as agent:
        first = asyncio.create_task(agent.complete())
        await forge.began.wait()
        waiting = asyncio.create_task(agent.complete())
        await asyncio.sleep(0.2)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(0.1)
        forge.go_on.set()
        assert (await first).status_code == 200
        assert (await agent.complete()).status_code == 200

    assert forge.calls == 2


async def test_calls_that_waited_for_a_refused_one_are_refused_too():
    started = asyncio.Event()
    asked: list[CallRequest] = []

    async def fetch(sent: CallRequest) -> Refusal:
        asked.append(sent)
        await started.wait()
        return refuse()

    async with open_gateway(fetch) as gateway, connect(gateway) as agent:
        calls = [asyncio.create_task(agent.complete()) for _ in range(3)]
        await asyncio.sleep(0.2)
        started.set()
        replies = await asyncio.gather(*calls)

    assert [reply.status_code for reply in replies] == [429] * 3
    assert len(asked) == 1


async def test_closing_cancels_a_pending_call_and_answers_nothing():
    forge = SlowForge()
    async with open_gateway(forge.fetch) as gateway, connect(gateway) as agent:
        pending = asyncio.create_task(agent.complete())
        waiting = asyncio.create_task(agent.complete())
        await forge.began.wait()
        gateway.close()
        for call in (pending, waiting):
            with pytest.raises(RemoteProtocolError):
                await call
        with pytest.raises(RemoteProtocolError):
            await agent.http.get("/v1/models")

    assert forge.was_cancelled
    assert forge.calls == 1
    assert gateway.calls == 0


async def test_leaving_the_context_closes_it():
    forge = SlowForge()
    async with asyncio.timeout(5):
        async with open_gateway(forge.fetch) as gateway:
            agent = connect(gateway)
            asking = await agent.__aenter__()
            pending = asyncio.create_task(asking.ask())
            await forge.began.wait()
        with pytest.raises(RemoteProtocolError):
            await pending
        with pytest.raises(ConnectError):
            await asking.http.post("/v1/messages", json=MESSAGE)
        await agent.__aexit__(None, None, None)

    assert forge.was_cancelled
