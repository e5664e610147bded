"""The loop of every agent: reasoning, acting, handing in, and what ends it otherwise."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agents.llm.client import RetryPolicy
from agents.llm.scripted import Fails, Says, ScriptedModel, Uses
from agents.loop.loop import MAX_SILENT_TURNS, MAX_USES, Agent, Done, Stopped, Stuck, run_agent
from agents.loop.tools.tool import Result, Tool, ToolMistake
from agents.loop.turns import (
    DROPPED,
    Assignment,
    CompletedTurn,
    ToolUse,
    Turn,
    digest_turn,
    fit_past,
    take_turn,
)
from tests.purses import OpenPurse

IMPATIENT = RetryPolicy(attempts=1)


class Sum(BaseModel):
    total: int


class Number(BaseModel):
    """Asks for a number."""

    of: str


async def _look(asked: Number) -> str:
    if asked.of == "nothing":
        raise ToolMistake("There is no such number. Ask for a price.")
    return f"the number of {asked.of} is {len(asked.of)}"


LOOK = Tool("look", "Tells the number of something.", Number, _look)
ADDER = Agent(Sum, [LOOK], lambda done: None if done.total > 0 else "The total has to be positive.")
ASSIGNMENT = Assignment(key="add", instructions="Add numbers.", content="Add the numbers of egg and tea.")


class Steps:
    """Takes the steps at once, and notes them."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.before: Sequence[CompletedTurn] = ()
        self.names: list[str] = []
        self.past: list[CompletedTurn] = []

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        return self.before

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        self.names.append(digest_turn(ASSIGNMENT, past, Sum, self.model.language_model))
        return await take_turn(ASSIGNMENT, past, Sum, [LOOK], self.model.language_model, OpenPurse(), IMPATIENT)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Callable[[], Awaitable[Any]]) -> CompletedTurn:
        exchange = CompletedTurn(turn=turn, results=tuple(await use()))
        self.past = [*past, exchange]
        return exchange


def build_steps(*replies: Any) -> Steps:
    return Steps(ScriptedModel().when("Add the numbers", *replies))


async def test_it_goes_on_behind_what_was_done_before() -> None:
    """With every number of turns taken, up to the work that was handed in; no tool is used for them again."""
    replies = [Uses([("look", {"of": "egg"})]), Uses([("look", {"of": "tea"})]), {"total": 6}]
    whole = build_steps(*replies)
    await run_agent(ADDER, whole)
    for taken in range(1, len(replies) + 1):
        steps = build_steps(*replies[taken:])
        steps.before = whole.past[:taken]
        assert await run_agent(ADDER, steps) == Done(Sum(total=6))
        assert steps.names == whole.names[taken:]


async def test_it_uses_tools_at_once_and_hands_in() -> None:
    steps = build_steps(Uses([("look", {"of": "egg"}), ("look", {"of": "tea"})], "First I look."), {"total": 6})
    assert await run_agent(ADDER, steps) == Done(Sum(total=6))
    assert [result.text for result in steps.past[0].results] == ["the number of egg is 3", "the number of tea is 3"]
    assert "the number of tea is 3" in steps.model.calls[1].content
    assert len(set(steps.names)) == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Uses([("shout", {})]), "There is no tool 'shout'"),
        (Uses([("look", {"from": "egg"})]), "not valid"),
        (Uses([("look", {"of": "nothing"})]), "Ask for a price"),
        ({"total": "many"}, "total: Input should be a valid integer"),
        ({"total": -1}, "The total has to be positive."),
        (Says("It is six."), "hand in your work"),
    ],
)
async def test_what_it_does_wrong_it_can_mend(wrong: Any, told: str) -> None:
    steps = build_steps(wrong, {"total": 6})
    assert await run_agent(ADDER, steps) == Done(Sum(total=6))
    assert told in steps.model.calls[1].content


async def test_what_one_message_may_use_is_bounded() -> None:
    """The uses that are too many are answered, so the model can make them in its next message."""
    steps = build_steps(Uses([("look", {"of": "egg"})] * (MAX_USES + 2)), {"total": 6})
    assert await run_agent(ADDER, steps) == Done(Sum(total=6))
    results = steps.past[0].results
    assert [result.is_error for result in results] == [False] * MAX_USES + [True] * 2
    assert "Call it in the next one" in results[-1].text


async def test_what_one_message_reads_takes_a_bounded_time_and_is_ended() -> None:
    ended: list[str] = []

    async def search(asked: Number) -> str:
        try:
            await asyncio.sleep(0 if asked.of == "tea" else 60)
        except asyncio.CancelledError:
            ended.append(asked.of)
            raise
        return "found"

    agent = replace(ADDER, tools=[Tool("look", "Searches.", Number, search)], reading=0.2)
    steps = build_steps(Uses([("look", {"of": "tea"}), ("look", {"of": "egg"})]), {"total": 6})
    assert await run_agent(agent, steps) == Done(Sum(total=6))
    assert [result.is_error for result in steps.past[0].results] == [False, True]
    assert "Read less at a time" in steps.past[0].results[1].text
    assert ended == ["egg"]


async def test_who_only_talks_is_stuck() -> None:
    steps = build_steps(Says("Hm."))
    assert isinstance(await run_agent(ADDER, steps), Stuck)
    assert len(steps.model.calls) == MAX_SILENT_TURNS


async def test_a_provider_that_fails_stops_it() -> None:
    ended = await run_agent(ADDER, build_steps(Fails(400)))
    assert isinstance(ended, Stopped)
    assert "HTTP 400" in ended.why


async def test_what_is_used_beside_a_report_is_answered_too() -> None:
    """Every use has its result, or providers refuse the conversation."""
    steps = build_steps(Uses([("report", {"total": -1}), ("look", {"of": "egg"})]), {"total": 6})
    assert await run_agent(ADDER, steps) == Done(Sum(total=6))
    assert [result.is_error for result in steps.past[0].results] == [True, False]


# --- the window --------------------------------------------------------------------------------------------


def exchange(number: int, words: int) -> CompletedTurn:
    use = ToolUse(id=str(number), tool="look", arguments="{}")
    return CompletedTurn(turn=Turn(key="add", uses=(use,)), results=(Result(text="word " * words),))


SIZES = st.lists(st.integers(0, 300), max_size=30)


@given(sizes=SIZES, room=st.integers(0, 2000))
def test_only_the_oldest_results_go_and_nothing_else(sizes: list[int], room: int) -> None:
    past = [exchange(number, words) for number, words in enumerate(sizes)]
    left = fit_past(past, room)
    dropped = [each.results[0].text == DROPPED for each in left]
    assert [each.turn for each in left] == [each.turn for each in past]
    assert dropped == sorted(dropped, reverse=True)
    assert not dropped or not dropped[-1]
    if sum(sizes) + len(sizes) * 2 <= room:
        assert left == past


@given(sizes=SIZES, room=st.integers(500, 2000))
def test_what_stands_in_front_seldom_changes(sizes: list[int], room: int) -> None:
    """Each time it does, at least half of the room is free again; until then providers find what they cached."""
    past = [exchange(number, words) for number, words in enumerate(sizes)]
    counts = [sum(e.results[0].text == DROPPED for e in fit_past(past[:end], room)) for end in range(len(past) + 1)]
    changes = sum(before != after for before, after in pairwise(counts))
    assert counts == sorted(counts)
    assert changes <= 1 + 2 * (sum(sizes) + 4 * len(sizes)) // max(1, room // 2)


def test_what_was_made_room_for_is_named() -> None:
    past = [exchange(number, 100) for number in range(10)]
    left = fit_past(past, 500)
    assert left[0].results[0].text == DROPPED
    assert left[-1] == past[-1]
