"""Reads a change with a model, question by question, for a run and for a review without a server alike."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, choose_after
from agents.llm.models import LanguageModel
from agents.loop.look_up_limits import LookUpLimits
from agents.review.effort import EFFORTS
from agents.review.layers import ModelPart
from agents.review.model.conventions import count_calls
from agents.review.model.layer import Report, ReviewQuestion, Verdicts, keep_confirmed
from agents.review.model.look_ups import ReviewAnswer, allot
from agents.review.model.proof import MOST_PROVED
from agents.review.model.questions import QuestionPlan
from domain.config.configuration import Configuration
from domain.review.findings import Finding
from pipeline.review.model_answers import AssessedAnswers, weigh_claims
from pipeline.review.model_part import ProvedFindings, add_proofs, build_model_part
from pipeline.review.question_plan import PreparedQuestions, hold_against_conventions


@dataclass
class ModelReading(ABC):
    """What one model says of one change.

    :ivar answers: to the questions so far.
    """

    configuration: Configuration
    model: LanguageModel
    answers: list[ModelAnswer] = field(default_factory=list[ModelAnswer], init=False)

    async def read(self, prepared: PreparedQuestions) -> ModelPart:
        """The findings of layer 3."""
        for question in prepared.plan.questions:
            self.answers.append(await self._read(prepared, question))
        ask_for_rules = partial(self.ask_beside, is_shared=True)
        prepared, on_conventions = await hold_against_conventions(prepared, ask_for_rules, self.ask_beside)
        assessed = await self.assess(prepared, on_conventions.about_change)
        kept, unchecked = assessed.candidates, list[Finding]()
        if assessed.second is not None:
            second = await self.ask(assessed.second, Verdicts)
            self.answers.append(second)
            kept = keep_confirmed(assessed.candidates, second, assessed.second)
            unchecked = [] if second.value is not None else [each for each in assessed.candidates if each not in kept]
        kept = weigh_claims((*assessed.settled, *kept))
        plan = prepared.plan.model_copy(update={"related": (*prepared.plan.related, *assessed.evidence)})
        proved = await self.prove(plan, assessed.candidates, kept)
        found, model, review = proved.findings, self.model, self.configuration.review
        part = build_model_part(prepared, self.answers, found, assessed.gone, model, review, unchecked, on_conventions)
        return add_proofs(part, proved, model)

    @property
    def going_on(self) -> LanguageModel:
        """The model for the next question."""
        return choose_after(self.model, self.answers)

    @abstractmethod
    async def ask(self, question: Question, schema: type[BaseModel]) -> ModelAnswer:
        """What the model answers."""

    @abstractmethod
    async def ask_beside(self, question: Question, schema: type[BaseModel], *, is_shared: bool = False) -> ModelAnswer:
        """The same for what the review can do without.

        :param is_shared: the answer is the same for every change.
        """

    @abstractmethod
    async def look_up(self, question: ReviewQuestion, limits: LookUpLimits, why: str) -> ReviewAnswer:
        """What the model answers after it looked things up in the code of the head."""

    @abstractmethod
    async def assess(self, prepared: PreparedQuestions, on_conventions: ModelAnswer | None) -> AssessedAnswers:
        """The findings in the answers, and the question of the second look at them."""

    @abstractmethod
    async def prove(
        self, plan: QuestionPlan, candidates: tuple[Finding, ...], kept: tuple[Finding, ...]
    ) -> ProvedFindings:
        """What running shows of the gravest findings.

        :param candidates: as the first look graded them; :param kept: what the second look left of them.
        """

    async def _read(self, prepared: PreparedQuestions, question: ReviewQuestion) -> ModelAnswer:
        """What the model answers to a question about the change; after look-ups, where it may make some."""
        limits = self._choose_limits(prepared)
        if limits is None:
            return await self.ask(question, Report)
        answer = await self.look_up(question, limits, prepared.looks_up_because)
        return answer.replace_by(await self.ask(question, Report)) if answer.asks_plainly else answer

    def _choose_limits(self, prepared: PreparedQuestions) -> LookUpLimits | None:
        """What may be looked up for the next question; None if nothing.

        Look-ups get the calls of the phase that nothing else may need: further questions, one repair, the second look,
        what is held against conventions, and tests for what would block.
        """
        configuration, plan = self.configuration, prepared.plan
        usual = EFFORTS[configuration.review.effort].looks_up
        if usual is None or not prepared.looks_up_because:
            return None
        proofs = MOST_PROVED if configuration.review.proof_seconds else 0
        due = len(plan.questions) - len(self.answers) + 2 + count_calls(plan.conventions) + proofs
        most = min(configuration.breakers.iteration.review, configuration.guards.max_iterations)
        return allot(usual, most, sum(len(each.calls) for each in self.answers), due)
