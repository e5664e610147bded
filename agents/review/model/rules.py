"""The closed list of rules that a model may report, with a category and a highest severity each."""

from dataclasses import dataclass
from typing import Literal, get_args

from domain.review.avoidance import CERTAIN, AvoidanceKind
from domain.review.findings import Category, Severity

RuleName = Literal[
    "model/logic-error",
    "model/missing-edge-case",
    "model/error-handling",
    "model/data-loss",
    "model/resource-leak",
    "model/race",
    "model/removed-safeguard",
    "model/shared-state",
    "model/security",
    "model/performance",
    "model/api-misuse",
    "model/breaking-change",
    "model/architecture-fit",
    "model/missing-test",
    "avoidance/failure-hidden",
]


CONVENTION = "model/convention"
"""The rule of a finding that a convention of the repository led to; what looks for defects never reports it."""

UNSURE = 0.75
"""The confidence of an error that is neither proven nor refuted, and so a warning."""


@dataclass(frozen=True)
class ModelRule:
    """What a finding by a rule may be.

    :param highest: its highest severity, whatever its consequence.
    :param is_proven_outside: whether only a line that the change leaves alone proves one, such as a caller's.
    :param unproven: the confidence of a warning that the second look can neither prove nor refute; None: it is dropped.
    """

    category: Category
    highest: Severity = Severity.error
    is_proven_outside: bool = False
    unproven: float | None = None


RULES: dict[str, ModelRule] = {
    "model/logic-error": ModelRule(Category.correctness),
    "model/missing-edge-case": ModelRule(Category.correctness),
    "model/error-handling": ModelRule(Category.correctness),
    "model/data-loss": ModelRule(Category.correctness),
    "model/resource-leak": ModelRule(Category.correctness),
    "model/race": ModelRule(Category.correctness),
    "model/removed-safeguard": ModelRule(Category.correctness),
    "model/shared-state": ModelRule(Category.correctness),
    "model/security": ModelRule(Category.security),
    "model/performance": ModelRule(Category.performance),
    "model/api-misuse": ModelRule(Category.correctness),
    "model/breaking-change": ModelRule(Category.correctness, is_proven_outside=True),
    "model/architecture-fit": ModelRule(Category.correctness, Severity.info),
    "model/missing-test": ModelRule(Category.tests, Severity.info),
    # People are asked about what is certain, so what is not proven has to stay below that.
    AvoidanceKind.failure_hidden.rule: ModelRule(Category.avoidance, Severity.warning, unproven=CERTAIN - 0.1),
    # No convention blocks: what breaks one is a remark, whatever the convention says of that.
    CONVENTION: ModelRule(Category.style, Severity.warning),
}
assert set(RULES) == {*get_args(RuleName), CONVENTION}

SURE = 0.8  # an error requests changes, so it needs more confidence than a remark


def cap_by_rule(rule: str, severity: Severity) -> Severity:
    """The severity that follows from the consequence of a finding, limited by its rule."""
    return min(severity, RULES[rule].highest, key=lambda grade: grade.rank)


def cap_by_confidence(severity: Severity, confidence: float) -> Severity:
    """The severity of a finding after the second look: one that is not sure enough requests no changes."""
    return Severity.warning if severity.rank >= Severity.error.rank and confidence < SURE else severity
