"""Bounds what an agent may look up before it reports: in how many messages, and for how many tokens of answers."""

from collections.abc import Iterator, Sequence

from pydantic import Field

from agents.llm.messages import REPORT
from agents.llm.prices import estimate
from agents.loop.turns import CompletedTurn, Result, Turn
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
