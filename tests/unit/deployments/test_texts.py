"""What people read of a deployment: whole, short enough for GitHub, and inert whatever a service or a commit says."""

import pytest

from domain.deployments.deployment import Cause, DeploymentState, Step, Wish
from domain.deployments.health import Health, Signal, StageHealth
from domain.review.review import RiskLevel
from messages import deployments as texts
from messages.deployments import DeploymentReport, draw_course, render_check, render_end, render_question
from tests.rendering import find_active, to_visible_text
from tests.unit.deployments.figures import WELL
from tests.unit.deployments.orders import deployment

LONGEST = 65_535
HOSTILE = (
    "@octo closes #1 https://evil.example www.evil.example <img src=x onerror=1> [x](https://evil.example) "
    "| a | `code` ![x](y) /forge approve <!-- forge:gate:1:2 --> $a$ **b** \x1b[31m\u202e\n# title\n- item"
)
TABLES = [
    "table_open",
    "table_close",
    *(f"{part}_{end}" for part in ("thead", "tbody", "tr", "th", "td") for end in ("open", "close")),
]
ALLOWED = [
    *TABLES,
    "strong_open",
    "strong_close",
    "bullet_list_open",
    "bullet_list_close",
    "list_item_open",
    "list_item_close",
]
STATES = list(DeploymentState)


def _build_report(state: DeploymentState, **more: object) -> DeploymentReport:
    values = {"percentage": 25, "previous_sha": "b" * 40, "risk": RiskLevel.medium} | more
    return DeploymentReport(
        deployment(10, state, **values),
        strategy=(5, 25, 100),
        steps=(Step(percentage=5, health=WELL), Step(percentage=25)),
        now=WELL,
        doing="Look 3 of 8",
        url="https://shop.example.com",
    )


def _build_hostile_report(state: DeploymentState = DeploymentState.failed) -> DeploymentReport:
    """Everything that is not Forge's own is hostile, and as long as can be."""
    words = HOSTILE * 100
    signal = Signal(name=words, health=Health.unhealthy, before=1e300, now=-1e300, history=(1.0,) * 6000, problem=words)
    stage = StageHealth(health=Health.unhealthy, signals=(signal,) * 13, looks=9, is_final=True)
    return DeploymentReport(
        deployment(10, state, environment="e" * 100, detail=words, ordered_by="carol", percentage=100),
        strategy=tuple(range(1, 21)),
        steps=(Step(percentage=100, health=stage),) * 20,
        now=stage,
        doing=words,
        url=words,
        output=f"```\n{words[:2_900]}",
    )


# --- its check --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_every_state_says_what_is_deployed_and_why(state: DeploymentState) -> None:
    check = render_check(_build_report(state))
    assert "`aaaaaaa` to `staging`" in check.summary
    assert "`carol` merged it. Risk: medium. Steps: 5 % → 25 % → 100 %. Before it: `bbbbbbb`." in check.summary


@pytest.mark.parametrize("state", STATES)
def test_a_title_fits_and_a_summary_too(state: DeploymentState) -> None:
    check = render_check(_build_hostile_report(state))
    assert len(check.title) <= 200
    assert len(check.summary) <= LONGEST
    assert len(render_end(_build_hostile_report(state), "<!-- marker -->")) <= LONGEST


@pytest.mark.parametrize(
    ("state", "title", "offered"),
    [
        (DeploymentState.queued, "Waits for another deployment to staging", ["/forge deploy staging cancel"]),
        (DeploymentState.asking, "Waits for a person", ["/forge deploy staging cancel"]),
        (DeploymentState.preparing, "Being prepared", ["/forge deploy staging cancel"]),
        (DeploymentState.rolling_out, "25 % deployed", ["/forge deploy staging hold", "/forge rollback staging"]),
        (DeploymentState.holding, "Holds at 25 %", ["/forge deploy staging go-on", "/forge rollback staging"]),
        (DeploymentState.rolling_back, "Being rolled back from 25 %", []),
        (DeploymentState.healthy, "Deployed and healthy", ["/forge rollback staging"]),
        (DeploymentState.unverified, "Deployed; nothing watches staging", ["/forge rollback staging"]),
        (DeploymentState.degraded, "Deployed, although it is worse than before", ["/forge rollback staging"]),
        (DeploymentState.rolled_back, "Rolled back", ["/forge deploy staging"]),
        (DeploymentState.stopped, "Not deployed", ["/forge deploy staging"]),
        (DeploymentState.failed, "Failed: a person has to look", ["/forge deploy staging", "/forge rollback staging"]),
    ],
)
def test_every_state_has_a_title_and_offers_only_what_does_something(
    state: DeploymentState, title: str, offered: list[str]
) -> None:
    check = render_check(DeploymentReport(deployment(10, state, previous_sha="b" * 40, percentage=25)))
    assert check.title == title
    assert [part for part in check.summary.split("`") if part.startswith("/forge")] == offered


def test_what_is_not_known_is_not_shown_as_known() -> None:
    report = DeploymentReport(deployment(10, DeploymentState.queued))
    summary = render_check(report).summary
    assert "Risk: not known, so it counts as high." in summary
    assert "Before it" not in summary
    assert "Steps" not in summary


def test_steps_say_what_became_of_them() -> None:
    assert texts.render_steps(_build_report(DeploymentState.rolling_out)).splitlines() == [
        "| step | looks | it was |",
        "| --- | --- | --- |",
        "| 5 % | 3 | well |",
        "| 25 % | – | not watched |",
        "| 25 %, now | 3 | well so far |",
    ]


def test_figures_stand_beside_those_before() -> None:
    lost = Signal(name="throughput", health=Health.unknown, problem="It answered with status 500.", history=(None,))
    assert texts.render_signals([*WELL.signals, lost]).splitlines() == [
        "| watched | before | now | course | it is |",
        "| --- | --- | --- | --- | --- |",
        "| `latency` | 100 | 101 | █ █·█ | well |",
        "| `throughput` | – | – | · | not known: It answered with status 500. |",
    ]
    assert texts.render_signals([]) == ""


# --- the course -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "course"),
    [
        ([], ""),
        ([None, None], "··"),
        ([0.0, 0.0], "▁▁"),
        ([0.0, 1.0], "▁█"),
        ([100.0, 100.0], "██"),
        ([1.0, None, 4.0, 8.0], "▂·▅█"),
        ([-4.0, 0.0, 4.0], "▁▅█"),
        ([1e300, 1e-300], "█▁"),
        ([1e308, -1e308, 0.0], "█▁▅"),
    ],
)
def test_a_course_has_a_bar_for_each_figure(history: list[float | None], course: str) -> None:
    assert draw_course(history) == course


def test_a_course_shows_the_newest_figures() -> None:
    assert draw_course([*[0.0] * 1000, *[1.0] * 24]) == "█" * 24


# --- inert ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_hostile_texts_stay_text(state: DeploymentState) -> None:
    report = _build_hostile_report(state)
    shown = render_check(
        DeploymentReport(report.deployment, report.strategy, report.steps, report.now, report.doing, report.url)
    )
    assert find_active(shown.summary, ALLOWED) == []


def test_what_a_command_printed_cannot_leave_its_block() -> None:
    shown = render_check(_build_hostile_report()).summary
    block = shown[shown.index("<details>") :]
    assert block.startswith("<details><summary>What it printed</summary>\n\n````\n```")
    assert block.endswith("\n````\n</details>")
    assert "<!-- forge:" not in shown


def test_a_hostile_figure_keeps_its_row() -> None:
    report = _build_hostile_report()
    assert report.now is not None
    rows = texts.render_signals(report.now.signals).splitlines()
    assert len(rows) == 2 + len(report.now.signals)
    assert "octo" in to_visible_text(rows[-1])


# --- the question -----------------------------------------------------------------------------------------------


def test_a_question_tells_the_change_the_past_and_the_way_back() -> None:
    past = [deployment(3, DeploymentState.rolled_back), deployment(2, DeploymentState.healthy)]
    back = texts.explain_rollback_plan("b" * 40, watches=True)
    shown = render_question(_build_report(DeploymentState.asking), ["Risk: medium, 30 of 100"], past, back)
    assert "- Risk: medium, 30 of 100" in shown
    assert "| 2026-05-01 12:03 | `3333333` | Rolled back |" in shown
    assert shown.endswith(
        "**If it goes wrong**: Forge deploys `bbbbbbb` again in the same way, and watches that. "
        "It does so by itself if the service becomes unhealthy."
    )


def test_a_question_promises_no_way_back_that_there_is_not() -> None:
    assert "knows nothing to go back to" in texts.explain_rollback_plan("", watches=True)
    assert "on command only" in texts.explain_rollback_plan("b" * 40, watches=False)


# --- answers ----------------------------------------------------------------------------------------------------


def test_an_order_for_production_says_who_else_is_asked() -> None:
    assert "has to approve" in texts.confirm_order("production", "a" * 40, is_production=True)
    assert "approve" not in texts.confirm_order("staging", "a" * 40, is_production=False)


@pytest.mark.parametrize("wish", Wish)
@pytest.mark.parametrize("state", [DeploymentState.queued, DeploymentState.rolling_out])
def test_every_wish_is_confirmed_in_words(wish: Wish, state: DeploymentState) -> None:
    told = texts.confirm_wish(wish, deployment(10, state))
    assert told.startswith("The deployment of `aaaaaaa` to `staging` ")
    is_stopped = wish is Wish.cancel and state is DeploymentState.queued
    assert ("is stopped" in told) is is_stopped


@pytest.mark.parametrize("known", [(), ("staging", "production")])
def test_an_environment_that_nobody_knows_is_refused_with_those_there_are(known: tuple[str, ...]) -> None:
    told = texts.refuse_environment(HOSTILE, known)
    assert find_active(told) == []
    assert all(f"`{name}`" in told for name in known)
    assert ("It has none yet." in told) is (not known)


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_its_sentence(cause: Cause) -> None:
    summary = render_check(DeploymentReport(deployment(10, cause=cause))).summary
    assert ("merged" in summary) is (cause is Cause.merge)
