"""Answers one call of a tool: what the model did wrong becomes a text it can act on."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

LONGEST_ANSWER = 30_000
"""Characters of an answer; a tool that can say how to go on keeps below it by itself."""

_CUT = "\n[Cut here, {more:,} characters are missing. Ask for less at a time: fewer lines, a narrower glob or pattern.]"
_MOST_PROBLEMS = 5


class ToolMistake(Exception):
    """What a call asks for cannot be had; the message tells the model what to do instead.

    :param reason: the same for every call that is refused for the same; empty: the message is.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True)
class Tool:
    """Something an agent can call.

    :param name: by which the model calls it.
    :param description: for the model: what it does, and what it does not.
    :param arguments: what it takes.
    :param call: does it, given ``arguments``; raises ``ToolMistake`` for what the model can do better.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[[Any], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What the model gets to read, and whether that is an answer or says why there is none.

    :param reason: of an error, where the text is not the same for the same mistake; see :class:`ToolMistake`.
    """

    text: str
    is_error: bool = False
    reason: str = ""


async def call_tool(tools: Sequence[Tool], name: str, arguments: Mapping[str, object]) -> ToolOutcome:
    """The outcome of a call, whatever the model made of it.

    :param arguments: as the model wrote them.
    :raises Exception: what is not the model's mistake, such as a repository that cannot be reached.
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
        return ToolOutcome(_cut(await tool.call(given)))
    except ToolMistake as mistake:
        return _refuse(str(mistake), mistake.reason)


def _refuse(text: str, reason: str = "") -> ToolOutcome:
    return ToolOutcome(_cut(text), is_error=True, reason=reason)


def _list_problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, each['loc']))[:100] or 'arguments'}: {each['msg']}." for each in found]
    more = len(told) - _MOST_PROBLEMS
    return " ".join([*told[:_MOST_PROBLEMS], *([f"And {more} more."] if more > 0 else [])])


def _cut(text: str) -> str:
    more = len(text) - LONGEST_ANSWER
    return text if more <= 0 else text[:LONGEST_ANSWER] + _CUT.format(more=more)
