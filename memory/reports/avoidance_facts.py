"""Sums up findings of giving up and what people decided about them, for the metrics."""

from sqlalchemy import or_, select
from sqlalchemy.orm import aliased

from domain.gates import GateState
from domain.metrics import ALTERNATIVES, DESTRUCTIVE_APPROVED, FALSE_ALARMS, JUDGED_RIGHT, WHITELISTED
from domain.review.avoidance import RULE
from domain.review.judgements import JudgementKind
from domain.runs.run import ReasonCode, RunState
from memory.db.tables.findings import DismissalRow, FindingRow, JudgementRow, WhitelistRow
from memory.db.tables.gates import GateRow
from memory.db.tables.runs import RunRow
from memory.findings.dismissals import IS_ABOUT
from memory.reports.observations import Observed, count_if, sum_by_day
from memory.reports.periods import END_ID, FIRST_ID, SINCE, ReportScope

_DECIDED = [GateState.approved.value, GateState.rejected.value]
_SETTLED = [JudgementKind.legitimate.value, JudgementKind.violation.value]


def sum_raised(scope: ReportScope) -> Observed:
    """Such findings; whether they are false alarms, people say later."""
    return sum_by_day(FALSE_ALARMS, FindingRow.created_at, 0).where(
        FindingRow.id >= FIRST_ID,
        FindingRow.id < END_ID,
        *scope.match_time(FindingRow.created_at),
        *scope.match_repositories(FindingRow.repository_id),
        FindingRow.content["rule"].as_string().startswith(RULE),
    )


def sum_false_alarms(scope: ReportScope) -> Observed:
    """Such findings that are dismissed now; they are counted as raised elsewhere."""
    return (
        sum_by_day(FALSE_ALARMS, FindingRow.created_at, of=0)
        .select_from(DismissalRow)
        .join(FindingRow, IS_ABOUT)
        .where(
            DismissalRow.id >= FIRST_ID,
            DismissalRow.rule.startswith(RULE),
            DismissalRow.undone_at.is_(None),
            *scope.match_repositories(DismissalRow.repository_id),
            *scope.match_time(FindingRow.created_at),
        )
    )


def sum_judged(scope: ReportScope) -> Observed:
    """Such findings of which people said whether they are right: how many are."""
    is_right = JudgementRow.judgement == JudgementKind.violation.value
    return sum_by_day(JUDGED_RIGHT, JudgementRow.created_at, count_if(is_right)).where(
        JudgementRow.created_at >= SINCE,
        JudgementRow.undone_at.is_(None),
        JudgementRow.judgement.in_(_SETTLED),
        *scope.match_repositories(JudgementRow.repository_id),
    )


def sum_whitelisted(scope: ReportScope) -> Observed:
    """What was put on a whitelist."""
    return sum_by_day(WHITELISTED, WhitelistRow.created_at).where(
        WhitelistRow.created_at >= SINCE, *scope.match_repositories(WhitelistRow.repository_id)
    )


def sum_destructive(scope: ReportScope) -> Observed:
    """Answers to ``destructive``: how many approved."""
    is_approved = GateRow.state == GateState.approved.value
    return sum_by_day(DESTRUCTIVE_APPROVED, GateRow.decided_at, count_if(is_approved)).where(
        GateRow.name == "destructive",
        GateRow.decided_at >= SINCE,
        GateRow.state.in_(_DECIDED),
        *scope.match_repositories(GateRow.repository_id),
    )


def sum_alternatives(scope: ReportScope) -> Observed:
    """How many gates ``destructive`` ended without an approval, and after how many a later head needed none.

    One that was settled without a later head, by a word about its findings, says nothing about that.
    """
    later, asked_again = aliased(RunRow), aliased(GateRow)
    asks_again = (
        select(asked_again.id).where(asked_again.run_id == later.id, asked_again.name == "destructive").exists()
    )
    another = select(later.id).where(
        later.repository_id == GateRow.repository_id,
        later.number == GateRow.number,
        later.id > GateRow.run_id,
        later.state == RunState.completed.value,
        later.reason == ReasonCode.none.value,
    )
    ended = (
        select(GateRow.decided_at, another.where(~asks_again).exists().label("is_found"))
        .where(
            GateRow.name == "destructive",
            GateRow.decided_at >= SINCE,
            GateRow.state.not_in([GateState.waiting.value, GateState.approved.value]),
            or_(GateRow.state == GateState.rejected.value, another.exists()),
            *scope.match_repositories(GateRow.repository_id),
        )
        .subquery()
        .c
    )
    return sum_by_day(ALTERNATIVES, ended.decided_at, count_if(ended.is_found))
