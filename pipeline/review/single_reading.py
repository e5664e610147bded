"""Layer 3 of one review without a run: a model reads the whole change, and nothing of its answers is kept."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from agents.llm.ask import ModelAnswer, ask, choose_after
from agents.llm.models import LanguageModel, Models, Unusable
from agents.review.effort import EFFORTS, ReadingEffort
from agents.review.layers import CheckedChange, ModelPart, skip_model
from agents.review.looking_up import DirectSteps, ReadableCode, ask_looking_up
from agents.review.model.layer import (
    Intent,
    Report,
    ReviewQuestion,
    Verdicts,
    keep_confirmed,
    show_cells,
)
from agents.review.model.proof import list_provable
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding
from messages import proofs as texts
from pipeline.model_calls.single_budget import SingleBudget
from pipeline.review.look_ups import choose_limits
from pipeline.review.model_answers import (
    assess_answers,
    drop_unfit_suggestions,
    load_evidence,
    weigh_claims,
)
from pipeline.review.model_part import add_proofs, build_model_part
from pipeline.review.question_plan import (
    PreparedQuestions,
    Shown,
    explain_look_ups,
    hold_against_conventions,
    plan_questions,
    read_at,
)
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
        answers: list[ModelAnswer] = []
        for question in prepared.plan.questions:
            asking = self._read(checked, prepared, question, choose_after(model, answers), budget, answers, code)
            answers.append(await asking)
        beside = partial(ask, model=choose_after(model, answers), budget=budget)
        prepared, on_conventions = await hold_against_conventions(prepared, beside, beside)
        evidence = await load_evidence(code, checked.head_sha, answers, self.configuration.review)
        told = on_conventions.about_change
        assessed = await asyncio.to_thread(
            assess_answers, checked, prepared, answers, change, versions, (), self._effort, told, evidence
        )
        assessed = await drop_unfit_suggestions(assessed, versions, self.toolbox, self.origin)
        kept, unchecked = assessed.candidates, list[Finding]()
        if assessed.second is not None:
            second = await ask(assessed.second, Verdicts, choose_after(model, answers), budget)
            answers.append(second)
            kept = keep_confirmed(assessed.candidates, second, assessed.second)
            unchecked = [] if second.value is not None else [each for each in assessed.candidates if each not in kept]
        kept, review = weigh_claims((*assessed.settled, *kept)), self.configuration.review
        part = build_model_part(prepared, answers, kept, (), model, review, unchecked, on_conventions)
        told = texts.summarise_proofs((), texts.WITHOUT_SERVER) if list_provable(kept, kept) else ""
        return add_proofs(part, (), told, model)

    async def _read(
        self,
        checked: CheckedChange,
        prepared: PreparedQuestions,
        question: ReviewQuestion,
        model: LanguageModel,
        budget: SingleBudget,
        answers: Sequence[ModelAnswer],
        code: Objects,
    ) -> ModelAnswer:
        """What the model answers to a question; after look-ups, where it may make some."""
        limits = choose_limits(prepared, answers, self.configuration)
        if limits is None:
            return await ask(question, Report, model, budget)
        never_send = self.configuration.review.never_send
        there = ReadableCode(code, checked.head_sha, self.toolbox, self.origin, never_send, checked.findings)
        tools = await there.make_tools()
        choose = partial(DirectSteps, model=model, budget=budget)
        answer = await ask_looking_up(question, tools, limits, prepared.looks_up_because, choose)
        return answer.replace_by(await ask(question, Report, model, budget)) if answer.asks_plainly else answer

    @property
    def _effort(self) -> ReadingEffort:
        return EFFORTS[self.configuration.review.effort]

    def _choose(self) -> LanguageModel | str:
        """The model, or why none is asked."""
        if self.models is None:
            return _UNASKED
        model = self._effort.choose_model(self.models)
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
        why = await explain_look_ups(self._effort, plan, checked, code)
        return PreparedQuestions(plan=plan, looks_up_because=why)
