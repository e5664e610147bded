"""What each effort means: which model reads, how much it is shown, and what is looked at again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from agents.llm.models import LanguageModel, Models, ModelTier, Unusable
from agents.review.model.file_selection import ReadingLimits
from agents.review.model.questions import USUAL
from domain.review.effort import Effort
from domain.review.findings import RawFinding, Severity

F = TypeVar("F", bound=RawFinding)


@dataclass(frozen=True)
class ReadingEffort:
    """What a review takes of a model.

    :param tier: of the model that is asked.
    :param limits: how much it is shown.
    :param rechecks: the least severity of a candidate that gets a second look.
    :param holds_conventions: whether the change is held against the repository's conventions.
    """

    tier: ModelTier = ModelTier.fast
    limits: ReadingLimits = USUAL
    rechecks: Severity = Severity.info
    holds_conventions: bool = True

    def choose_model(self, models: Models) -> LanguageModel | Unusable:
        """The model that reads; where that of its tier cannot be asked, the fast one."""
        own = models.choose(self.tier)
        if isinstance(own, LanguageModel) or self.tier is ModelTier.fast:
            return own
        fast = models.choose(ModelTier.fast)
        if isinstance(fast, Unusable):
            return own
        told = (fast.notice, own.reason, f"So {fast.name} was asked.")
        return replace(fast, notice=" ".join(filter(None, told)))

    def split(self, candidates: Sequence[F]) -> tuple[list[F], list[F]]:
        """The candidates that get a second look, and the others."""
        again = [each for each in candidates if each.severity.rank >= self.rechecks.rank]
        return again, [each for each in candidates if each not in again]


EFFORTS: Mapping[Effort, ReadingEffort] = {
    Effort.low: ReadingEffort(limits=ReadingLimits(questions=1), rechecks=Severity.error, holds_conventions=False),
    Effort.standard: ReadingEffort(),
    Effort.deep: ReadingEffort(
        tier=ModelTier.strong, limits=ReadingLimits(question=24_000, context=0.3, least_context=4_000)
    ),
}
