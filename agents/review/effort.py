"""What each effort means: which model reads, how much it is shown, what it may look up, what is looked at again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from agents.llm.models import LanguageModel, Models, ModelTier, Unusable
from agents.llm.prices import estimate
from agents.loop.loop import LookUpLimits
from agents.review.model.file_selection import ReadingLimits
from agents.review.model.questions import USUAL, QuestionPlan
from domain.review.findings import RawFinding, Severity
from domain.review.reading import Effort
from domain.review.review import Risk

F = TypeVar("F", bound=RawFinding)

_LARGE = 3_000
"""Tokens of all questions about a change from which it is large."""
_RISKY = 25
"""Points from which a change is risky: medium, without those that every change of behaviour has."""
_SOME, _MUCH = LookUpLimits(turns=4, tokens=12_000), LookUpLimits(turns=6, tokens=24_000)


@dataclass(frozen=True)
class ReadingEffort:
    """What a review takes of a model.

    :param tier: of the model that is asked.
    :param limits: how much it is shown.
    :param says: the least severity of what is said at all.
    :param rechecks: the least severity of a candidate that gets a second look.
    :param holds_conventions: whether the change is held against the repository's conventions.
    :param looks_up: what one question may look up; None: nothing.
    :param always_looks_up: whatever the size and risk of the change.
    """

    tier: ModelTier = ModelTier.fast
    limits: ReadingLimits = USUAL
    says: Severity = Severity.warning
    rechecks: Severity = Severity.info
    holds_conventions: bool = True
    looks_up: LookUpLimits | None = _SOME
    always_looks_up: bool = False

    def explain_look_ups(self, plan: QuestionPlan, risk: Risk) -> str:
        """Why a model may look things up before it answers, as a clause; empty if it may not."""
        if self.looks_up is None:
            return ""
        if self.always_looks_up:
            return "the effort is deep"
        if risk.score_of_facts >= _RISKY:
            return "the change is risky"
        is_large = sum(estimate(question.content) for question in plan.questions) >= _LARGE
        return "the change is large" if is_large else ""

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
        """The candidates that get a second look, and the others; what is not worth saying is in neither."""
        worth = [each for each in candidates if each.severity.rank >= self.says.rank]
        again = [each for each in worth if each.severity.rank >= self.rechecks.rank]
        return again, [each for each in worth if each not in again]


EFFORTS: Mapping[Effort, ReadingEffort] = {
    Effort.low: ReadingEffort(
        limits=ReadingLimits(questions=1), rechecks=Severity.error, holds_conventions=False, looks_up=None
    ),
    Effort.standard: ReadingEffort(),
    Effort.deep: ReadingEffort(
        tier=ModelTier.strong,
        limits=ReadingLimits(question=24_000, context=0.3, least_context=4_000),
        says=Severity.info,
        looks_up=_MUCH,
        always_looks_up=True,
    ),
}
