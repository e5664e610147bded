"""The gateway with the clients that OpenAI and Anthropic publish, up to the provider's own API."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from anthropic import AsyncAnthropic, RateLimitError
from anthropic.types import MessageParam, ToolParam, ToolUseBlock
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, InternalServerError
from openai.types.chat import ChatCompletionFunctionToolParam

from agents.llm.client import CallRequest, ModelClient, RetryPolicy
from agents.llm.gateway.gateway import ModelGateway
from bot.model_gateway import open_gateway
from tests.provider import Provider, answer_text, anthropic, serve_provider
from tests.purses import OpenPurse
from tests.unit.gateway.forge import ScriptedForge, call_tool, connect, refuse, say

SCHEMA: dict[str, object] = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOL: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {"name": "bash", "description": "Runs a command.", "parameters": SCHEMA},
}
TOOL_OF_ANTHROPIC: ToolParam = {"name": "bash", "description": "Runs a command.", "input_schema": SCHEMA}


@asynccontextmanager
async def openai_client(gateway: ModelGateway, key: str = "") -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key=key or gateway.key) as client:
        yield client


@asynccontextmanager
async def anthropic_client(gateway: ModelGateway) -> AsyncGenerator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=f"http://127.0.0.1:{gateway.port}", api_key=gateway.key) as client:
        yield client


@pytest.mark.parametrize("streams", [False, True])
async def test_openai_with_a_tool_and_its_result(streams: bool):
    forge = ScriptedForge([call_tool({"command": "ls"}, "I look."), say("There is a.py.")])
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is there?"},
    ]

    async def ask(client: AsyncOpenAI) -> Any:
        wanted: dict[str, Any] = {"model": "gpt-x", "messages": messages, "tools": [TOOL]}
        if not streams:
            return await client.chat.completions.create(**wanted)
        async with client.chat.completions.stream(**wanted, stream_options={"include_usage": True}) as stream:
            return await stream.get_final_completion()

    async with open_gateway(forge.fetch) as gateway, openai_client(gateway) as client:
        first = await ask(client)
        message = first.choices[0].message
        [call] = message.tool_calls
        said: dict[str, Any] = message.model_dump(include={"role": True, "content": True})
        called = {"name": call.function.name, "arguments": call.function.arguments}
        said["tool_calls"] = [{"id": call.id, "type": call.type, "function": called}]
        messages += [said, {"role": "tool", "tool_call_id": call.id, "content": "a.py"}]
        second = await ask(client)

    assert (first.model, first.choices[0].finish_reason, message.content) == ("gpt-x", "tool_calls", "I look.")
    assert (call.type, call.function.name, call.function.arguments) == ("function", "bash", '{"command":"ls"}')
    assert (second.choices[0].finish_reason, second.choices[0].message.content) == ("stop", "There is a.py.")
    assert (second.usage.prompt_tokens, second.usage.completion_tokens) == (100, 7)
    for shown in ("Be brief.", "What is there?", "I look.", '{"command":"ls"}', "a.py"):
        assert shown in forge.shown


@pytest.mark.parametrize("streams", [False, True])
async def test_anthropic_with_a_tool_and_its_result(streams: bool):
    forge = ScriptedForge([call_tool({"command": "ls"}, "I look."), say("There is a.py.")])
    messages: list[Any] = [{"role": "user", "content": "What is there?"}]

    async def ask(client: AsyncAnthropic) -> Any:
        wanted: dict[str, Any] = {"model": "claude-x", "max_tokens": 100, "system": "Be brief.", "messages": messages}
        if not streams:
            return await client.messages.create(**wanted, tools=[TOOL_OF_ANTHROPIC])
        async with client.messages.stream(**wanted, tools=[TOOL_OF_ANTHROPIC]) as stream:
            texts = [text async for text in stream.text_stream]
            answer = await stream.get_final_message()
        assert texts == [block.text for block in answer.content if block.type == "text"]
        return answer

    async with open_gateway(forge.fetch) as gateway, anthropic_client(gateway) as client:
        first = await ask(client)
        text, use = first.content
        said = [{"type": "text", "text": text.text}, use.model_dump(include={"type", "id", "name", "input"})]
        result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "a.py"}]}
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
        second = await ask(client)

    assert isinstance(use, ToolUseBlock)
    assert (first.model, first.stop_reason, use.name, use.input) == ("claude-x", "tool_use", "bash", {"command": "ls"})
    assert (text.text, second.stop_reason, second.content[0].type) == ("I look.", "end_turn", "text")
    assert (second.usage.input_tokens, second.usage.cache_read_input_tokens) == (50, 30)
    assert second.usage.output_tokens == 7
    assert "a.py" in forge.shown


async def test_the_clients_see_the_errors_they_know_and_do_not_repeat_a_call():
    forge = ScriptedForge(["It failed.", refuse()])
    async with open_gateway(forge.fetch) as gateway:
        async with openai_client(gateway, "wrong") as stranger:
            with pytest.raises(AuthenticationError):
                await stranger.models.list()
        async with openai_client(gateway) as client:
            image: Any = [{"type": "image_url", "image_url": {"url": "data:"}}]
            with pytest.raises(BadRequestError, match=r"messages.0.user.content: only parts of the type text"):
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": image}])
            with pytest.raises(InternalServerError, match="It failed"):
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
        async with anthropic_client(gateway) as other:
            with pytest.raises(RateLimitError, match="budget of the review phase"):
                await other.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}])

    assert len(forge.asked) == 2


async def test_both_clients_list_the_model():
    forge = ScriptedForge([say("")])
    async with (
        open_gateway(forge.fetch) as gateway,
        openai_client(gateway) as client,
        anthropic_client(gateway) as other,
    ):
        assert [model.id async for model in client.models.list()] == ["forge"]
        assert [model.id async for model in other.models.list()] == ["forge"]


async def test_a_call_reaches_the_provider_and_is_settled():
    there, purse = Provider([answer_text([{"type": "text", "text": "There is a.py."}])]), OpenPurse()
    call: Any = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is there?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ]
    async with serve_provider(there) as address:
        caller = ModelClient("agent", anthropic(address), purse, RetryPolicy())

        async def fetch(sent: CallRequest) -> Any:
            return await caller.fetch_response(sent)

        async with open_gateway(fetch) as gateway, openai_client(gateway) as client:
            answer = await client.chat.completions.create(model="gpt-x", messages=messages, tools=[TOOL])

    sent = there.asked[0]
    assert answer.choices[0].message.content == "There is a.py."
    assert "Be brief." in str(sent["system"])
    assert [tool["name"] for tool in sent["tools"]] == ["bash"]
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][1]["content"][0]["input"] == {"command": "ls"}
    assert sent["messages"][2]["content"][0]["tool_use_id"] == "c1"
    assert purse.charged == caller.calls[0].cost > 0
    assert not purse.open


@pytest.mark.parametrize("streams", [False, True])
async def test_openai_responses_with_tools_and_their_results(streams: bool):
    forge = ScriptedForge([call_tool({"command": "ls"}, "I look."), call_tool({"input": "*** Patch"}), say("Done.")])
    custom: Any = {"type": "custom", "name": "patch", "description": "Takes a patch."}
    function: Any = {"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}
    tools: list[Any] = [function, custom, {"type": "web_search"}]
    history: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "What is there?"}]}]

    async def ask(client: Any) -> Any:
        wanted: dict[str, Any] = {"model": "gpt-x", "instructions": "Be brief.", "input": history, "tools": tools}
        if not streams:
            return await client.responses.create(**wanted)
        async with client.responses.stream(**wanted) as stream:
            return await stream.get_final_response()

    async with open_gateway(forge.fetch) as gateway, openai_client(gateway) as client:
        first = await ask(client)
        history += [item.model_dump(exclude={"parsed_arguments"}) for item in first.output]
        history.append({"type": "function_call_output", "call_id": first.output[1].call_id, "output": "a.py"})
        function["name"], custom["name"] = "other", "bash"
        second = await ask(client)
        history += [second.output[0].model_dump()]
        history.append({"type": "custom_tool_call_output", "call_id": second.output[0].call_id, "output": "patched"})
        third = await ask(client)

    assert (first.output_text, first.status, first.model) == ("I look.", "completed", "gpt-x")
    assert (first.output[1].type, first.output[1].arguments) == ("function_call", '{"command":"ls"}')
    assert (second.output[0].type, second.output[0].input) == ("custom_tool_call", "*** Patch")
    assert third.output_text == "Done."
    assert (third.usage.input_tokens, third.usage.output_tokens) == (100, 7)
    for shown in ("Be brief.", "What is there?", "I look.", "a.py", "*** Patch", "patched"):
        assert shown in forge.shown


@pytest.mark.parametrize("base", ["", "/v1"])
async def test_clients_find_their_path_with_and_without_a_version(base: str):
    forge = ScriptedForge([say("Hi.")])
    prompt: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    async with open_gateway(forge.fetch) as gateway, connect(gateway) as agent:
        for path, more in (("messages", {"max_tokens": 9}), ("chat/completions", {}), ("responses", {"input": "Hi"})):
            assert (await agent.http.post(f"{base}/{path}", json=prompt | more)).status_code == 200
        assert (await agent.http.get(f"{base}/models/gpt-x")).json()["id"] == "gpt-x"
        missed = (await agent.http.post(f"{base}/embeddings", json={})).json()["error"]["message"]
    assert f"no POST {base}/embeddings" in missed
    assert "/v1/responses" in missed


async def test_tokens_are_counted_without_asking_the_model():
    forge = ScriptedForge([say("Hi.")])
    async with open_gateway(forge.fetch) as gateway, anthropic_client(gateway) as client:
        messages: list[MessageParam] = [{"role": "user", "content": "What is there? " * 100}]
        counted = await client.messages.count_tokens(model="m", messages=messages, tools=[TOOL_OF_ANTHROPIC])
    assert 200 < counted.input_tokens < 600
    assert forge.asked == []


async def test_an_item_that_cannot_be_passed_on_is_named_with_a_way_out():
    forge = ScriptedForge([say("Hi.")])
    items: Any = [{"type": "additional_tools", "tools": []}, {"role": "user", "content": "Hi"}]
    async with open_gateway(forge.fetch) as gateway, openai_client(gateway) as client:
        with pytest.raises(BadRequestError, match=r"input.0: an item of this type .* \(-m forge\)"):
            await client.responses.create(model="gpt-6", input=items)
    assert forge.asked == []
