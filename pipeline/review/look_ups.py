"""Lets the model of a run look things up before it answers: how much, paid by the phase, and kept in its journal."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.llm.ask import ModelAnswer
from agents.llm.models import LanguageModel
from agents.loop.look_up_limits import LookUpLimits
from agents.loop.loop import Agent, Steps
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment, CompletedTurn, Turn
from agents.review.effort import EFFORTS
from agents.review.layers import CheckedChange
from agents.review.looking_up import ReadableCode, ask_looking_up
from agents.review.model.conventions import count_calls
from agents.review.model.look_ups import LookedUpReport, ReviewAnswer, allot, list_offered
from agents.review.model.proof import MOST_PROVED
from agents.review.model.questions import ReviewQuestion
from domain.config.configuration import Configuration
from pipeline.durable.journal import run_outside_journal
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.review.question_plan import PreparedQuestions
from pipeline.verdicts.settings import RunSettings
from safety.containment import find_origin


def choose_limits(
    prepared: PreparedQuestions, answers: Sequence[ModelAnswer], configuration: Configuration
) -> LookUpLimits | None:
    """What may be looked up for the next question; None if nothing.

    Look-ups get the calls of the phase that nothing else may need: further questions, one repair, the second look, what
    is held against conventions, and tests for what would block.

    :param answers: to the questions before.
    """
    usual, plan = EFFORTS[configuration.review.effort].looks_up, prepared.plan
    if usual is None or not prepared.looks_up_because:
        return None
    proofs = MOST_PROVED if configuration.review.proof_seconds else 0
    due = len(plan.questions) - len(answers) + 2 + count_calls(plan.conventions) + proofs
    most = min(configuration.breakers.iteration.review, configuration.guards.max_iterations)
    return allot(usual, most, sum(len(each.calls) for each in answers), due)


@dataclass(frozen=True)
class RunSteps(AgentSteps):
    """The turns of a question.

    :param can_spare: where the budget stops it, nobody is asked.
    """

    can_spare: bool = False

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """:raises WaitingForGate: if a person has to decide first."""
        agent, name = self.agent, self._name_turn(past)
        tools = list_offered(agent, past)
        return await self.calls.take_turn(
            name, self.assignment, past, agent.schema, tools, self.model, can_spare=self.can_spare
        )


@dataclass(frozen=True)
class RunLookUps:
    """Look-ups in the code of a run's head."""

    settings: RunSettings
    checked: CheckedChange
    calls: BudgetedCalls

    async def ask(
        self, question: ReviewQuestion, model: LanguageModel, limits: LookUpLimits, why: str, *, can_spare: bool
    ) -> ReviewAnswer:
        """As :func:`agents.review.looking_up.ask_looking_up`.

        :raises WaitingForGate: if a person has to decide first.
        """

        def choose(agent: Agent[LookedUpReport], assignment: Assignment) -> Steps:
            return RunSteps(self.calls, agent, assignment, model, can_spare)

        tools = await run_outside_journal(self._make_tools)
        return await ask_looking_up(question, tools, limits, why, choose)

    async def _make_tools(self) -> Sequence[Tool]:
        context, pull_request = self.calls.context, self.settings.pull_request
        code = ReadableCode(
            await context.fetch_mirror(),
            context.run.head_sha,
            context.services.toolbox,
            find_origin(pull_request.is_from_fork(context.run.repository.id)),
            self.settings.configuration.review.never_send,
            self.checked.findings,
        )
        return await code.make_tools()
