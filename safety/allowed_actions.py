"""Decides what Forge may do without being asked, and whether all that a branch requires before a merge is met."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from domain.github.pull_requests import ReportedCheck, RequiredCheck
from domain.review.review import RiskLevel
from domain.runs.run import REVIEW_CHECK
from domain.value import Value
from domain.verdicts import Reason
from safety.automation_level import HIGHEST

_OWN = "Forge / "
"""The beginning of the names of Forge's own checks, which count only where they are required."""


NAMES = ("manual", "suggests", "acts", "acts and tells", "acts alone at low risk")
"""The names of the levels 0 to 4."""
TELLS_FIRST = 3
"""The level at which Forge announces a merge or a deployment, so that people can stop it."""


class Action(StrEnum):
    """An automatic action."""

    comment = "comment"
    auto_fix = "auto_fix"
    auto_approve = "auto_approve"
    auto_merge = "auto_merge"
    staging_deploy = "staging_deploy"
    open_draft_pr = "open_draft_pr"
    open_issue = "open_issue"
    production_deploy = "production_deploy"


@dataclass(frozen=True)
class ActionFacts:
    """The facts about a change; missing ones count as the worst case.

    :param risk: of the change.
    :param touches_protected: it changes a protected path.
    :param from_fork: its head is in a fork.
    :param checks_green: every required check of this head succeeded.
    :param asked: a person with permission asked for it.
    :param is_simple: it corrects nothing but formatting and simple lint.
    :param is_all_read: a linter of its language or a model read every changed file.
    :param is_read_by_model: a model read every changed file; none reads lock files, so people approve these.
    """

    risk: RiskLevel | None = None
    touches_protected: bool = True
    from_fork: bool = True
    checks_green: bool = False
    asked: bool = False
    is_simple: bool = False
    is_all_read: bool = False
    is_read_by_model: bool = False


NOTHING_KNOWN = ActionFacts()


class ActionDecision(Value):
    """Whether Forge may act, and by which rule.

    :param rule: the first rule that forbids it; if none does, the one that allows it. It is the code of a reason.
    :param override_window: Forge announces it first, and people have time to stop it.
    :param reason: for people and the audit; names level and rule, its children are all rules with their results.
    """

    act: Action
    level: int
    allowed: bool
    rule: str
    override_window: bool = False
    reason: Reason

    def dump_reason(self) -> dict[str, JsonValue]:
        """What records and announcements tell of it."""
        return {"level": self.level, "rule": self.rule, "text": self.reason.text}


def allows(level: int, act: Action, facts: ActionFacts = NOTHING_KNOWN) -> ActionDecision:
    """Decides whether a level allows an action on a change.

    :param level: the current one, see :func:`safety.automation_level.evaluate`. 0 allows no
        automatic action.
    """
    rules = [rule(level, facts) for rule in _RULES[act]]
    broken = next((rule for rule in rules if not rule.kept), None)
    code = f"ladder.{act.value}"
    reason = Reason(
        code=code,
        text=_explain(level, act, broken),
        value=level,
        children=tuple(Reason(code=rule.code, text=rule.text) for rule in rules),
    )
    return ActionDecision(
        act=act,
        level=level,
        allowed=broken is None,
        rule=code if broken is None else broken.code,
        override_window=broken is None and level == TELLS_FIRST and act in _ANNOUNCED,
        reason=reason,
    )


@dataclass(frozen=True)
class _RuleResult:
    """A rule and its result, as the rest of a sentence."""

    kept: bool
    code: str
    text: str


_Rule = Callable[[int, ActionFacts], _RuleResult]


def _explain(level: int, act: Action, broken: _RuleResult | None) -> str:
    name = NAMES[level] if 0 <= level <= HIGHEST else "unknown"
    if broken is None:
        return f"Level {level} ({name}) lets Forge {_DOES[act]}"
    return f"Level {level} ({name}) does not let Forge {_DOES[act]}: {broken.text}"


def _from_level(least: int) -> _Rule:
    def rule(level: int, facts: ActionFacts) -> _RuleResult:
        return _RuleResult(least <= level <= HIGHEST, "ladder.level", f"it takes level {least} or higher")

    return rule


def _from_level_or_request(least: int) -> _Rule:
    def rule(level: int, facts: ActionFacts) -> _RuleResult:
        text = f"it takes level {least} or higher, or someone who asks"
        return _RuleResult(least <= level <= HIGHEST or facts.asked, "ladder.level", text)

    return rule


def _low_risk(level: int, facts: ActionFacts) -> _RuleResult:
    known = "not known" if facts.risk is None else facts.risk.value
    return _RuleResult(
        facts.risk is RiskLevel.low, "ladder.low_risk", f"risk is {known} for what nobody asked for, and it must be low"
    )


def _no_high_risk(level: int, facts: ActionFacts) -> _RuleResult:
    """A correction of simple lint changes less than the change that it corrects, so medium does not stop it."""
    known = "not known" if facts.risk is None else facts.risk.value
    is_moderate = facts.risk in (RiskLevel.low, RiskLevel.medium)
    return _RuleResult(is_moderate, "ladder.moderate_risk", f"risk is {known}, and it must be low or medium")


def _no_protected_paths(level: int, facts: ActionFacts) -> _RuleResult:
    touched = "changes" if facts.touches_protected else "does not change"
    return _RuleResult(not facts.touches_protected, "ladder.protected_paths", f"it {touched} protected paths")


def _all_read(level: int, facts: ActionFacts) -> _RuleResult:
    whole = "every changed file was read" if facts.is_all_read else "not every changed file was read"
    return _RuleResult(facts.is_all_read, "ladder.unread", f"{whole} by a linter of its language or a model")


def _read_by_model(level: int, facts: ActionFacts) -> _RuleResult:
    """What kind of change it is tells a list; that it does no harm tells only who reads it."""
    whole = "a model read every changed file" if facts.is_read_by_model else "no model read every changed file"
    return _RuleResult(facts.is_read_by_model, "ladder.unread", whole)


def _no_fork(level: int, facts: ActionFacts) -> _RuleResult:
    where = "in a fork" if facts.from_fork else "in this repository"
    return _RuleResult(not facts.from_fork, "ladder.fork", f"its head is {where}")


def _checks_green(level: int, facts: ActionFacts) -> _RuleResult:
    text = "all required checks are green" if facts.checks_green else "a required check is not green"
    return _RuleResult(facts.checks_green, "ladder.checks", text)


def _simple(level: int, facts: ActionFacts) -> _RuleResult:
    text = f"below level {HIGHEST} only formatting and simple lint are corrected"
    return _RuleResult(facts.is_simple or level == HIGHEST, "ladder.simple", text)


def _on_request(level: int, facts: ActionFacts) -> _RuleResult:
    return _RuleResult(facts.asked, "ladder.asked", "somebody asked for it" if facts.asked else "nobody asked for it")


def _never(level: int, facts: ActionFacts) -> _RuleResult:
    return _RuleResult(False, "ladder.never", "a person decides this at every level")


_RULES: Mapping[Action, tuple[_Rule, ...]] = {
    Action.comment: (_from_level_or_request(1),),
    Action.auto_fix: (_from_level(2), _no_high_risk, _no_protected_paths, _no_fork, _all_read, _simple),
    Action.auto_approve: (_from_level(2), _low_risk, _no_protected_paths, _no_fork, _read_by_model, _checks_green),
    Action.auto_merge: (_from_level(3), _low_risk, _no_protected_paths, _no_fork, _read_by_model, _checks_green),
    Action.staging_deploy: (_from_level(3), _low_risk, _no_protected_paths),
    Action.open_draft_pr: (_from_level(1), _on_request),
    Action.open_issue: (_from_level_or_request(1),),
    Action.production_deploy: (_never,),
}
_ANNOUNCED = {Action.auto_merge, Action.staging_deploy}
_DOES: Mapping[Action, str] = {
    Action.comment: "comment",
    Action.auto_fix: "correct the change",
    Action.auto_approve: "approve",
    Action.auto_merge: "merge",
    Action.staging_deploy: "deploy to staging",
    Action.open_draft_pr: "open a draft pull request",
    Action.open_issue: "open an issue",
    Action.production_deploy: "deploy to production",
}


def check_name(base_ref: str, default_branch: str, required: Sequence[RequiredCheck] | None) -> str:
    """Under which name the verdict on a merge into a branch is said.

    GitHub ties a check to the head alone, so what passes for a branch anybody may make would pass for the default one.

    :param default_branch: of the repository; empty: not known.
    :param required: what the branch requires, if it is not the default one; None where that is not known for certain.
    """
    if base_ref == default_branch or any(check.name == REVIEW_CHECK for check in required or ()):
        return REVIEW_CHECK
    return name_own_check(base_ref)


def name_own_check(base_ref: str) -> str:
    """The name under which a verdict counts for one base branch only."""
    return f"{REVIEW_CHECK}: {base_ref}"


def is_required(name: str, required: Sequence[RequiredCheck] | None) -> bool:
    """Whether a check has to pass before a merge: what is not known counts as required.

    GitHub lets `neutral` pass a required check, so there it must not stand for what nobody read.
    """
    return required is None or any(check.name == name for check in required)


class ChecksState(StrEnum):
    """How the required checks stand together."""

    green = "green"
    pending = "pending"  # at least one has not ended or was not reported yet, and none failed
    failing = "failing"
    unknown = "unknown"  # GitHub does not say what is required


class RequiredChecks(Value):
    """How the checks stand, and which of them led to that.

    :param checks: the names behind it; for green, all that count.
    :param are_required: the branch requires any; otherwise more may be reported at any moment.
    """

    light: ChecksState
    checks: tuple[str, ...] = ()
    are_required: bool = False

    @property
    def text(self) -> str:
        names = ", ".join(self.checks[:5])
        match self.light:
            case ChecksState.green:
                return f"green: {names}" if names else "green: none is required"
            case ChecksState.pending:
                return f"not finished: {names}"
            case ChecksState.failing:
                return f"not green: {names}"
            case ChecksState.unknown:
                return "GitHub does not say which checks are required"


def evaluate_checks(required: Sequence[RequiredCheck] | None, results: Sequence[ReportedCheck]) -> RequiredChecks:
    """How the checks of a head stand.

    Where nothing is required, everything that others reported counts as required: a red check is a reason to wait for
    a person, whatever the settings of the branch say.

    :param required: None where that cannot be known for certain.
    :param results: everything reported on the head.
    """
    if required is None:
        return RequiredChecks(light=ChecksState.unknown)
    relevant = list(required) or [
        RequiredCheck(name=name) for name in dict.fromkeys(one.name for one in results if not one.name.startswith(_OWN))
    ]
    lights = {check.name: _evaluate(check, results) for check in relevant}
    for light in (ChecksState.failing, ChecksState.pending):
        named = tuple(name for name, each in lights.items() if each is light)
        if named:
            return RequiredChecks(light=light, checks=named, are_required=bool(required))
    return RequiredChecks(light=ChecksState.green, checks=tuple(lights), are_required=bool(required))


def _evaluate(check: RequiredCheck, results: Sequence[ReportedCheck]) -> ChecksState:
    if check.is_met_by(results):
        return ChecksState.green
    reported = [one for one in results if one.name == check.name]
    is_red = any(not one.is_green and one.conclusion != "pending" for one in reported)
    return ChecksState.failing if is_red else ChecksState.pending
