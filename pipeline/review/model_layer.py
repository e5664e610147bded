"""Layer 3 of a run: chooses whether a model reads the new code, and has earlier findings tried again."""

from collections.abc import Sequence

from agents.llm.models import Unusable
from agents.review.effort import EFFORTS
from agents.review.layers import CheckedChange, ModelPart, skip_model
from domain.review.findings import Finding
from domain.runs.run import Phase
from memory.repositories import permits
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.memories import RecallTopic
from pipeline.review.model_part import NEEDS_OK, add_note
from pipeline.review.model_questions import ModelQuestions
from pipeline.review.model_reading import ModelReading
from pipeline.review.proofs import ModelProofs, RepeatedProofs
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import RunSettings
from safety.eligibility import needs_ok


class ModelLayer:
    """Asks the model about one head."""

    def __init__(self, context: RunContext, settings: RunSettings) -> None:
        self._context = context
        self._journal = context.journal
        self._settings = settings
        self._configuration = settings.configuration
        self._pull_request = settings.pull_request
        self._questions = ModelQuestions(context.services, context.run, settings)

    async def read(self, checked: CheckedChange) -> ModelPart:
        """The findings of layer 3. Never an error: what could not be asked is named, and a person is asked instead.

        Whatever was changed, the model is also asked if it must say whether its earlier findings are gone.
        """
        before = await self._journal.step("earlier findings", self._questions.load_earlier, checked)
        proofs = ModelProofs(self._context, self._settings, self._build_calls(checked))
        repeated = await proofs.repeat(before.shown, before.findings)
        part = await self._choose_reader(checked, repeated.apply(before.findings), proofs, repeated)
        return add_note(part, repeated.told).model_copy(update={"passing": repeated.passing})

    async def _choose_reader(
        self, checked: CheckedChange, earlier: Sequence[Finding], proofs: ModelProofs, repeated: RepeatedProofs
    ) -> ModelPart:
        """:param repeated: what tests say of earlier findings, of which no model is asked."""
        may_read = self._configuration.review.may_ask_model
        if not checked.wants_a_model(self._configuration) and not (earlier and may_read):
            part = skip_model(checked, self._configuration, None)
            return part.model_copy(update={"findings": repeated.failing})
        model = EFFORTS[self._configuration.review.effort].choose_model(self._context.services.models)
        missing = model if isinstance(model, Unusable) else None
        if missing is None and await self._journal.step("is it a stranger's", self._waits_for_ok):
            missing = NEEDS_OK
        if missing is not None or isinstance(model, Unusable):
            part = skip_model(checked, self._configuration, missing)
            return part.model_copy(update={"findings": tuple(earlier)})
        reading = ModelReading(
            self._context, self._settings, self._questions, checked, model, self._build_calls(checked)
        )
        return await reading.read(proofs, repeated)

    async def _waits_for_ok(self) -> bool:
        run = self._context.run
        if not needs_ok(self._pull_request, self._configuration.review, run.repository.id):
            return False
        return not await permits.has_ok(self._context.database, run.repository, run.number, run.head_sha)

    def _build_calls(self, checked: CheckedChange) -> BudgetedCalls:
        rules = tuple(dict.fromkeys(finding.rule for finding in checked.findings))
        about = RecallTopic(self._pull_request.title, (*rules, *checked.paths))
        return BudgetedCalls(self._context, Phase.review, self._configuration, about)
