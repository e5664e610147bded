"""Runs one tool call; a mistake of the model becomes a text it can act on."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.runs.patches import ChangeSet
from domain.value import Value

LONGEST_ANSWER = 30_000
"""The most characters of an answer; a tool that offers a way to continue stays below it itself."""

_CUT = "\n[Cut here, {more:,} characters are missing. Ask for less at a time: fewer lines, a narrower glob or pattern.]"
_MOST_PROBLEMS = 5


class ToolMistake(Exception):
    """The call cannot be done; the message tells the model what to do instead.

    :param reason: the same for all calls refused for the same reason; if empty, the message is the reason.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        self.reason = reason
        super().__init__(message)


class ToolEffect(StrEnum):
    """What a call does, which decides whether it may run beside others."""

    reads = "reads"
    edits = "edits"
    runs = "runs"  # something that depends on what was edited


class Result(Value):
    """The result of a tool call. Fields that the model does not see are not part of its next turn's digest.

    :param reason: the kind of an error; see :class:`ToolMistake`.
    :param seconds: how long the call took.
    :param change: what the call did to the files; None if its arguments say so. With it, the call is not repeated.
    """

    text: str
    is_error: bool = False
    reason: str = Field(default="", repr=False)
    seconds: float = Field(default=0.0, repr=False)
    change: ChangeSet | None = Field(default=None, repr=False)


class ToolArguments(Value):
    """What a tool takes, and nothing else."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Tool:
    """Something an agent can call.

    :param name: the name that the model uses.
    :param description: for the model: what it does, and what it does not.
    :param arguments: the schema of its arguments.
    :param call: runs it; raises ``ToolMistake`` for a mistake that the model can correct.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[[Any], Awaitable[str | Result]]
    effect: ToolEffect = ToolEffect.reads


async def call_tool(tools: Sequence[Tool], name: str, arguments: Mapping[str, object]) -> Result:
    """The result of a call; the model's mistakes are results, too.

    :param arguments: as the model wrote them.
    :raises Exception: a failure that is not the model's mistake, such as an unreachable repository.
    """
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in tools)
        return _refuse(f"There is no tool {name[:100]!r}. There are: {known}.")
    try:
        given = tool.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        return _refuse(f"{name} was not called, its arguments are not valid. {_list_problems(error)}")
    try:
        answer = await tool.call(given)
    except ToolMistake as mistake:
        return _refuse(str(mistake), mistake.reason)
    result = Result(text=answer) if isinstance(answer, str) else answer
    return result.model_copy(update={"text": _cut(result.text)})


def _refuse(text: str, reason: str = "") -> Result:
    return Result(text=_cut(text), is_error=True, reason=reason)


def _list_problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, each['loc']))[:100] or 'arguments'}: {each['msg']}." for each in found]
    more = len(told) - _MOST_PROBLEMS
    return " ".join([*told[:_MOST_PROBLEMS], *([f"And {more} more."] if more > 0 else [])])


def _cut(text: str) -> str:
    more = len(text) - LONGEST_ANSWER
    return text if more <= 0 else text[:LONGEST_ANSWER] + _CUT.format(more=more)
