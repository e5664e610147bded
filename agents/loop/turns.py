"""One turn of an agent: what the model says and which tools it wants to use, seeing what went before."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic import BaseModel, ConfigDict, Field
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

from agents.llm import messages
from agents.llm.ask import ModelResult
from agents.llm.client import CallRequest, ModelCall, ModelClient, RetryPolicy
from agents.llm.models import LanguageModel
from agents.llm.tokens import estimate
from agents.loop.tools.tool import Tool
from domain.gates import digest
from domain.money import Refusal
from domain.ports import ModelBudget

DROPPED = "(This was left out to make room. Call the tool again if you need it.)"
_NUDGE = f"Use a tool, or hand in your work with `{messages.REPORT}`."


class Assignment(BaseModel):
    """What an agent is given.

    :param key: names its steps; unique in its phase.
    :param instructions: the stable part, the same for every assignment of its kind, which providers may cache.
    :param content: the varying part.
    :param max_output_tokens: what one turn may have at most.
    :param window: tokens a conversation may have, about.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    instructions: str
    content: str
    max_output_tokens: int = 8000
    window: int = 120_000


class ToolUse(BaseModel):
    """One use of a tool that the model asks for; ``arguments`` as the JSON it wrote."""

    model_config = ConfigDict(frozen=True)

    id: str
    tool: str
    arguments: str


class Result(BaseModel):
    """What a tool answered. What the model does not see is no part of the name of its next turn.

    :param reason: of an error: see :class:`agents.loop.tools.tool.ToolMistake`.
    :param seconds: that it took.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    is_error: bool = False
    reason: str = Field(default="", repr=False)
    seconds: float = Field(default=0.0, repr=False)


class Turn(ModelResult):
    """What the model did in one turn. JSON-able, for the journal."""

    text: str = ""
    uses: tuple[ToolUse, ...] = ()


class CompletedTurn(BaseModel):
    """A turn and what came of it, one result for each use."""

    model_config = ConfigDict(frozen=True)

    turn: Turn
    results: tuple[Result, ...]


async def take_turn(
    assignment: Assignment,
    past: Sequence[CompletedTurn],
    schema: type[BaseModel],
    tools: Sequence[Tool],
    model: LanguageModel,
    budget: ModelBudget,
    retry: RetryPolicy = RetryPolicy(),
    keep: Callable[[Turn], Awaitable[None]] | None = None,
) -> Turn:
    """The model's next turn.

    :param past: the turns before it, in order.
    :param schema: of what it hands in at the end.
    :param keep: is handed the turn before it is paid for.
    :returns: always a turn; whatever the model, its provider or the budget does wrong is its problem.
    """
    key = f"{assignment.key} {len(past) + 1}"

    async def keep_first(response: ModelResponse) -> None:
        if keep is not None:
            await keep(_turn(key, response, ()))

    caller = ModelClient(key, model, budget, retry, keep_first)
    offered = [messages.define_tool(tool.name, tool.description, tool.arguments) for tool in tools]
    sent = CallRequest(
        _messages(assignment, past),
        messages.build_parameters(schema, offered),
        assignment.max_output_tokens,
        cached=True,
    )
    async with model.model:  # closes its connections
        response = await caller.fetch_response(sent)
    return _turn(key, response, tuple(caller.calls))


def digest_turn(
    assignment: Assignment, past: Sequence[CompletedTurn], schema: type[BaseModel], model: LanguageModel
) -> str:
    """A name of the assignment and of everything the model sees in this turn, by which its answer is found again.

    Another assignment is another one, also where its words are the same: what came of the first changed the files.
    """
    seen = [(_summarize(each.turn), each.results) for each in past]
    return digest(model.name, assignment.key, assignment.instructions, assignment.content, schema.__name__, seen)


def _summarize(turn: Turn) -> tuple[str, Sequence[tuple[str, str]]]:
    return turn.text, [(use.tool, use.arguments) for use in turn.uses]


def _turn(key: str, response: ModelResponse | Refusal | str, calls: tuple[ModelCall, ...]) -> Turn:
    if isinstance(response, Refusal):
        return Turn(key=key, problem=f"{response.message} {response.advice}", refusal=response, calls=calls)
    if isinstance(response, str):
        return Turn(key=key, problem=response, calls=calls)
    if response.finish_reason == "content_filter":
        return Turn(key=key, problem="The model refused to go on.", calls=calls)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    uses = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if response.finish_reason == "length":
        uses = []  # the last one is cut off, and nobody knows where
    return Turn(key=key, text=text, uses=tuple(map(_use, uses)), calls=calls)


def _use(part: ToolCallPart) -> ToolUse:
    return ToolUse(id=part.tool_call_id, tool=part.tool_name, arguments=part.args_as_json_str())


# --- the conversation, as providers want it -------------------------------------------------------------------


def _messages(assignment: Assignment, past: Sequence[CompletedTurn]) -> list[ModelMessage]:
    messages: list[ModelMessage] = [_request(assignment, UserPromptPart(assignment.content))]
    for exchange in fit_past(past, assignment.window - estimate(assignment.instructions + assignment.content)):
        messages += [_to_response(exchange.turn), _request(assignment, *_to_result_parts(exchange))]
    return messages


def _request(assignment: Assignment, *parts: ModelRequestPart) -> ModelRequest:
    return ModelRequest(parts=list(parts), instructions=assignment.instructions)


def _to_response(turn: Turn) -> ModelResponse:
    text = [TextPart(turn.text)] if turn.text.strip() or not turn.uses else []
    return ModelResponse([*text, *(ToolCallPart(use.tool, use.arguments, use.id) for use in turn.uses)])


def _to_result_parts(exchange: CompletedTurn) -> list[ModelRequestPart]:
    pairs = zip(exchange.turn.uses, exchange.results, strict=True)
    return [_part(use, result) for use, result in pairs] or [UserPromptPart(_NUDGE)]


def _part(use: ToolUse, result: Result) -> ModelRequestPart:
    outcome = "retried" if result.is_error else "success"
    return ToolReturnPart(use.tool, result.text, use.id, outcome=outcome)


def fit_past(past: Sequence[CompletedTurn], room: int) -> list[CompletedTurn]:
    """The turns without the oldest results of tools, where all of them are too much.

    They go by halves of the room, not one with each turn: what stays the same in front is what providers cache.

    :param room: tokens, about.
    """
    sizes = [_size(each) for each in past]
    dropped, held = 0, 0
    for at, size in enumerate(sizes):
        held += size
        if held > room:
            held, dropped = _drop_half(sizes, held, dropped, at, room)
    return [*map(_drop_results, past[:dropped]), *past[dropped:]]


def _drop_half(sizes: Sequence[int], held: int, dropped: int, at: int, room: int) -> tuple[int, int]:
    """Drop from the front until half of the room is free; what is held then, and how many are dropped."""
    while held > room // 2 and dropped < at:
        held -= sizes[dropped]
        dropped += 1
    return held, dropped


def _size(exchange: CompletedTurn) -> int:
    said = sum(estimate(use.arguments) for use in exchange.turn.uses) + estimate(exchange.turn.text)
    return said + sum(estimate(result.text) for result in exchange.results)


def _drop_results(exchange: CompletedTurn) -> CompletedTurn:
    results = tuple(result.model_copy(update={"text": DROPPED}) for result in exchange.results)
    return exchange.model_copy(update={"results": results})
