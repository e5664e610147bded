"""Asks a model about a change and lets it look into the code of the head first, with tools that only read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agents.llm.ask import choose_after
from agents.llm.models import LanguageModel
from agents.loop.look_up_limits import LookUpLimits
from agents.loop.loop import Agent, Steps, Use, run_agent
from agents.loop.tools.files import make_file_tools
from agents.loop.tools.history import make_history_tools
from agents.loop.tools.references import make_references_tool
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment, CompletedTurn, Turn, take_turn
from agents.review.model.look_ups import (
    LookedUpReport,
    ReviewAnswer,
    build_agent,
    build_answer,
    build_assignment,
    find_end,
    list_offered,
)
from agents.review.model.questions import ReviewQuestion, find_withheld_lines
from agents.review.neighbours import find_references
from agents.syntax.symbols.references import Reference
from agents.toolbox import Toolbox
from domain.ports import ModelBudget
from domain.review.findings import RawFinding
from domain.text.redaction import redact_outgoing
from safety.containment import CodeOrigin
from workspace.objects import Objects
from workspace.snapshot import Snapshot

ChooseSteps = Callable[[Agent[LookedUpReport], Assignment], Steps]
"""How the turns of a question are taken and kept."""


@dataclass(frozen=True)
class ReadableCode:
    """The code of a head as a model may look into it.

    :param never_send: globs of files that no model may see.
    :param found: by layers 1 and 2: lines with credentials are withheld.
    """

    objects: Objects
    head_sha: str
    toolbox: Toolbox
    origin: CodeOrigin
    never_send: Sequence[str]
    found: Sequence[RawFinding]

    async def make_tools(self) -> Sequence[Tool]:
        """The tools, none of which changes or runs anything.

        :raises CodeAccessError: the code cannot be read.
        """
        snapshot = await Snapshot.of(self.objects, self.head_sha)
        never, redact, withheld = self.never_send, redact_outgoing, find_withheld_lines(self.found)
        return (
            *make_file_tools(snapshot, never_send=never, redact=redact, withheld=withheld),
            make_references_tool(snapshot, self._find, never_send=never, redact=redact, withheld=withheld),
            *make_history_tools(snapshot.history, never_send=never, redact=redact),
        )

    async def _find(self, path: str, name: str) -> Sequence[Reference] | None:
        return await find_references(self.objects, self.head_sha, path, name, self.toolbox, self.origin)


async def ask_looking_up(
    question: ReviewQuestion, tools: Sequence[Tool], limits: LookUpLimits, why: str, choose_steps: ChooseSteps
) -> ReviewAnswer:
    """What a model answers to a question after its look-ups.

    :param why: look-ups are offered, as a clause.
    """
    agent = build_agent(tools, limits)
    steps = _BoundSteps(choose_steps(agent, build_assignment(question, limits)), question.key, limits)
    end = await run_agent(agent, steps)
    return build_answer(question, steps.turns, steps.past, end, limits, why)


@dataclass(frozen=True)
class _BoundSteps:
    """Steps that end when the model may be asked no further, and remember all turns."""

    inner: Steps
    key: str
    limits: LookUpLimits
    turns: list[Turn] = field(default_factory=list[Turn])
    past: list[CompletedTurn] = field(default_factory=list[CompletedTurn])

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        earlier = await self.inner.load_earlier()
        self.past.extend(earlier)
        self.turns.extend(each.turn for each in earlier)
        return earlier

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        ended = find_end(past, self.limits)
        if ended is not None:
            return Turn(key=self.key, problem=ended)
        self.turns.append(await self.inner.reason(past))
        return self.turns[-1]

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        self.past.append(await self.inner.act(past, turn, use))
        return self.past[-1]


@dataclass(frozen=True)
class DirectSteps:
    """The turns of a review without a run, of which nothing is kept."""

    agent: Agent[LookedUpReport]
    assignment: Assignment
    model: LanguageModel
    budget: ModelBudget

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        return ()

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        going_on = choose_after(self.model, [each.turn for each in past])
        tools = list_offered(self.agent, past)
        return await take_turn(self.assignment, past, self.agent.schema, tools, going_on, self.budget)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        return CompletedTurn(turn=turn, results=tuple(await use()))
