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
"""The confidence of a candidate that is neither proven nor refuted; below what requests changes."""


@dataclass(frozen=True)
class ModelRule:
    """What a finding by a rule may be.

    :param highest: its highest severity; ``critical`` is reserved for what tools can prove.
    :param is_grave: whether one that the second look proves is an error, whatever the first look called it: small
        models call a race a warning.
    :param is_proven_outside: whether only a line that the change leaves alone proves one, such as a caller's.
    :param needs_proof: whether one that the second look cannot prove is dropped.
    :param unproven: the confidence of one that the second look can neither prove nor refute.
    """

    category: Category
    highest: Severity
    is_grave: bool = False
    is_proven_outside: bool = False
    needs_proof: bool = False
    unproven: float = UNSURE


RULES: dict[str, ModelRule] = {
    "model/logic-error": ModelRule(Category.correctness, Severity.error),
    "model/missing-edge-case": ModelRule(Category.correctness, Severity.warning),
    "model/error-handling": ModelRule(Category.correctness, Severity.warning),
    "model/data-loss": ModelRule(Category.correctness, Severity.error, is_grave=True),
    "model/resource-leak": ModelRule(Category.correctness, Severity.warning),
    "model/race": ModelRule(Category.correctness, Severity.error, is_grave=True),
    "model/removed-safeguard": ModelRule(Category.correctness, Severity.error, is_grave=True),
    "model/shared-state": ModelRule(Category.correctness, Severity.error, is_grave=True),
    "model/security": ModelRule(Category.security, Severity.error, is_grave=True),
    "model/performance": ModelRule(Category.performance, Severity.warning),
    "model/api-misuse": ModelRule(Category.correctness, Severity.error),
    "model/breaking-change": ModelRule(Category.correctness, Severity.error, is_proven_outside=True),
    "model/architecture-fit": ModelRule(Category.correctness, Severity.info),
    "model/missing-test": ModelRule(Category.tests, Severity.info),
    # People are asked about what is certain, so what is not proven has to stay below that.
    AvoidanceKind.failure_hidden.rule: ModelRule(Category.avoidance, Severity.warning, unproven=CERTAIN - 0.1),
    # No convention blocks: what breaks one is a remark, whatever the convention says of that.
    CONVENTION: ModelRule(Category.style, Severity.warning, needs_proof=True),
}
assert set(RULES) == {*get_args(RuleName), CONVENTION}

SURE = 0.8  # an error requests changes, so it needs more confidence than a remark


def cap_by_rule(rule: str, claimed: Severity) -> Severity:
    """The severity that a model claims, limited by its rule."""
    return min(claimed, RULES[rule].highest, key=lambda grade: grade.rank)


def cap_by_confidence(severity: Severity, confidence: float) -> Severity:
    """The severity of a finding after the second look: one that is not sure enough requests no changes."""
    return Severity.warning if severity.rank >= Severity.error.rank and confidence < SURE else severity


def raise_if_grave(rule: str, severity: Severity) -> Severity:
    """The severity of a proven finding."""
    return max(severity, Severity.error, key=lambda grade: grade.rank) if RULES[rule].is_grave else severity
