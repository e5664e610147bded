"""Layer 3 of one review without a run: a model reads the whole change, and nothing of its answers is kept."""

import asyncio
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.models import LanguageModel, Models, Unusable
from agents.loop.loop import LookUpLimits
from agents.review.effort import EFFORTS, ReadingEffort
from agents.review.layers import CheckedChange, ModelPart, skip_model
from agents.review.looking_up import DirectSteps, ReadableCode, ReviewAnswer, ask_looking_up
from agents.review.model.notebooks import show_cells
from agents.review.model.proof import list_provable
from agents.review.model.questions import Intent, QuestionPlan, ReviewQuestion
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding
from messages import proofs as texts
from pipeline.model_calls.single_budget import SingleBudget
from pipeline.review.model_answers import AssessedAnswers, GivenAnswers
from pipeline.review.question_plan import PreparedQuestions, Shown, explain_look_ups, plan_questions, read_at
from pipeline.review.reading import ModelReading, ProvedFindings
from pipeline.review.surroundings import find_surroundings
from safety.containment import CodeOrigin
from workspace.objects import Objects

_UNASKED = "no model was to be asked."
_NEEDS_OK = (
    "this is a stranger's head, and nobody looked at it before. The App takes an ok for that; here there is none."
)


@dataclass(frozen=True)
class SingleReading:
    """Asks a model once about one change.

    :param models: None if none is to be asked.
    :param title: what its author calls it.
    :param conventions_at: the commit whose conventions it is held against; None for none.
    :param lacks_ok: a stranger's head that nobody looked at, or asked to be reviewed.
    """

    models: Models | None
    title: str
    origin: CodeOrigin
    configuration: Configuration
    toolbox: Toolbox
    conventions_at: str | None
    lacks_ok: bool = False

    async def read(self, checked: CheckedChange, change: Change, code: Objects) -> ModelPart:
        """The findings of layer 3. Never an error: what could not be asked is named, and a person is asked instead.

        :param change: without the files that path filters exclude.
        """
        model = self._choose()
        if isinstance(model, str) or not checked.wants_a_model(self.configuration):
            return skip_model(checked, self.configuration, model if isinstance(model, str) else None)
        change, versions = show_cells(change, await code.versions(change.files))
        never_send = self.configuration.review.never_send
        readable = ReadableCode(code, checked.head_sha, self.toolbox, self.origin, never_send, checked.findings)
        prepared = await self._prepare(checked, change, versions, readable)
        budget = SingleBudget(self.configuration)
        return await _DirectReading(
            self.configuration, model, self.effort, checked, change, versions, readable, budget
        ).read(prepared)

    @property
    def effort(self) -> ReadingEffort:
        return EFFORTS[self.configuration.review.effort]

    def _choose(self) -> LanguageModel | str:
        """The model, or why none is asked."""
        if self.models is None:
            return _UNASKED
        model = self.effort.choose_model(self.models)
        if isinstance(model, Unusable):  # whoever reads this can set one up
            return f"{model.reason} {model.advice}"
        return _NEEDS_OK if self.lacks_ok else model

    async def _prepare(
        self, checked: CheckedChange, change: Change, versions: dict[str, FileVersions], code: ReadableCode
    ) -> PreparedQuestions:
        around = await find_surroundings(code, change, versions)
        written = await read_at(code.objects, self.conventions_at, change, self.configuration.review)
        shown = Shown(change, versions, around, written, Intent(title=self.title))
        plan = await asyncio.to_thread(plan_questions, checked, shown, self.configuration)
        why = await explain_look_ups(self.effort, plan, checked, code.objects)
        return PreparedQuestions(plan=plan, looks_up_because=why)


@dataclass
class _DirectReading(ModelReading):
    """The reading of the change itself, paid by one budget."""

    effort: ReadingEffort
    checked: CheckedChange
    change: Change
    versions: dict[str, FileVersions]
    code: ReadableCode
    budget: SingleBudget

    async def ask(self, question: Question, schema: type[BaseModel]) -> ModelAnswer:
        return await ask(question, schema, self.next_model, self.budget)

    async def look_up(self, question: ReviewQuestion, limits: LookUpLimits, why: str) -> ReviewAnswer:
        choose = partial(DirectSteps, model=self.next_model, budget=self.budget)
        return await ask_looking_up(question, await self.code.make_tools(), limits, why, choose)

    async def assess(self, prepared: PreparedQuestions, on_conventions: ModelAnswer | None) -> AssessedAnswers:
        known = (self.checked, prepared, self.answers, self.change, self.versions)
        return await GivenAnswers(*known, (), self.effort, on_conventions).assess(self.code)

    async def prove(
        self, plan: QuestionPlan, candidates: tuple[Finding, ...], kept: tuple[Finding, ...]
    ) -> ProvedFindings:
        told = texts.summarise_proofs((), texts.WITHOUT_SERVER) if list_provable(kept, kept) else ""
        return ProvedFindings(findings=kept, told=told)
