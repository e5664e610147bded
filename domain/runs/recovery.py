"""Recovery: what follows when an agent gives up in disguise. Pure decisions about what was caught and what was tried.

caught ── a reason to ask? ── no ──→ another strategy ──→ the next attempt ── clean ──→ taken
  ↑              └─ yes ──→ a person ── lets it try ──↗        │
  └────────────────────────────────────────────────────────────┘   at most 3 attempts between two answers
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.gates import Choice
from domain.review.avoidance import CERTAIN, LEGITIMATE, RULE, Avoidance, AvoidanceKind, is_critical
from domain.runs.patches import RequiredFix
from domain.value import Value

MOST_ATTEMPTS = 3
"""So many attempts are made before people are asked, and again after they let the agent try anew."""
AFTER_GUIDANCE = 1
"""So many are made after somebody said what to do."""
LEAST_CONFIDENCE = 0.5
"""A diagnosis that is less sure goes to people (docs/gates.md)."""
_IN_VAIN, _ELSEWHERE = 0.85, 0.7  # what an attempt in vain leaves of the confidence, and a failure hidden elsewhere


class Strategy(StrEnum):
    """How an attempt is to differ from those before it."""

    cause = "cause"  # takes it back, and mends the cause
    restore = "restore"  # a smaller step: what was taken away comes back first, then one failing thing is mended
    context = "context"  # is given what was taken away and the code around, and names the cause first
    guided = "guided"  # does what a person said


class RecoveryTrigger(StrEnum):
    """Why people are asked."""

    attempts = "attempts"  # they are used up, or the send-backs are
    doubtful = "doubtful"  # the diagnosis is not sure enough
    critical = "critical"  # five failures or more at once
    repeats = "repeats"  # the attempt left the same change
    flaky = "flaky"  # the failure behind it comes and goes


class RecoveryOutcome(StrEnum):
    """What came of an attempt."""

    open = "open"
    mended = "mended"
    hidden = "hidden"  # something was hidden again
    escalated = "escalated"  # people were asked first


class AgentMake(StrEnum):
    """Whose agent carries out a piece of work."""

    own = "own"
    other = "other"

    @property
    def opposite(self) -> "AgentMake":
        return AgentMake.other if self is AgentMake.own else AgentMake.own


class HiddenFailure(Value):
    """One place where a failure is hidden instead of mended.

    :param what: one sentence about what was done.
    :param demanded: the lines of the test that now fails.
    :param output: the last lines that it printed.
    """

    kind: AvoidanceKind
    path: str
    line: int | None = None
    what: str
    confidence: float = 1.0
    demanded: tuple[str, ...] = ()
    output: str = ""

    @property
    def rule(self) -> str:
        return self.kind.rule

    @property
    def message(self) -> str:
        return self.what

    @property
    def place(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Caught(Value):
    """What was caught.

    :param work: names the piece of work, whichever attempt it is.
    :param tried: names the try that was caught, or the send-back that tells of it.
    :param said: what the agent answered.
    :param change: a digest of the change.
    :param agent: whose it is.
    :param is_flaky: whether the failure behind it is known to come and go.
    :param is_spent: whether a phase may not send the work back again without a person.
    """

    work: str
    tried: str
    hidden: tuple[HiddenFailure, ...]
    said: str = ""
    change: str = ""
    agent: AgentMake = AgentMake.own
    is_flaky: bool = False
    is_spent: bool = False


class RecoveryAttempt(Caught):
    """An attempt to recover, with what was caught before it.

    :param confidence: of the diagnosis, 0 to 1.
    :param triggers: why people are asked before it; empty if they are not.
    :param strategy: None as long as people have not let it begin.
    :param answer: of the people who were asked.
    """

    id: str
    run_id: str
    confidence: float
    triggers: tuple[RecoveryTrigger, ...] = ()
    strategy: Strategy | None = None
    answer: Choice | None = None
    outcome: RecoveryOutcome = RecoveryOutcome.open
    at: datetime

    @property
    def is_made(self) -> bool:
        return self.strategy is not None


@dataclass(frozen=True)
class RecoveryDiagnosis:
    """What is known of what was caught.

    :param attempts: how many were made since a person last answered, of ``most``.
    :param confidence: how sure it is that another attempt is worth it, 0 to 1.
    """

    attempts: int
    most: int
    confidence: float
    triggers: tuple[RecoveryTrigger, ...]


def list_certain_failures(found: Sequence[Avoidance]) -> tuple[HiddenFailure, ...]:
    """What a detector found, without what is excused or doubtful."""
    return tuple(
        HiddenFailure(kind=each.kind, path=each.path, line=each.line, what=each.what, confidence=each.confidence)
        for each in found
        if not each.excuse and each.confidence >= CERTAIN
    )


def list_hidden(to_fix: Sequence[RequiredFix]) -> tuple[HiddenFailure, ...]:
    """What a review or the tests found of it, without what is doubtful."""
    kinds = {kind.rule: kind for kind in AvoidanceKind}
    return tuple(
        HiddenFailure(
            kind=kinds[each.rule],
            path=each.path,
            line=each.line,
            what=each.message.partition(LEGITIMATE[kinds[each.rule]])[0].strip(),
            confidence=each.confidence,
            demanded=each.demanded,
            output=each.output,
        )
        for each in to_fix
        if each.rule.startswith(RULE) and each.rule in kinds and each.confidence >= CERTAIN
    )


def select_related(past: Sequence[RecoveryAttempt], run_id: str, caught: Caught) -> list[RecoveryAttempt]:
    """The attempts that count with what was caught: at the same piece of work, or with the same trouble.

    The same trouble is the same kind in the same file, whoever finds it; words and lines differ between two looks.

    :param past: of the issue, in order.
    """
    trouble = _name_trouble(caught)
    return [
        each for each in past if (each.run_id == run_id and each.work == caught.work) or trouble & _name_trouble(each)
    ]


def select_counted(related: Sequence[RecoveryAttempt]) -> list[RecoveryAttempt]:
    """Those that were made since a person last answered, the one that this person let begin included."""
    return [each for each in _select_since_answer(related) if each.is_made]


def diagnose(run_id: str, caught: Caught, related: Sequence[RecoveryAttempt]) -> RecoveryDiagnosis:
    """Whether another attempt is worth it, or why people are asked."""
    since, counted = _select_since_answer(related), select_counted(related)
    is_guided = bool(since) and since[0].answer is Choice.approve
    most = AFTER_GUIDANCE if is_guided else MOST_ATTEMPTS
    confidence = _rate(caught, counted)
    mine = [each for each in related if each.run_id == run_id and each.work == caught.work and each.is_made]
    holds = {
        RecoveryTrigger.attempts: len(counted) >= most or caught.is_spent,
        RecoveryTrigger.doubtful: confidence < LEAST_CONFIDENCE,
        RecoveryTrigger.critical: is_critical(caught.hidden),
        RecoveryTrigger.repeats: bool(mine) and mine[-1].change == caught.change,
        RecoveryTrigger.flaky: caught.is_flaky,
    }
    triggers = tuple(trigger for trigger, is_met in holds.items() if is_met)
    return RecoveryDiagnosis(len(counted), most, confidence, triggers)


def choose_strategy(counted: Sequence[RecoveryAttempt], answer: Choice | None = None) -> Strategy:
    """A strategy that was not tried since a person last answered.

    :param answer: of a person who lets it begin.
    """
    if answer is Choice.approve:
        return Strategy.guided
    tried = {each.strategy for each in counted}
    return next((each for each in _IN_ORDER if each not in tried), _IN_ORDER[-1])


_IN_ORDER = (Strategy.cause, Strategy.restore, Strategy.context)


def _select_since_answer(related: Sequence[RecoveryAttempt]) -> Sequence[RecoveryAttempt]:
    answered = [index for index, each in enumerate(related) if each.answer is not None]
    return related[answered[-1] :] if answered else related


def _rate(caught: Caught, counted: Sequence[RecoveryAttempt]) -> float:
    """As sure as the least sure finding; less with each attempt in vain, and if the last one hid something else."""
    in_vain = sum(each.outcome is not RecoveryOutcome.mended for each in counted)
    confidence = min((each.confidence for each in caught.hidden), default=0.0) * _IN_VAIN**in_vain
    hides_elsewhere = bool(counted) and not (_name_trouble(caught) & _name_trouble(counted[-1]))
    return round(confidence * (_ELSEWHERE if hides_elsewhere else 1), 3)


def _name_trouble(caught: Caught) -> set[tuple[AvoidanceKind, str]]:
    return {(each.kind, each.path) for each in caught.hidden}
