"""What Forge answers: every text says what happened and what to do, and nothing in it acts."""

from datetime import UTC, datetime, timedelta

import pytest
from inline_snapshot import snapshot

from domain.money import MICRO, LimitUse, Usage
from domain.review.feedback import FindingFeedback
from domain.review.findings import Finding
from domain.review.review import Conclusion, Decision, Review, Risk, RiskLevel
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from domain.slash import Problem, SlashMistake
from domain.verbs import Verb
from domain.verdicts import Reason
from handlers.slash import read
from messages import commands as command_texts
from messages import feedback as feedback_texts
from messages.commands import Answer, EarlierHead, PastRun, Spending
from safety.authorization import CommandRefusal, RefusalCode
from tests.rendering import find_active
from tests.unit.domain.hostile_findings import BAD, FINDING, HOSTILE, KINDS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUN = Run(
    id="01JQ0000000000000000000000",
    repository=RepositoryRef(installation_id=7, id=99, owner="acme", name="app"),
    number=3,
    head_sha="a" * 40,
    base_sha="b" * 40,
    trigger=Trigger.pull_request,
    attempt=1,
    fence=1,
    state=RunState.completed,
)
PAST = PastRun(RUN, NOON, NOON + timedelta(seconds=12))
DISMISSAL = FindingFeedback("D", 1, "F-ABC234", "model/logic", "a.py", "f", "bob", 2, HOSTILE, NOON)


def _review(*findings: Finding, dismissed: tuple[Finding, ...] = ()) -> Review:
    return Review(
        merge_base="b" * 40,
        head_sha="a" * 40,
        files=1,
        additions=1,
        deletions=0,
        findings=findings,
        dismissed=dismissed,
        layers=(),
        not_looked_at=(),
        risk=Risk(score=10, level=RiskLevel.low, parts=()),
        decision=Decision.request_changes,
        reasons=(Reason(code="findings.blocking", text=HOSTILE),),
        conclusion=Conclusion.failure,
        seconds=1,
    )


def _refuse(code: RefusalCode, fork: bool = False) -> CommandRefusal:
    return CommandRefusal(code=code, verb=Verb.review, needed="write", held="triage", fork=fork)


ALL = {
    "help": command_texts.render_help(True),
    "no status": command_texts.render_status(None),
    "status": command_texts.render_status(PAST, HOSTILE, NOON, HOSTILE),
    "no cost": command_texts.render_cost([], []),
    "cost": command_texts.render_cost(
        [Spending(HOSTILE, "review", HOSTILE, 1, Usage(), 5)], [LimitUse(name=HOSTILE, used=1, limit=2)]
    ),
    "no history": command_texts.render_history([]),
    "history": command_texts.render_history([PAST] * 40),
    "no view": command_texts.render_verdict(None, {}),
    "view": command_texts.render_verdict(_review(BAD, dismissed=(FINDING,)), {FINDING.id: DISMISSAL}),
    "explain": command_texts.explain_finding(BAD),
    "explain gone": command_texts.explain_finding(
        BAD, earlier=EarlierHead("0d4ff97aaaa", "1d4ff97aaaa", is_reviewed=True, is_kept=None)
    ),
    "explain dismissed": command_texts.explain_finding(FINDING, DISMISSAL),
    "dismissed": feedback_texts.confirm_dismissal([FINDING], HOSTILE, is_waived=True),
    "resolved": command_texts.confirm_resolved_dismissal((FINDING,), HOSTILE),
    "undismissed": command_texts.confirm_undismissal(FINDING),
    "already": command_texts.already_dismissed(FINDING, DISMISSAL),
    "not dismissed": command_texts.not_dismissed(FINDING),
    "no finding": command_texts.no_such_finding("F-ABCDEF", ["F-ABCDEG"]),
    "which": command_texts.which_finding(Verb.dismiss),
    "reviewing": command_texts.confirm_review("a" * 40, full=True, is_ok=True),
    "moved": command_texts.head_moved("a" * 40),
    "cancelled": command_texts.confirm_cancel(RUN),
    "paused": command_texts.confirm_pause(2),
    "already paused": command_texts.already_paused(HOSTILE),
    "unpaused": command_texts.UNPAUSED,
    "pull requests only": command_texts.only_on_pull_requests(Verb.review),
    "cannot ask": command_texts.cannot_ask(HOSTILE),
    "went wrong": command_texts.report_failure(HOSTILE),
    **{f"refused {code}": command_texts.refuse(_refuse(code, fork=True), HOSTILE) for code in RefusalCode},
    **{
        f"mistake {problem}": command_texts.explain_mistake(
            SlashMistake(problem=problem, written=HOSTILE, verb=Verb.dismiss)
        )
        for problem in Problem
    },
}


@pytest.mark.parametrize("text", ALL.values(), ids=ALL.keys())
def test_nothing_in_an_answer_acts(text: str) -> None:
    harmless = (
        [*KINDS, "link_open", "link_close", "html_inline"] if "docs.astral.sh" in text or "<sub>" in text else KINDS
    )
    folded = ["html_block"] if "<details>" in text else []
    assert find_active(text, [*harmless, *folded]) == []
    assert read(text) == ()
    assert len(text) < 60_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            command_texts.refuse(_refuse(RefusalCode.role), "ann"),
            snapshot("Refused: `/forge review` needs the role write; `ann` has triage."),
        ),
        (
            command_texts.refuse(_refuse(RefusalCode.role, fork=True), "ann"),
            snapshot(
                "Refused: `/forge review` needs the role write, because it lets the code of a fork run; "
                "`ann` has triage."
            ),
        ),
        (
            command_texts.explain_mistake(
                SlashMistake(problem=Problem.unknown_verb, written="/forge aprove", verb=Verb.approve)
            ),
            snapshot(
                "`/forge aprove` is not a command. Did you mean `/forge approve [GATE] [SHA7] [with: conditions]`?"
            ),
        ),
        (
            command_texts.explain_mistake(SlashMistake(problem=Problem.unknown_verb, written="/forge make-coffee")),
            snapshot("`/forge make-coffee` is not a command. `/forge help` lists the commands."),
        ),
        (
            command_texts.explain_mistake(
                SlashMistake(problem=Problem.no_finding, written="/forge dismiss x", verb=Verb.dismiss)
            ),
            snapshot(
                "`/forge dismiss x` does not name a finding. Usage: `/forge dismiss F-ID [file: or repository:] "
                "reason`. `/forge view` lists the findings."
            ),
        ),
        (
            feedback_texts.confirm_dismissal([FINDING], "set by the caller."),
            snapshot(
                "**F-AEGTUI** is dismissed: set by the caller. Forge does not raise it again here, nor where "
                "the same rule meets the same code. `/forge undismiss F-AEGTUI` undoes this."
            ),
        ),
        (
            command_texts.render_status(
                PastRun(
                    RUN.model_copy(update={"state": RunState.waiting, "reason": ReasonCode.rate_limited}), NOON, None
                ),
                "",
                NOON,
            ),
            snapshot(
                "Run `01JQ0000000000000000000000` of `aaaaaaa`: **waiting (GitHub asked Forge to wait)**, since "
                "2026-03-01 12:00 UTC. It continues at 2026-03-01 12:00 UTC."
            ),
        ),
    ],
)
def test_what_is_said(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize("reason", [each for each in ReasonCode if each is not ReasonCode.none])
def test_every_reason_has_words(reason: ReasonCode) -> None:
    run = RUN.model_copy(update={"state": RunState.failed, "reason": reason})
    assert "failed (" in command_texts.render_history([PastRun(run, NOON, NOON)])


def test_the_cost_adds_up() -> None:
    spending = [
        Spending("review", "review", f"m{n}", 2, Usage(input_tokens=1000, output_tokens=10), MICRO) for n in (1, 2)
    ]
    text = command_texts.render_cost(spending, [LimitUse(name="run", used=2 * MICRO, limit=50 * MICRO)])
    assert "| **all** | | | 4 | | | 2.00 USD |" in text
    assert "| run | 2.00 USD | 50.00 USD | 48.00 USD |" in text


def test_one_answer_stands_alone_and_several_below_what_they_answer() -> None:
    assert command_texts.compose([Answer("/forge status", "Fine.")], "<!-- m -->") == "Fine.\n\n<!-- m -->"
    both = command_texts.compose(
        [Answer("/forge status", "Fine."), Answer("/forge explain F-AEGTUI", "So.")], "<!-- m -->"
    )
    assert both == "**`/forge status`**\n\nFine.\n\n**`/forge explain F-AEGTUI`**\n\nSo.\n\n<!-- m -->"


def test_how_a_line_is_named_above_its_answer() -> None:
    lines = "/forge dismiss F-AEGTUI because\n/forge status\n/forge aprove"
    assert [command_texts.name_command(asked) for asked in read(lines)] == [
        "/forge dismiss F-AEGTUI",
        "/forge status",
        "/forge aprove",
    ]


def test_long_lists_end_and_say_so() -> None:
    assert command_texts.render_history([PAST] * 40).endswith("and 10 more runs")
