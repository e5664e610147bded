"""The loop of every agent: the model reasons and its tools act, until it reports its work or cannot continue.

What an agent that only reads may look up is bounded: in how many messages, and for how many tokens of answers.
"""

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from agents.llm.messages import REPORT, describe_mistakes
from agents.llm.prices import estimate
from agents.loop.tools.files import ReadFile
from agents.loop.tools.tool import Result, Tool, ToolEffect, call_tool
from agents.loop.turns import CompletedTurn, ToolUse, Turn
from domain.money import Refusal
from domain.value import Value

_REFUSED = f"Not looked up: {{}}. Call `{REPORT}` now; what you have seen counts."
_LAST = f"[That was the last look-up. Call `{REPORT}` now.]"
_MORE = "[More can be looked up in {} of your messages, for about {:,} tokens of answers.]"
_CUT = "\n[Cut here: no more is shown in this task.]"
_IN_VAIN = 2  # messages in a row of which every look-up failed


class LookUpLimits(Value):
    """What an agent may look up.

    :param turns: messages that look something up, each with several tools if the agent likes.
    :param tokens: of all answers, as `agents.llm.prices.estimate` counts them.
    """

    turns: int = Field(ge=1)
    tokens: int = Field(ge=1)

    def explain_end(self, past: Sequence[CompletedTurn], turn: Turn) -> str:
        """Why what a turn asks for is not looked up any more, as a clause; empty if it is.

        Whoever asks for the same again, or makes nothing but mistakes, learns nothing from further turns.
        """
        asked, looked = _list_asked(turn), [each for each in past if _list_asked(each.turn)]
        if not asked:
            return ""
        if len(looked) >= self.turns or self._count_left(past) <= 0:
            return "what may be looked up is used up"
        if asked <= {use for each in looked for use in _list_asked(each.turn)}:
            return "you have the answer already"
        latest = looked[-_IN_VAIN:]
        if len(latest) == _IN_VAIN and all(result.is_error for each in latest for result in each.results):
            return "your last look-ups were all mistakes"
        return ""

    def is_over(self, past: Sequence[CompletedTurn]) -> bool:
        """Whether the agent was told so."""
        return any(self.explain_end(past[:at], each.turn) for at, each in enumerate(past))

    def fit_results(self, past: Sequence[CompletedTurn], turn: Turn, results: Sequence[Result]) -> tuple[Result, ...]:
        """The results of a turn as far as there is room, with a note on what is left."""
        if not _list_asked(turn):
            return tuple(results)
        fitting = tuple(_fit(results, self._count_left(past)))
        now = [*past, CompletedTurn(turn=turn, results=fitting)]
        turns, tokens = self.turns - sum(bool(_list_asked(each.turn)) for each in now), self._count_left(now)
        note = _MORE.format(turns, tokens) if turns > 0 and tokens > 0 else _LAST
        return (*fitting[:-1], fitting[-1].model_copy(update={"text": f"{fitting[-1].text}\n{note}"}))

    def _count_left(self, past: Sequence[CompletedTurn]) -> int:
        return self.tokens - count_shown(past)


_FOUND = re.compile(r"^(.+?):\d+:", re.MULTILINE)  # a line that `grep` shows


def list_read(past: Sequence[CompletedTurn]) -> Iterator[tuple[str, int]]:
    """The files that were read, in order, and from which line on."""
    for use, _ in _list_results(past, "read_file"):
        read = ReadFile.model_validate_json(use.arguments)
        yield read.path.removeprefix("./"), read.first_line


def list_found(past: Sequence[CompletedTurn], *tools: str) -> Iterator[str]:
    """The files of which some tools that search showed lines."""
    for tool in tools:
        for _, text in _list_results(past, tool):
            yield from (found[1] for found in _FOUND.finditer(text))


def _list_results(past: Sequence[CompletedTurn], tool: str) -> Iterator[tuple[ToolUse, str]]:
    """The uses of a tool with success, and their results, in order."""
    for done in past:
        for use, result in zip(done.turn.uses, done.results, strict=True):
            if use.tool == tool and not result.is_error:
                yield use, result.text


A = TypeVar("A", bound=BaseModel)

SKIPPED = "after a refused edit"
"""The reason of a call that was not made."""
MAX_SILENT_TURNS = 3
"""After so many turns in a row without a tool call, the agent is stuck."""

MAX_USES = 40
"""How many tools one message may use; the rest is not called."""
READING_S = 60.0
_SLOW = "what one message reads took too long in all. Read less at a time."


@dataclass(frozen=True)
class Done(Generic[A]):
    """The agent reported its work.

    :param past: the turns that led to it.
    """

    value: A
    past: Sequence[CompletedTurn] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Stuck:
    """The agent makes no progress; a person is needed.

    :param why: one sentence.
    """

    why: str


@dataclass(frozen=True)
class Stopped:
    """The model can no longer be asked.

    :param why: what happened and what to do.
    :param refusal: the limit that was reached, if that was the reason.
    """

    why: str
    refusal: Refusal | None = None


Use = Callable[[], Awaitable[Sequence[Result]]]


class Steps(Protocol):
    """Runs the steps of a loop: checks the run's limits, journals each step, and finds it again after a crash."""

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        """The turns of an earlier attempt. The loop continues after them and does not call their tools again."""
        ...

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """The model's next turn."""
        ...

    async def act(
        self, past: Sequence[CompletedTurn], turn: Turn, use: Callable[[], Awaitable[Sequence[Result]]]
    ) -> CompletedTurn:
        """The turn with the results of its tools, which ``use`` calls."""
        ...


@dataclass(frozen=True)
class Agent(Generic[A]):
    """An agent, apart from its assignment.

    :param schema: of the work it reports.
    :param tools: what it may use before that.
    :param reading: how many seconds the tools of one message that read may take in all.
    :param mistakes: what is wrong with work of the right shape, in words the model can act on; None if nothing is.
    :param limits: what it may look up, if it only reads; None: as much as its steps allow.
    """

    schema: type[A]
    tools: Sequence[Tool]
    mistakes: Callable[[A], str | None]
    reading: float = READING_S
    limits: LookUpLimits | None = None

    def get_effect(self, tool: str) -> ToolEffect:
        """What a tool does; a report is about what was edited."""
        effects = {each.name: each.effect for each in self.tools} | {REPORT: ToolEffect.runs}
        return effects.get(tool, ToolEffect.reads)


async def run_agent(agent: Agent[A], steps: Steps) -> Done[A] | Stuck | Stopped:
    """Let an agent work until it is done, stuck or stopped."""
    past: list[CompletedTurn] = []
    earlier = deque(await steps.load_earlier())
    while not _is_silent(past):
        exchange = earlier.popleft() if earlier else await _take_turn(agent, steps, past)
        if isinstance(exchange, Stopped):
            return exchange
        past.append(exchange)
        value = _find_report(agent, exchange)
        if value is not None:
            return Done(value, past)
    return Stuck(f"The model said something {MAX_SILENT_TURNS} times in a row without doing anything.")


async def _take_turn(agent: Agent[A], steps: Steps, past: Sequence[CompletedTurn]) -> CompletedTurn | Stopped:
    turn = await steps.reason(past)
    if turn.problem is not None:
        return Stopped(turn.problem, turn.refusal)
    return await steps.act(past, turn, lambda: _use_within(agent, past, turn))


def _is_silent(past: Sequence[CompletedTurn]) -> bool:
    return len(past) >= MAX_SILENT_TURNS and not any(exchange.turn.uses for exchange in past[-MAX_SILENT_TURNS:])


async def _use_within(agent: Agent[A], past: Sequence[CompletedTurn], turn: Turn) -> Sequence[Result]:
    """The results of all tools, as far as the agent may look things up."""
    if agent.limits is None:
        return await _use_all(agent, turn.uses)
    over = agent.limits.explain_end(past, turn)
    if over:
        return [await _use(agent, use) if use.tool == REPORT else refuse(use.tool, over) for use in turn.uses]
    return agent.limits.fit_results(past, turn, await _use_all(agent, turn.uses))


async def _use_all(agent: Agent[A], uses: Sequence[ToolUse]) -> Sequence[Result]:
    """The results of all tools in order. Those that read run at the same time, all others one after the other.

    What follows a refused edit in the same message is not done, unless it only reads: the model wrote it for files that
    are not there.
    """
    results: list[Result] = []
    is_refused, left = False, agent.reading
    for is_reading, group in groupby(uses[:MAX_USES], lambda use: agent.get_effect(use.tool) is ToolEffect.reads):
        if is_reading:
            began = time.monotonic()
            results += await _use_together(agent, list(group), left)
            left = max(left - (time.monotonic() - began), 0)
            continue
        for use in group:
            results.append(_skip(use) if is_refused else await _time_use(agent, use))
            is_refused = is_refused or (agent.get_effect(use.tool) is ToolEffect.edits and results[-1].is_error)
    return [*results, *map(_leave_out, uses[MAX_USES:])]


async def _use_together(agent: Agent[A], uses: Sequence[ToolUse], seconds: float) -> Sequence[Result]:
    """The results of tools that read; those that are not done in time are ended."""
    working = [asyncio.create_task(_time_use(agent, use)) for use in uses]
    try:
        await asyncio.wait(working, timeout=seconds)
    finally:
        for each in working:
            each.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return [_give_up(use) if each.cancelled() else each.result() for use, each in zip(uses, working, strict=True)]


def _give_up(use: ToolUse) -> Result:
    return Result(text=f"{use.tool} was ended: {_SLOW}", is_error=True)


def _leave_out(use: ToolUse) -> Result:
    text = f"{use.tool} was not called: one message may use {MAX_USES} tools. Call it in the next one."
    return Result(text=text, is_error=True)


def _skip(use: ToolUse) -> Result:
    text = f"{use.tool} was not called, because an edit before it in the same message was refused. Correct that first."
    return Result(text=text, is_error=True, reason=SKIPPED)


async def _time_use(agent: Agent[A], use: ToolUse) -> Result:
    began = time.monotonic()
    result = await _use(agent, use)
    return result.model_copy(update={"seconds": time.monotonic() - began})


async def _use(agent: Agent[A], use: ToolUse) -> Result:
    if use.tool == REPORT:
        wrong = _read_report(agent, use)
        return Result(text=wrong, is_error=True) if isinstance(wrong, str) else Result(text="Taken.")
    try:
        arguments = cast(object, json.loads(use.arguments))
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return Result(text=f"{use.tool} was not called: its arguments are no JSON object.", is_error=True)
    return await call_tool(agent.tools, use.tool, cast(dict[str, object], arguments))


def _find_report(agent: Agent[A], exchange: CompletedTurn) -> A | None:
    """The work of the first valid report that was taken."""
    pairs = zip(exchange.turn.uses, exchange.results, strict=True)
    values = (_read_report(agent, use) for use, result in pairs if use.tool == REPORT and not result.is_error)
    return next((value for value in values if not isinstance(value, str)), None)


def _read_report(agent: Agent[A], use: ToolUse) -> A | str:
    """The work in a report, or what is wrong with it."""
    try:
        value = agent.schema.model_validate_json(use.arguments)
    except ValidationError as error:
        return describe_mistakes(error)
    return agent.mistakes(value) or value


def count_shown(past: Sequence[CompletedTurn]) -> int:
    """The tokens of all answers so far."""
    return sum(estimate(result.text) for each in past for result in each.results)


def refuse(tool: str, why: str) -> Result:
    """The answer to a look-up that is not made.

    :param why: a clause.
    """
    return Result(text=_REFUSED.format(why), is_error=True, reason=f"{tool} is over")


def _list_asked(turn: Turn) -> frozenset[tuple[str, str]]:
    return frozenset((use.tool, use.arguments) for use in turn.uses if use.tool != REPORT)


def _fit(results: Sequence[Result], room: int) -> Iterator[Result]:
    for result in results:
        size = estimate(result.text)
        if size > room:
            shown = result.text[: len(result.text) * max(room, 0) // size]
            result = result.model_copy(update={"text": shown + _CUT})
        room -= size
        yield result
