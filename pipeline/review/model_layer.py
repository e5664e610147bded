"""Layer 3 of a run: chooses whether a model reads the new code, and has earlier findings tried again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.llm.models import Unusable
from agents.review.effort import EFFORTS
from agents.review.layers import CheckedChange, ModelPart, skip_model
from domain.config.configuration import Configuration
from domain.config.sections import ReadMode
from domain.review.findings import Finding
from domain.runs.run import Phase
from memory.repositories import permits
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.memories import RecallTopic
from pipeline.review.model_questions import ModelQuestions
from pipeline.review.proofs import ModelProofs, RepeatedProofs
from pipeline.review.reading import NEEDS_OK, add_note
from pipeline.review.run_reading import RunReading
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import RunSettings
from safety.eligibility import needs_ok


@dataclass(frozen=True)
class ModelLayer:
    """Asks the model about one head."""

    context: RunContext
    settings: RunSettings
    checked: CheckedChange

    async def read(self) -> ModelPart:
        """The findings of layer 3. Never an error: what could not be asked is named, and a person is asked instead.

        Whatever was changed, the model is also asked if it must say whether its earlier findings are gone.
        """
        before = await self.context.journal.step("earlier findings", self._questions.load_earlier, self.checked)
        proofs = ModelProofs(self.context, self.settings, self._build_calls())
        repeated = await proofs.repeat(before.shown, before.findings)
        part = await self._read(repeated.apply(before.findings), proofs, repeated)
        return add_note(part, repeated.told).model_copy(update={"passing": repeated.passing})

    @property
    def _configuration(self) -> Configuration:
        return self.settings.configuration

    @cached_property
    def _questions(self) -> ModelQuestions:
        return ModelQuestions(self.context.services, self.context.run, self.settings)

    async def _read(self, earlier: Sequence[Finding], proofs: ModelProofs, repeated: RepeatedProofs) -> ModelPart:
        """:param repeated: what tests say of earlier findings, of which no model is asked."""
        journal, checked, review = self.context.journal, self.checked, self._configuration.review
        if not checked.wants_a_model(self._configuration) and not (earlier and review.may_ask_model):
            part = skip_model(checked, self._configuration, None)
            return part.model_copy(update={"findings": repeated.failing})
        model = EFFORTS[review.effort].choose_model(self.context.services.models)
        missing = model if isinstance(model, Unusable) else None
        if missing is None and await journal.step("is it a stranger's", self._waits_for_ok):
            missing = NEEDS_OK
        if missing is not None or isinstance(model, Unusable):
            part = skip_model(checked, self._configuration, missing)
            return part.model_copy(update={"findings": tuple(earlier)})
        said = (repeated.passing, repeated.failing)
        prepared = await journal.step("prepare questions", self._questions.prepare, checked, *said)
        # What was asked for by hand, or is always to be read, waits for a person who may grant more money.
        spares = review.model is ReadMode.auto and self.context.run.attempt == 1
        asking = (self.settings, checked, self._build_calls(), self._questions, proofs, spares)
        return await RunReading(self._configuration, model, *asking).read(prepared)

    async def _waits_for_ok(self) -> bool:
        run = self.context.run
        if not needs_ok(self.settings.pull_request, self._configuration.review, run.repository.id):
            return False
        return not await permits.has_ok(self.context.database, run.repository, run.number, run.head_sha)

    def _build_calls(self) -> BudgetedCalls:
        rules = tuple(dict.fromkeys(finding.rule for finding in self.checked.findings))
        about = RecallTopic(self.settings.pull_request.title, (*rules, *self.checked.paths))
        return BudgetedCalls(self.context, Phase.review, self._configuration, about)
