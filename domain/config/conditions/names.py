"""Lists the names for conditions of gates, each with its type and meaning."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from domain.review.review import Decision, RiskLevel
from domain.runs.run import Phase, Trigger

Scalar = bool | int | float | str
Value = Scalar | tuple[Scalar, ...]
"""The values of names and literals."""
Context = Mapping[str, object]
"""Known values by name; missing or None means unknown."""


class ValueKind(StrEnum):
    """The kind of a value, in words for people."""

    number = "a number"
    text = "text"
    login = "a login"  # as GitHub compares them: without regard to case
    flag = "true or false"
    texts = "a list of texts"


@dataclass(frozen=True)
class ValueType:
    """The type of a value.

    :param choices: the only allowed texts; empty: any.
    :param ordered: the choices rise from first to last.
    """

    kind: ValueKind
    choices: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True)
class KnownName:
    """A name that a condition may use.

    :param about: its meaning, one sentence.
    """

    name: str
    type: ValueType
    about: str

    @property
    def phases(self) -> frozenset[Phase]:
        """The phases that know it."""
        return _KNOWN_IN[self.name.partition(".")[0]]


_OF_A_PLAN = frozenset({Phase.planning, Phase.implementation, Phase.testing})
ASKED = _OF_A_PLAN | {Phase.review, Phase.deployment}
"""The phases that ask a repository's own gates."""
_KNOWN_IN: Mapping[str, frozenset[Phase]] = {
    "review": frozenset({Phase.review}),
    "plan": _OF_A_PLAN,
    "testing": frozenset({Phase.testing}),
    "deployment": frozenset({Phase.deployment}),
    "run": ASKED,
}
"""By the part of a name before the dot."""

NUMBER, TEXT, LOGIN, FLAG, TEXTS = (ValueType(kind) for kind in ValueKind)
LEVEL = ValueType(ValueKind.text, tuple(RiskLevel), ordered=True)
DECISION = ValueType(ValueKind.text, tuple(Decision))
TRIGGER = ValueType(ValueKind.text, tuple(each for each in Trigger if each is not Trigger.question))

_KNOWN = (
    KnownName("review.lines_changed", NUMBER, "Added and deleted lines."),
    KnownName("review.files_changed", NUMBER, "Changed files."),
    KnownName("review.paths", TEXTS, "Changed paths; of a renamed file both."),
    KnownName("review.risk", NUMBER, "Risk, 0 to 100."),
    KnownName("review.risk_level", LEVEL, "The risk level."),
    KnownName("review.findings", NUMBER, "Findings of any severity."),
    KnownName("review.critical", NUMBER, "Those of severity critical."),
    KnownName("review.errors", NUMBER, "Those of severity error."),
    KnownName("review.warnings", NUMBER, "Those of severity warning."),
    KnownName("review.not_looked_at", NUMBER, "Changed files that matter and were not looked at."),
    KnownName("review.rules", TEXTS, "Their rules, such as `ruff/F821`."),
    KnownName("review.categories", TEXTS, "Their categories, such as `security`."),
    KnownName("review.decision", DECISION, "What the review decided."),
    KnownName("review.from_fork", FLAG, "Whether the head is in a fork."),
    KnownName("review.first_time", FLAG, "Whether it is the author's first contribution here."),
    KnownName("review.author", LOGIN, "Who opened the pull request."),
    KnownName("review.base", TEXT, "The branch it is to be merged into."),
    KnownName("plan.risk_level", LEVEL, "The risk level of the plan."),
    KnownName("plan.tasks", NUMBER, "Tasks of the plan."),
    KnownName("testing.failed", NUMBER, "Tests that failed."),
    KnownName(
        "testing.coverage_delta",
        NUMBER,
        "By how many percentage points coverage changed, such as -2.5; unknown where nothing was compared.",
    ),
    KnownName("deployment.environment", TEXT, "The environment that is deployed to."),
    KnownName("deployment.production", FLAG, "Whether that is production."),
    KnownName("deployment.risk_level", LEVEL, "The risk level of what is deployed; high where it is not known."),
    KnownName("deployment.cause", TEXT, "Why it is deployed: `merge`, `command` or `rollback`."),
    KnownName("run.cost", NUMBER, "What the run has cost so far, in USD."),
    KnownName("run.trigger", TRIGGER, "What asked for the run."),
)
NAMES: Mapping[str, KnownName] = {known.name: known for known in _KNOWN}
"""The whole vocabulary."""


def find_value(name: str, context: Context) -> Value | None:
    """The current value of a name; None if it is unknown or has the wrong type."""
    value = context.get(name)
    match NAMES[name].type.kind:
        case ValueKind.flag:
            return value if isinstance(value, bool) else None
        case ValueKind.number:
            return _number(value)
        case ValueKind.texts:
            return _texts(value)
        case ValueKind.text | ValueKind.login:
            return _text(value, NAMES[name].type.choices)


def _number(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= sys.float_info.max else None  # this excludes nan as well


def _text(value: object, choices: tuple[str, ...]) -> str | None:
    return str(value) if isinstance(value, str) and (not choices or value in choices) else None


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    items: tuple[object, ...] = tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    texts = tuple(str(item) for item in items if isinstance(item, str))
    return texts if len(texts) == len(items) else None
