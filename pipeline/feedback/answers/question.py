"""Answers ``/forge ask`` with an agent that reads the code of the head and can do nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.answers.answerer import MOST_TURNS, CodeAnswer, build_agent, build_assignment, list_places
from agents.llm.models import ModelTier, Unusable
from agents.loop.loop import Done, run_agent
from agents.loop.turns import CompletedTurn, Turn
from domain.config.configuration import Configuration
from domain.review.changes import Change
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from messages import code_answers as texts
from messages import fixes as fix_texts
from pipeline.durable.steps import run_outside_journal
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import load_configuration
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
class QuestionAnswerer:
    """The answer to one question."""

    context: RunContext
    request: AnswerRequest
    guid: str
    words: str

    async def find_answer(self) -> str:
        """The answer, or why there is none."""
        configuration = await self.context.journal.step("what is configured", self._load_configuration)
        if not configuration.review.may_ask_model:
            return texts.refuse_sending()
        model = self.context.services.models.choose(ModelTier.fast)
        if isinstance(model, Unusable):
            return texts.report_unanswered(f"{model.reason} {model.advice}")
        mirror = await run_outside_journal(self.context.fetch_mirror)
        snapshot = await run_outside_journal(Snapshot.of, mirror, self.context.run.head_sha)
        never = configuration.review.never_send
        agent = build_agent(snapshot, never, redact_outgoing)
        change = await run_outside_journal(self._load_change, mirror)
        key = self.request.make_key(self.guid)
        assignment = build_assignment(key, self.words, change, never, redact_outgoing)
        calls = BudgetedCalls(self.context, Phase.planning, configuration)
        done = await run_agent(agent, AnswerSteps(calls, agent, assignment, model))
        if not isinstance(done, Done):
            return texts.report_unanswered(done.why)
        return await self._render(done, snapshot, never)

    async def _render(self, done: Done[CodeAnswer], snapshot: Snapshot, never: Sequence[str]) -> str:
        if not await self.context.journal.step(
            "is it still allowed", self.request.may_still_ask, self.context.services
        ):
            return fix_texts.report_lost_permission(self.request.asked.verb)
        places = [(place.path, place.line) for place in list_places(done.value, done.past, snapshot, never)]
        return texts.render_answer(done.value.answer, places, self.context.run.head_sha)

    async def _load_configuration(self) -> Configuration:
        return (await load_configuration(self.context.services, self.context.run)).configuration

    async def _load_change(self, mirror: Mirror) -> Change:
        run = self.context.run
        return await mirror.change(await mirror.merge_base(run.base_sha, run.head_sha), run.head_sha)
