"""One turn of an agent: the model sees the earlier turns, and answers with text and tool calls."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic import BaseModel
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
from agents.llm.prices import estimate
from agents.loop.tools.tool import Result, Tool
from domain.gates import digest
from domain.money import Refusal
from domain.ports import ModelBudget
from domain.value import Value

DROPPED = "(This was left out to make room. Call the tool again if you need it.)"
_NUDGE = f"Use a tool, or hand in your work with `{messages.REPORT}`."


class Assignment(Value):
    """What an agent is asked to do.

    :param key: names its steps; unique in its phase.
    :param instructions: the stable part, the same for every assignment of its kind; providers may cache it.
    :param content: the varying part.
    :param max_output_tokens: the limit of one turn.
    :param window: the approximate number of tokens a conversation may have.
    """

    key: str
    instructions: str
    content: str
    max_output_tokens: int = 8000
    window: int = 120_000


class ToolUse(Value):
    """One tool call of the model; ``arguments`` is the JSON it wrote."""

    id: str
    tool: str
    arguments: str


class Turn(ModelResult):
    """What the model did in one turn. Can be stored as JSON."""

    text: str = ""
    uses: tuple[ToolUse, ...] = ()


class CompletedTurn(Value):
    """A turn with one result for each tool call."""

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

    :param past: the earlier turns, in order.
    :param schema: of the work that it reports at the end.
    :param keep: receives the turn before it is paid for.
    :returns: always a turn; ``problem`` holds any failure of the model, its provider or the budget.
    """
    key = f"{assignment.key} {len(past) + 1}"

    async def keep_first(response: ModelResponse, call: ModelCall) -> None:
        if keep is not None:
            await keep(_turn(key, response, (*caller.calls, call)))

    caller = ModelClient(key, model, budget, retry, keep_first)
    offered = [messages.define_tool(tool.name, tool.description, tool.arguments) for tool in tools]
    sent = CallRequest(
        _messages(assignment, past),
        messages.build_parameters(schema, offered),
        assignment.max_output_tokens,
        cached=True,
    )
    response = await caller.fetch_response(sent)
    return _turn(key, response, tuple(caller.calls)).model_copy(update={"notice": caller.notice})


def digest_turn(
    assignment: Assignment, past: Sequence[CompletedTurn], schema: type[BaseModel], model: LanguageModel
) -> str:
    """A digest of the assignment and of what the model sees in this turn, by which its answer is found again.

    It includes the assignment's key: the same words in a later assignment meet files that the first one changed. It
    leaves the instructions out: what is done stays done when a new version of Forge words them otherwise.
    """
    seen = [((each.turn.text, [(use.tool, use.arguments) for use in each.turn.uses]), each.results) for each in past]
    return "turn " + digest(model.name, assignment.key, assignment.content, schema.__name__, seen)


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
        uses.clear()  # the last call is cut off at an unknown place
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
    """The turns; if they are too long, without the oldest tool results.

    It frees half of the room at once, so that the beginning, which providers cache, stays the same for many turns.

    :param room: the approximate number of tokens.
    """
    sizes = [_size(each) for each in past]
    dropped, held = 0, 0
    for at, size in enumerate(sizes):
        held += size
        if held > room:
            held, dropped = _drop_half(sizes, held, dropped, at, room)
    return [*map(_drop_results, past[:dropped]), *past[dropped:]]


def _drop_half(sizes: Sequence[int], held: int, dropped: int, at: int, room: int) -> tuple[int, int]:
    """Drop results from the front until half of the room is free. Returns (tokens held, turns dropped)."""
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
