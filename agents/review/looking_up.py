"""Asks a model about a change and lets it look into the code of the head first, with tools that only read."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from agents.llm.ask import ModelAnswer, choose_after
from agents.llm.messages import REPORT
from agents.llm.models import LanguageModel
from agents.loop.loop import (
    Agent,
    Done,
    LookUpLimits,
    Steps,
    Stopped,
    Stuck,
    Use,
    count_shown,
    list_found,
    list_read,
    run_agent,
)
from agents.loop.tools.files import make_file_tools
from agents.loop.tools.history import REFERENCES, make_history_tools, make_references_tool
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment, CompletedTurn, Turn, take_turn
from agents.prompts import load_prompt
from agents.review.model.answers import Report, ReportedFinding, keep_valid
from agents.review.model.questions import ReviewQuestion, find_withheld_lines
from agents.review.model.related import RelatedCode, withhold_keys
from agents.review.syntax import find_references_to
from agents.toolbox import Toolbox
from domain.ports import ModelBudget
from domain.review.findings import RawFinding
from domain.review.reading import LookUps
from domain.text.redaction import redact_outgoing
from domain.value import Value
from safety.containment import CodeOrigin
from workspace.objects import Objects
from workspace.snapshot import Snapshot

_AFTER = 2  # messages after the last look-up: one that may be refused one more, and one that can only report
_MOST_EVIDENCE, _AROUND = 3, 5  # places of a finding that are shown again, and lines around each
_WORDS = "The model answers in words instead of using tools."
_ENDLESS = "The model looked things up in {} messages and gave no answer after that."


class LookedUpPlace(Value):
    """A line that was looked up."""

    path: str
    line: int


class LookedUpFinding(ReportedFinding):
    """A finding, with the unchanged lines that show it."""

    evidence: tuple[LookedUpPlace, ...] = ()


class LookedUpReport(Report):
    """The report of a model that could look things up."""

    # pyrefly: ignore[bad-override]
    findings: Annotated[list[LookedUpFinding], keep_valid(LookedUpFinding)]


class ReviewAnswer(ModelAnswer):
    """An answer to a question that offered look-ups.

    :param seen: paths of which the model was shown lines.
    :param asks_plainly: there is none, and one question without tools may have one: the model does not know tools, or
        an API does not take their results.
    """

    looked_up: LookUps
    seen: tuple[str, ...] = ()
    asks_plainly: bool = False

    def replace_by(self, plain: ModelAnswer) -> "ReviewAnswer":
        """The answer to the question without tools, with what both cost."""
        told = {"value": plain.value, "problem": plain.problem, "refusal": plain.refusal}
        return self.model_copy(
            update={**told, "notice": plain.notice or self.notice, "calls": (*self.calls, *plain.calls)}
        )


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
        find = partial(find_references_to, self.objects, self.head_sha, toolbox=self.toolbox, origin=self.origin)
        never, withheld = self.never_send, find_withheld_lines(self.found)
        return (
            *make_file_tools(snapshot, never_send=never, withheld=withheld),
            make_references_tool(snapshot, find, never_send=never, withheld=withheld),
            *make_history_tools(snapshot.history, never_send=never),
        )


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


def build_agent(tools: Sequence[Tool], limits: LookUpLimits) -> Agent[LookedUpReport]:
    """The reader of a change.

    :param tools: that only read.
    """
    return Agent(LookedUpReport, tools, lambda _: None, limits=limits)


def build_assignment(question: ReviewQuestion, limits: LookUpLimits) -> Assignment:
    """The question as it is asked with look-ups; only the end of its instructions differs, which says how many."""
    offer = load_prompt("look_ups").format(messages=limits.turns, tokens=limits.tokens)
    return Assignment(
        key=question.key,
        instructions=f"{question.instructions}\n\n{offer}",
        content=question.content,
        max_output_tokens=question.max_output_tokens,
    )


def allot(usual: LookUpLimits, most_calls: int, made: int, due: int) -> LookUpLimits | None:
    """What one question may look up; None if all calls are needed otherwise.

    :param most_calls: of the review phase.
    :param made: calls so far.
    :param due: calls that may still be needed, with one for this question.
    """
    turns = min(usual.turns, most_calls - made - due)
    return None if turns < 1 else usual.model_copy(update={"turns": turns})


def find_end(past: Sequence[CompletedTurn], limits: LookUpLimits) -> str | None:
    """Why the model is asked no further; None if it is."""
    if past and not past[-1].turn.uses:
        return _WORDS
    return _ENDLESS.format(limits.turns) if len(past) >= limits.turns + _AFTER else None


def list_offered(agent: Agent[LookedUpReport], past: Sequence[CompletedTurn]) -> Sequence[Tool]:
    """The tools of the next turn: all of them, so that what providers cache stays the same, until one was refused."""
    is_over = agent.limits is not None and agent.limits.is_over(past)
    return () if is_over else agent.tools


def build_answer(
    question: ReviewQuestion,
    turns: Sequence[Turn],
    past: Sequence[CompletedTurn],
    end: Done[LookedUpReport] | Stuck | Stopped,
    limits: LookUpLimits,
    why: str,
) -> ReviewAnswer:
    """The answer that a model gave after its look-ups, or why there is none.

    :param turns: every turn that was taken, also one without an answer.
    :param past: those that were completed.
    :param why: look-ups were offered, as a clause.
    """
    is_done = isinstance(end, Done)
    return ReviewAnswer(
        key=question.key,
        value=end.value.model_dump(mode="json") if is_done else None,
        problem=None if is_done else end.why,
        refusal=end.refusal if isinstance(end, Stopped) else None,
        notice=next((each.notice for each in reversed(turns) if each.notice), None),
        calls=tuple(call for each in turns for call in each.calls),
        looked_up=_count(past, limits, why),
        seen=tuple(dict.fromkeys((*(path for path, _ in list_read(past)), *list_found(past, "grep", REFERENCES)))),
        asks_plainly=isinstance(end, Stopped) and end.refusal is None and _knows_no_tools(turns, past),
    )


def _knows_no_tools(turns: Sequence[Turn], past: Sequence[CompletedTurn]) -> bool:
    """Whether the model used none, or the turn after its first uses failed at once, which no pause would help."""
    if not past or not past[-1].turn.uses:
        return bool(past)
    return turns[-1].problem is not None and len(turns[-1].calls) == 1


def list_evidence(answers: Sequence[ModelAnswer]) -> Iterator[tuple[str, str, int]]:
    """Of each finding its path, and the path and line of what was looked up and shows it."""
    for answer in answers:
        if not isinstance(answer, ReviewAnswer) or answer.value is None:
            continue
        for finding in LookedUpReport.model_validate(answer.value).findings:
            named = {(each.path, each.line): each for each in finding.evidence if each.path in answer.seen}
            yield from ((finding.path, *place) for place in list(named)[:_MOST_EVIDENCE])


def show_evidence(places: Sequence[tuple[str, str, int]], contents: Mapping[str, bytes]) -> tuple[RelatedCode, ...]:
    """The lines around what was looked up, for the second look.

    :param contents: path → content at head.
    """
    found = {
        (of, path, line): _excerpt(of, path, line, contents[path]) for of, path, line in places if path in contents
    }
    return tuple(each for each in found.values() if each.lines)


def _excerpt(of: str, path: str, line: int, content: bytes) -> RelatedCode:
    lines = withhold_keys(content.decode(errors="replace").removesuffix("\n").split("\n"))
    first = max(1, line - _AROUND)
    shown = map(redact_outgoing, lines[first - 1 : max(0, line + _AROUND)])
    return RelatedCode(of, path, "looked up", first, tuple(shown))


def _count(past: Sequence[CompletedTurn], limits: LookUpLimits, why: str) -> LookUps:
    pairs = [(past[:at], each) for at, each in enumerate(past) if any(use.tool != REPORT for use in each.turn.uses)]
    looked = [each for before, each in pairs if not limits.explain_end(before, each.turn)]
    used = Counter(use.tool for each in looked for use in each.turn.uses if use.tool != REPORT)
    return LookUps(
        why=why,
        used=dict(sorted(used.items())),
        turns=len(looked),
        most_turns=limits.turns,
        tokens=count_shown(looked),
        most_tokens=limits.tokens,
        cost=sum(each.turn.cost for each in looked),
    )
