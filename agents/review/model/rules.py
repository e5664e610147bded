"""The closed list of rules that a model may report, with a category and a highest severity each."""

from dataclasses import dataclass
from typing import Literal, get_args

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
]


@dataclass(frozen=True)
class ModelRule:
    """``highest`` is the highest severity of its findings; ``critical`` is reserved for what can be proved."""

    category: Category
    highest: Severity


RULES: dict[str, ModelRule] = {
    "model/logic-error": ModelRule(Category.correctness, Severity.error),
    "model/missing-edge-case": ModelRule(Category.correctness, Severity.warning),
    "model/error-handling": ModelRule(Category.correctness, Severity.warning),
    "model/data-loss": ModelRule(Category.correctness, Severity.error),
    "model/resource-leak": ModelRule(Category.correctness, Severity.warning),
    "model/race": ModelRule(Category.correctness, Severity.error),
    "model/removed-safeguard": ModelRule(Category.correctness, Severity.error),
    "model/shared-state": ModelRule(Category.correctness, Severity.error),
    "model/security": ModelRule(Category.security, Severity.error),
    "model/performance": ModelRule(Category.performance, Severity.warning),
    "model/api-misuse": ModelRule(Category.correctness, Severity.error),
    "model/breaking-change": ModelRule(Category.correctness, Severity.warning),
    "model/architecture-fit": ModelRule(Category.correctness, Severity.info),
    "model/missing-test": ModelRule(Category.tests, Severity.info),
}
assert set(RULES) == set(get_args(RuleName))

SURE = 0.8  # an error requests changes, so it needs more confidence than a remark


def cap_severity(rule: str, claimed: Severity, confidence: float) -> Severity:
    """The severity that a model claims, limited by its rule and its confidence."""
    grave = min(claimed, RULES[rule].highest, key=lambda grade: grade.rank)
    return Severity.warning if grave.rank >= Severity.error.rank and confidence < SURE else grave
