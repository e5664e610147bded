"""The formats of OpenAI and Anthropic as functions: what is read, what is written, and what is refused."""

import json
from typing import Any

import pytest
from pydantic_ai.messages import (
    FinishReason,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from agents.llm.gateway.anthropic_format import ANTHROPIC, frame_anthropic, parse_anthropic, render_anthropic
from agents.llm.gateway.openai_format import OPENAI, frame_openai, parse_openai, render_openai
from agents.llm.gateway.wire import MOST_PARTS, NotARequest, WireFormat, WireRequest
from domain.text.redaction import redact_outgoing
from tests.unit.gateway.forge import MESSAGE, QUESTION, call_tool, say

ANY = WireRequest("any", [], ModelRequestParameters())


def openai(*messages: Any, **more: Any) -> WireRequest:
    return parse_openai(json.dumps({**QUESTION, "messages": messages, **more}).encode())


def anthropic(*messages: Any, **more: Any) -> WireRequest:
    return parse_anthropic(json.dumps({**MESSAGE, "messages": messages, **more}).encode())


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def show(wanted: WireRequest) -> list[tuple[str, ...]]:
    """Each message as the kinds and contents of its parts."""
    shown: list[tuple[str, ...]] = []
    for message in wanted.messages:
        for part in message.parts:
            match part:
                case UserPromptPart() | TextPart():
                    shown.append((part.part_kind, str(part.content)))
                case ToolCallPart():
                    shown.append((part.part_kind, part.tool_name, part.args_as_json_str(), part.tool_call_id))
                case ToolReturnPart():
                    shown.append((part.part_kind, part.tool_name, str(part.content), part.tool_call_id, part.outcome))
                case _:
                    raise AssertionError(part)
    return shown


CALLED = [
    ("user-prompt", "Fix it."),
    ("text", "I look."),
    ("tool-call", "bash", '{"command":"ls"}', "c1"),
    ("tool-return", "bash", "a.py\nb.py", "c1", "success"),
    ("user-prompt", "Go on."),
]


def test_openai_messages_become_those_of_a_model_call():
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    texts = [{"type": "text", "text": "a.py"}, {"type": "text", "text": "b.py"}]
    wanted = openai(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "In English."},
        user("Fix it."),
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": texts},
        user([{"type": "text", "text": "Go on."}]),
        unknown=1,
        temperature=0.5,
    )

    assert show(wanted) == CALLED
    assert [type(message) for message in wanted.messages] == [ModelRequest, ModelResponse, ModelRequest]
    told = [message.instructions for message in wanted.messages if isinstance(message, ModelRequest)]
    assert told == ["Be brief.\n\nIn English."] * 2
    assert (wanted.model, wanted.max_output_tokens, wanted.streams, wanted.wants_usage) == ("any", None, False, False)


def test_anthropic_messages_become_those_of_a_model_call():
    texts = [{"type": "text", "text": "a.py"}, {"type": "text", "text": "b.py"}]
    said = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look.", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
    ]
    wanted = anthropic(
        user("Fix it."),
        {"role": "assistant", "content": said},
        user([{"type": "tool_result", "tool_use_id": "c1", "content": texts}, {"type": "text", "text": "Go on."}]),
        system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "In English."}],
        stream=True,
        metadata={"user_id": "x"},
    )

    assert show(wanted) == CALLED
    told = [message.instructions for message in wanted.messages if isinstance(message, ModelRequest)]
    assert told == ["Be brief.\n\nIn English."] * 2
    assert (wanted.model, wanted.max_output_tokens, wanted.streams) == ("any", 50, True)


def test_a_failed_tool_and_one_without_words_are_told():
    use: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}
    wanted = anthropic(
        user("Fix it."),
        {"role": "assistant", "content": [use, {**use, "id": "c2"}]},
        user([{"type": "tool_result", "tool_use_id": "c1", "is_error": True}]),
        user([{"type": "tool_result", "tool_use_id": "c2", "content": "no"}]),
    )

    assert show(wanted)[-2:] == [
        ("tool-return", "bash", "", "c1", "retried"),
        ("tool-return", "bash", "no", "c2", "success"),
    ]


def test_what_the_system_says_amid_a_conversation_stays_there():
    wanted = openai({"role": "system", "content": "Be brief."}, user("Fix it."), {"role": "system", "content": "Now."})

    assert show(wanted) == [("user-prompt", "Fix it."), ("user-prompt", "Now.")]
    assert isinstance(wanted.messages[0], ModelRequest)
    assert wanted.messages[0].instructions == "Be brief."


def test_empty_texts_which_providers_refuse_are_left_out():
    wanted = openai(
        user("Fix it."), {"role": "assistant", "content": None}, user([{"type": "text", "text": " "}]), user("Go on.")
    )

    assert show(wanted) == [("user-prompt", "Fix it."), ("user-prompt", "Go on.")]


RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "x"}
USE: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([user([{"type": "image_url", "image_url": {"url": "x"}}])], "messages.0.user.content: only parts"),
        ([user("x"), {"role": "tool", "tool_call_id": "c1", "content": "x"}], "messages.1.tool_call_id: no tool call"),
        ([user("x"), {"role": "assistant", "content": "x"}], "messages: the last one"),
        ([{"role": "system", "content": "x"}], "messages: the last one"),
        ([user(1)], "messages.0.user.content: "),
        ([{"role": "function", "content": "x"}], "messages.0: "),
        ([user([{"type": "text"}])], "messages.0.user.content.0: "),
    ],
)
def test_openai_names_the_field_that_is_wrong(messages: list[Any], field: str):
    with pytest.raises(NotARequest) as refused:
        openai(*messages)
    assert str(refused.value).startswith(field)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([user([{"type": "image", "source": {}}])], "messages.0.content.0: "),
        ([user([{"type": "document", "source": {}}])], "messages.0.content.0: "),
        ([user([RESULT])], "messages.0.content.0.tool_use_id: no tool call"),
        ([user([USE])], "messages.0.content.0.type: "),
        ([user("x"), {"role": "assistant", "content": [RESULT]}], "messages.1.content.0.type: "),
        ([user("x"), {"role": "assistant", "content": "x"}], "messages: the last one"),
        ([user([{**RESULT, "content": [{"type": "image"}]}])], "messages.0.content.0.tool_result.content: only parts"),
        ([user([{**RESULT, "tool_use_id": "c" * 200}])], "messages.0.content.0.tool_result.tool_use_id: "),
    ],
)
def test_anthropic_names_the_field_that_is_wrong(messages: list[Any], field: str):
    with pytest.raises(NotARequest) as refused:
        anthropic(*messages)
    assert str(refused.value).startswith(field)


def test_a_conversation_of_very_many_parts_is_refused_because_they_cost_more_than_their_words():
    with pytest.raises(NotARequest, match=r"^messages: "):
        openai(*[user("x")] * (MOST_PARTS + 1))
    assert len(openai(*[user("x")] * MOST_PARTS).messages[0].parts) == MOST_PARTS


# --- tools ----------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
OPENAI_TOOLS = [
    {"type": "function", "function": {"name": "bash", "description": "Runs.", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "submit"}},
]
ANTHROPIC_TOOLS: list[Any] = [
    {"name": "bash", "description": "Runs.", "input_schema": SCHEMA},
    {"name": "submit", "input_schema": {"type": "object", "properties": {}}, "type": "custom"},
]


def read_both(openai_choice: Any, anthropic_choice: Any) -> ModelRequestParameters:
    """The tools of the same request in both formats, which must agree."""
    of_openai = openai(user("x"), tools=OPENAI_TOOLS, tool_choice=openai_choice).parameters
    of_anthropic = anthropic(user("x"), tools=ANTHROPIC_TOOLS, tool_choice=anthropic_choice).parameters
    assert of_openai == of_anthropic
    return of_openai


def test_tools_are_offered():
    parameters = read_both(None, None)

    bash, submit = parameters.function_tools
    assert (bash.name, bash.description, bash.parameters_json_schema) == ("bash", "Runs.", SCHEMA)
    assert submit.parameters_json_schema == {"type": "object", "properties": {}}
    assert parameters.allow_text_output
    assert read_both("auto", {"type": "auto"}) == parameters


def test_a_choice_of_tools_is_kept():
    required = read_both("required", {"type": "any"})
    named = read_both({"type": "function", "function": {"name": "submit"}}, {"type": "tool", "name": "submit"})
    none = read_both("none", {"type": "none"})

    assert [len(each.function_tools) for each in (required, named, none)] == [2, 1, 0]
    assert [each.allow_text_output for each in (required, named, none)] == [False, False, True]


def test_tools_that_cannot_be_offered_are_refused():
    with pytest.raises(NotARequest, match=r"^tool_choice: "):
        openai(user("x"), tool_choice={"type": "function", "function": {"name": "bash"}})
    with pytest.raises(NotARequest, match=r"^tools\.0\.type: "):
        openai(user("x"), tools=[{"type": "web_search"}])
    with pytest.raises(NotARequest, match=r"^tools\.0\.type: "):
        anthropic(user("x"), tools=[{"type": "web_search_20250305", "name": "web_search"}])


# --- answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "of_openai", "of_anthropic"),
    [
        ("stop", "tool_calls", "tool_use"),
        ("tool_call", "tool_calls", "tool_use"),
        (None, "tool_calls", "tool_use"),
        ("length", "length", "max_tokens"),
        ("content_filter", "content_filter", "refusal"),
    ],
)
def test_the_end_of_an_answer_is_told(finish: FinishReason | None, of_openai: str, of_anthropic: str):
    response = ModelResponse([ToolCallPart("bash", {}, "c1")], finish_reason=finish)
    completion: Any = render_openai(response, ANY, "1")

    assert completion["choices"][0]["finish_reason"] == of_openai
    assert render_anthropic(response, ANY, "1")["stop_reason"] == of_anthropic


def test_a_call_that_was_cut_off_is_not_passed_on():
    response = ModelResponse([TextPart("I"), ToolCallPart("bash", '{"comm', "c1")], finish_reason="length")
    completion: Any = render_openai(response, ANY, "1")

    assert "tool_calls" not in completion["choices"][0]["message"]
    assert render_anthropic(response, ANY, "1")["content"] == [{"type": "text", "text": "I"}]


def test_thoughts_are_not_passed_on():
    response = ModelResponse([ThinkingPart("secretly"), TextPart("Done.")])

    assert "secretly" not in json.dumps(render_openai(response, ANY, "1"))
    assert "secretly" not in json.dumps(render_anthropic(response, ANY, "1"))


@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("response", [say("Done."), call_tool({"command": "ls"}), call_tool({"command": "ls"}, "I.")])
def test_an_answer_comes_back_in_the_next_request_as_it_was(wire: WireFormat, response: ModelResponse):
    body: Any = wire.render(response, ANY, "1")
    said = body["choices"][0]["message"] if wire is OPENAI else {"role": "assistant", "content": body["content"]}
    asked = MESSAGE | {"messages": [user("Fix it."), said, user("Go on.")]}

    parts = wire.parse(json.dumps(asked).encode()).messages[1].parts

    assert [_content(part) for part in parts] == [_content(part) for part in response.parts]


def _content(part: object) -> tuple[str, ...]:
    if isinstance(part, ToolCallPart):
        return (part.tool_name, part.args_as_json_str(), part.tool_call_id)
    assert isinstance(part, TextPart)
    return (part.content,)


def test_a_stream_of_openai_ends_with_done_and_tells_usage_only_if_asked():
    completion = render_openai(call_tool({"command": "ls"}, "I."), ANY, "1")
    events = [line.removeprefix("data: ") for line in frame_openai(completion, False).split("\n\n")]

    assert events[-2:] == ["[DONE]", ""]
    chunks = [json.loads(event) for event in events[:-2]]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "tool_calls"]
    assert all(chunk["object"] == "chat.completion.chunk" and "usage" not in chunk for chunk in chunks)
    last = json.loads(frame_openai(completion, True).split("\n\n")[-3].removeprefix("data: "))
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 107)


def test_a_stream_of_anthropic_names_its_events():
    message = render_anthropic(say("One\n\ntwo."), ANY, "1")
    events = [event.split("\n")[0] for event in frame_anthropic(message).split("\n\n")]

    assert events == [
        "event: message_start",
        "event: content_block_start",
        "event: content_block_delta",
        "event: content_block_stop",
        "event: message_delta",
        "event: message_stop",
        "",
    ]


@pytest.mark.parametrize("name", ["toolu_01XFDUDYJgAACzvnptvVoYEL", "call_9pw1qsRNxiQ0ksHmC6kVBHTe", "str_replace"])
def test_ids_and_names_of_tools_do_not_look_like_secrets(name: str):
    assert redact_outgoing(name) == name
