"""Reads a change with a model for a run: each question is journaled, and paid once by the phase."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question
from agents.loop.loop import Agent, LookUpLimits, Steps
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment, CompletedTurn, Turn
from agents.review.layers import CheckedChange
from agents.review.looking_up import LookedUpReport, ReviewAnswer, ask_looking_up, list_offered
from agents.review.model.questions import QuestionPlan, ReviewQuestion
from domain.gates import digest
from domain.review.findings import Finding
from pipeline.durable.journal import run_outside_journal
from pipeline.model_calls.budgeted import AgentSteps, BudgetedCalls
from pipeline.review.model_answers import AssessedAnswers
from pipeline.review.model_questions import ModelQuestions
from pipeline.review.proofs import ModelProofs
from pipeline.review.question_plan import PreparedQuestions
from pipeline.review.reading import ModelReading, ProvedFindings
from pipeline.review.surroundings import open_code
from pipeline.verdicts.settings import RunSettings


@dataclass
class RunReading(ModelReading):
    """What one model says of the change of a run.

    :param spares: whether the review goes on without further answers if the money runs out, once it has some: they are
        the most important ones. If not, a person is asked, who may grant more.
    """

    settings: RunSettings
    checked: CheckedChange
    calls: BudgetedCalls
    questions: ModelQuestions
    proofs: ModelProofs
    spares: bool

    async def ask(self, question: Question, schema: type[BaseModel]) -> ModelAnswer:
        """:raises WaitingForGate: if a person has to decide first."""
        name = self._compute_digest(question, schema)
        return await self.calls.ask(name, question, schema, self.next_model, can_spare=self._can_spare)

    async def ask_beside(self, question: Question, schema: type[BaseModel], *, is_shared: bool = False) -> ModelAnswer:
        """It stops no review, so nobody is asked for it."""
        name = self._compute_digest(question, schema)
        return await self.calls.ask_outside_run(name, question, schema, self.next_model, is_shared=is_shared)

    async def look_up(self, question: ReviewQuestion, limits: LookUpLimits, why: str) -> ReviewAnswer:
        """:raises WaitingForGate: if a person has to decide first."""

        def choose(agent: Agent[LookedUpReport], assignment: Assignment) -> Steps:
            return _LookUpSteps(self.calls, agent, assignment, self.next_model, self._can_spare)

        tools = await run_outside_journal(self._make_tools)
        return await ask_looking_up(question, tools, limits, why, choose)

    async def assess(self, prepared: PreparedQuestions, on_conventions: ModelAnswer | None) -> AssessedAnswers:
        known = (self.checked, prepared, self.answers, on_conventions)
        return await self.calls.context.journal.step("weigh answers", self.questions.assess, *known)

    async def prove(
        self, plan: QuestionPlan, candidates: tuple[Finding, ...], kept: tuple[Finding, ...]
    ) -> ProvedFindings:
        return await self.proofs.prove(self.checked, plan, candidates, kept, self.model)

    @property
    def _can_spare(self) -> bool:
        return self.spares and any(answer.value is not None for answer in self.answers)

    def _compute_digest(self, question: Question, schema: type[BaseModel]) -> str:
        return digest(self.next_model.name, question.instructions, question.content, schema.__name__)

    async def _make_tools(self) -> Sequence[Tool]:
        context = self.calls.context
        code = await open_code(context.services, context.run, self.settings, self.checked)
        return await code.make_tools()


@dataclass(frozen=True)
class _LookUpSteps(AgentSteps):
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
