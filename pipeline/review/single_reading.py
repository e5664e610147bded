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
from pipeline.review.model_answers import AssessedAnswers, assess_answers, drop_unfit_suggestions, load_evidence
from pipeline.review.question_plan import PreparedQuestions, Shown, explain_look_ups, plan_questions, read_at
from pipeline.review.reading import ModelReading, ProvedFindings
from pipeline.review.surroundings import HeadCode, find_surroundings
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
        prepared = await self._prepare(checked, change, versions, code)
        budget = SingleBudget(self.configuration)
        return await _DirectReading(self.configuration, model, self, checked, change, versions, code, budget).read(
            prepared
        )

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
        self, checked: CheckedChange, change: Change, versions: dict[str, FileVersions], code: Objects
    ) -> PreparedQuestions:
        async def fetch() -> Objects:
            return code

        review = self.configuration.review
        head = HeadCode(checked.head_sha, fetch, self.origin, review.never_send)
        around = await find_surroundings(head, self.toolbox, change, versions, checked.findings)
        written = await read_at(code, self.conventions_at, change, review)
        shown = Shown(change, versions, around, written, Intent(title=self.title))
        plan = await asyncio.to_thread(plan_questions, checked, shown, self.configuration)
        why = await explain_look_ups(self.effort, plan, checked, code)
        return PreparedQuestions(plan=plan, looks_up_because=why)


@dataclass
class _DirectReading(ModelReading):
    """The reading of the change itself, paid by one budget."""

    single: SingleReading
    checked: CheckedChange
    change: Change
    versions: dict[str, FileVersions]
    code: Objects
    budget: SingleBudget

    async def ask(self, question: Question, schema: type[BaseModel]) -> ModelAnswer:
        return await ask(question, schema, self.next_model, self.budget)

    async def ask_beside(self, question: Question, schema: type[BaseModel], *, is_shared: bool = False) -> ModelAnswer:
        return await ask(question, schema, self.next_model, self.budget)

    async def look_up(self, question: ReviewQuestion, limits: LookUpLimits, why: str) -> ReviewAnswer:
        toolbox, origin, never_send = self.single.toolbox, self.single.origin, self.configuration.review.never_send
        there = ReadableCode(self.code, self.checked.head_sha, toolbox, origin, never_send, self.checked.findings)
        choose = partial(DirectSteps, model=self.next_model, budget=self.budget)
        return await ask_looking_up(question, await there.make_tools(), limits, why, choose)

    async def assess(self, prepared: PreparedQuestions, on_conventions: ModelAnswer | None) -> AssessedAnswers:
        evidence = await load_evidence(self.code, self.checked.head_sha, self.answers, self.configuration.review)
        known = (self.checked, prepared, self.answers, self.change, self.versions, ())
        assessed = await asyncio.to_thread(assess_answers, *known, self.single.effort, on_conventions, evidence)
        return await drop_unfit_suggestions(assessed, self.versions, self.single.toolbox, self.single.origin)

    async def prove(
        self, plan: QuestionPlan, candidates: tuple[Finding, ...], kept: tuple[Finding, ...]
    ) -> ProvedFindings:
        told = texts.summarise_proofs((), texts.WITHOUT_SERVER) if list_provable(kept, kept) else ""
        return ProvedFindings(findings=kept, told=told)
