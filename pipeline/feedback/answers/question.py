"""Answers a question about the code with an agent that reads the code of one commit and can do nothing else."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.answers.answerer import MOST_TURNS, CodeAnswer, build_agent, build_assignment, list_places
from agents.llm.models import ModelTier, Unusable
from agents.loop.loop import Done, Stopped, run_agent
from agents.loop.turns import CompletedTurn, Turn
from domain.config.configuration import Configuration
from domain.review.changes import Change
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from domain.verbs import Verb
from messages import descriptions as texts
from pipeline.checkout import load_change
from pipeline.durable.steps import run_outside_journal
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot


class AnswerSteps(AgentSteps):
    """The steps of the agent, paid beside the run and bounded in number."""

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """The next turn; after the last one, that there is no more."""
        if len(past) >= MOST_TURNS:
            return Turn(key=self.assignment.key, problem=f"The model looked {MOST_TURNS} times and gave no answer.")
        agent, name = self.agent, self._name_turn(past)
        return await self.calls.take_turn_outside_run(
            name, self.assignment, past, agent.schema, agent.tools, self.model
        )


@dataclass(frozen=True)
class AskedQuestion:
    """A question of a person.

    :param key: names its answer.
    :param words: untrusted Markdown.
    :param about: lines that say what it is about; see :mod:`agents.answers.subjects`.
    :param may_still_ask: whether they may at this moment: the model takes its time (T-P15).
    """

    key: str
    words: str
    about: Sequence[str]
    may_still_ask: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class QuestionAnswerer:
    """The answer to one question."""

    context: RunContext
    asked: AskedQuestion
    configuration: Configuration

    async def find_answer(self) -> str:
        """The answer, or why there is none."""
        configuration = self.configuration
        if not configuration.review.may_ask_model:
            return texts.CODE_KEPT
        model = self.context.services.models.choose(ModelTier.fast)
        if isinstance(model, Unusable):
            return texts.report_unanswered(model.reason, was_asked=False)
        mirror = await run_outside_journal(self.context.fetch_mirror)
        snapshot = await run_outside_journal(Snapshot.of, mirror, self.context.run.head_sha)
        never = configuration.review.never_send
        agent = build_agent(snapshot, never, redact_outgoing)
        change = await run_outside_journal(self._load_change, mirror)
        words, about = self.asked.words, self.asked.about
        assignment = build_assignment(self.asked.key, words, about, change, never, redact_outgoing)
        calls = BudgetedCalls(self.context, Phase.planning, configuration)
        done = await run_agent(agent, AnswerSteps(calls, agent, assignment, model))
        if not isinstance(done, Done):
            was_asked = not (isinstance(done, Stopped) and done.refusal is not None)
            return texts.report_unanswered(done.why, was_asked=was_asked)
        return await self._render(done, change, snapshot, never)

    async def _render(
        self, done: Done[CodeAnswer], change: Change | None, snapshot: Snapshot, never: Sequence[str]
    ) -> str:
        if not await self.context.journal.step("is it still allowed", self.asked.may_still_ask):
            return texts.report_lost_permission(Verb.ask)
        run = self.context.run
        found = list_places(done.value, done.past, change, snapshot, never)
        places = [(place.path, place.line) for place in found]
        branch = run.base_ref if run.is_of_issue else ""
        return texts.render_answer(done.value.answer, places, run.head_sha, branch)

    async def _load_change(self, mirror: Mirror) -> Change | None:
        run = self.context.run
        if run.is_of_issue:
            return None
        return await load_change(mirror, run)
