"""Reads a change with a model for a run: each question is journaled and paid once."""

from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, choose_after
from agents.llm.models import LanguageModel
from agents.review.layers import CheckedChange, ModelPart
from agents.review.model.layer import Report, ReviewQuestion, Verdicts, keep_confirmed
from domain.config.sections import ReadMode
from domain.gates import digest
from domain.review.findings import Finding
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.review.conventions import ConventionAnswers, hold_against_conventions
from pipeline.review.look_ups import RunLookUps, choose_limits
from pipeline.review.model_answers import weigh_claims
from pipeline.review.model_part import add_proofs, build_model_part
from pipeline.review.model_questions import ModelQuestions
from pipeline.review.proofs import ModelProofs, RepeatedProofs
from pipeline.review.question_plan import PreparedQuestions
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import RunSettings


class ModelReading:
    """What one model says of one change."""

    def __init__(
        self,
        context: RunContext,
        settings: RunSettings,
        questions: ModelQuestions,
        checked: CheckedChange,
        model: LanguageModel,
        calls: BudgetedCalls,
    ) -> None:
        self._context = context
        self._journal = context.journal
        self._settings = settings
        self._configuration = settings.configuration
        self._questions = questions
        self._checked = checked
        self._model = model
        self._calls = calls

    async def read(self, proofs: ModelProofs, repeated: RepeatedProofs) -> ModelPart:
        """The findings of layer 3.

        :param repeated: what tests say of earlier findings, of which the model is not asked.
        """
        checked, model = self._checked, self._model
        said = (repeated.passing, repeated.failing)
        prepared = await self._journal.step("prepare questions", self._questions.prepare, checked, *said)
        answers: list[ModelAnswer] = []
        look_ups = RunLookUps(self._settings, checked, self._calls)
        for question in prepared.plan.questions:
            answers.append(await self._read(look_ups, prepared, question, answers))
        prepared, on_conventions = await self._hold_against_conventions(prepared, answers)
        told = on_conventions.about_change
        assess = self._questions.assess
        assessed = await self._journal.step("weigh answers", assess, checked, prepared, answers, told)
        kept, unchecked = assessed.candidates, list[Finding]()
        if assessed.second is not None:
            going_on, can_spare = choose_after(model, answers), self._can_spare(answers)
            second = await self._ask(assessed.second, Verdicts, going_on, can_spare=can_spare)
            answers.append(second)
            kept = keep_confirmed(assessed.candidates, second, assessed.second)
            unchecked = [] if second.value is not None else [each for each in assessed.candidates if each not in kept]
        kept = weigh_claims((*assessed.settled, *kept))
        plan = prepared.plan.model_copy(update={"related": (*prepared.plan.related, *assessed.evidence)})
        proved = await proofs.prove(checked, plan, assessed.candidates, kept, model)
        kept, review = proved.findings, self._configuration.review
        part = build_model_part(prepared, answers, kept, assessed.gone, model, review, unchecked, on_conventions)
        return add_proofs(part, proved.answers, proved.told, model)

    async def _read(
        self,
        look_ups: RunLookUps,
        prepared: PreparedQuestions,
        question: ReviewQuestion,
        answers: Sequence[ModelAnswer],
    ) -> ModelAnswer:
        """What the model answers to a question about the change; after look-ups, where it may make some.

        :param answers: to the questions before.
        """
        going_on, can_spare = choose_after(self._model, answers), self._can_spare(answers)
        limits = choose_limits(prepared, answers, self._configuration)
        if limits is None:
            return await self._ask(question, Report, going_on, can_spare=can_spare)
        why = prepared.looks_up_because
        answer = await look_ups.ask(question, going_on, limits, why, can_spare=can_spare)
        if not answer.asks_plainly:
            return answer
        return answer.replace_by(await self._ask(question, Report, going_on, can_spare=can_spare))

    async def _hold_against_conventions(
        self, prepared: PreparedQuestions, answers: Sequence[ModelAnswer]
    ) -> tuple[PreparedQuestions, ConventionAnswers]:
        """Whether the change keeps the conventions of the repository. It stops no review, so nobody is asked for it."""
        going_on = choose_after(self._model, answers)

        async def ask(question: Question, schema: type[BaseModel], *, is_shared: bool = False) -> ModelAnswer:
            name = _compute_digest(question, schema, going_on)
            return await self._calls.ask_outside_run(name, question, schema, going_on, is_shared=is_shared)

        return await hold_against_conventions(prepared, partial(ask, is_shared=True), ask)

    def _can_spare(self, answers: Sequence[ModelAnswer]) -> bool:
        """Whether the review goes on without further answers if the money runs out: it has the most important ones.

        What was asked for by hand, or is always to be read, waits for a person who may grant more.
        """
        is_automatic = self._configuration.review.model is ReadMode.auto and self._context.run.attempt == 1
        return is_automatic and any(answer.value is not None for answer in answers)

    async def _ask(
        self,
        question: Question,
        schema: type[BaseModel],
        model: LanguageModel,
        *,
        can_spare: bool,
    ) -> ModelAnswer:
        name = _compute_digest(question, schema, model)
        return await self._calls.ask(name, question, schema, model, can_spare=can_spare)


def _compute_digest(question: Question, schema: type[BaseModel], model: LanguageModel) -> str:
    return digest(model.name, question.instructions, question.content, schema.__name__)
