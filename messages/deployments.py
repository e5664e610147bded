"""Every text about a deployment: its check, the question before it, the comment at its end, and answers to commands."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.deployments.deployment import Cause, Deployment, DeploymentState, Step, Wish
from domain.deployments.health import Health, Signal, StageHealth
from domain.gates import STANDARD_GATES, Gate
from domain.text.escaping import code_block, escape, format_moment, inline_code
from messages.review import CheckText

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 24
_OUTPUT_TITLE = "What it printed"
_HEALTH = {
    Health.healthy: "well",
    Health.degraded: "worse than before",
    Health.unknown: "not known",
    Health.unhealthy: "unhealthy",
}
_TITLES = {
    DeploymentState.queued: "Waits for another deployment to {environment}",
    DeploymentState.asking: "Waits for a person",
    DeploymentState.preparing: "Being prepared",
    DeploymentState.rolling_out: "{percentage} % deployed",
    DeploymentState.holding: "Holds at {percentage} %",
    DeploymentState.rolling_back: "Being rolled back from {percentage} %",
    DeploymentState.healthy: "Deployed and healthy",
    DeploymentState.unverified: "Deployed; nothing watches {environment}",
    DeploymentState.degraded: "Deployed, although it is worse than before",
    DeploymentState.rolled_back: "Rolled back",
    DeploymentState.stopped: "Not deployed",
    DeploymentState.failed: "Failed: a person has to look",
}
_CAUSES = {
    Cause.merge: "merged it",
    Cause.command: "asked for it",
    Cause.rollback: "asked for what was there before",
}


def check_name(environment: str) -> str:
    """The name of the check of a deployment (docs/contract.md, checks)."""
    return f"Forge / deploy: {environment}"


@dataclass(frozen=True)
class DeploymentReport:
    """What is known of a deployment.

    :param strategy: its steps in percent.
    :param now: the figures of the step that is watched.
    :param output: the end of what the last command printed.
    :param question: what people are asked; None while they are not.
    :param question_url: where they can read it; empty if nobody knows.
    """

    deployment: Deployment
    strategy: Sequence[int] = ()
    steps: Sequence[Step] = ()
    now: StageHealth | None = None
    doing: str = ""
    url: str = ""
    output: str = ""
    question: Gate | None = None
    question_url: str = ""


def render_title(deployment: Deployment) -> str:
    """Where it stands, in a few words."""
    told = _TITLES[deployment.state]
    return told.format(environment=deployment.environment, percentage=deployment.percentage)


def render_check(report: DeploymentReport) -> CheckText:
    deployment = report.deployment
    return CheckText(render_title(deployment)[:200], "\n\n".join(_list_parts(report)))


def render_end(report: DeploymentReport, marker: str) -> str:
    """The comment at its end."""
    head = f"**{check_name(report.deployment.environment)}: {render_title(report.deployment)}**"
    return "\n\n".join([head, *_list_parts(report), marker])


def _list_parts(report: DeploymentReport) -> list[str]:
    deployment = report.deployment
    parts = [_describe(report)]
    if deployment.detail:
        parts.append(escape(deployment.detail, 1_000))
    if report.doing:
        parts.append(f"{escape(report.doing, 300)}.")
    if report.steps or report.now is not None:
        parts.append(render_steps(report))
    if report.now is not None:
        parts.append(render_signals(report.now.signals))
    elif report.steps and report.steps[-1].health is not None:
        parts.append(render_signals(report.steps[-1].health.signals))
    parts.append(_explain_question(report))
    parts.append(_explain_next(deployment))
    if report.output:
        shown = code_block(report.output)
        parts.append(f"<details><summary>{_OUTPUT_TITLE}</summary>\n\n{shown}\n</details>")
    return [part for part in parts if part]


def _describe(report: DeploymentReport) -> str:
    deployment = report.deployment
    where = inline_code(deployment.environment)
    if report.url:
        where = f"{where} ({escape(report.url, 300)})"
    risk = deployment.risk.value if deployment.risk is not None else "not known, so it counts as high"
    who = inline_code(deployment.ordered_by) if deployment.ordered_by else "Somebody"
    steps = " → ".join(f"{each} %" for each in report.strategy)
    before = f" Before it: {inline_code(deployment.previous_sha[:7])}." if deployment.previous_sha else ""
    return (
        f"{inline_code(deployment.sha[:7])} to {where}. {who} {_CAUSES[deployment.cause]}. Risk: {risk}."
        f"{f' Steps: {steps}.' if steps else ''}{before}"
    )


def render_steps(report: DeploymentReport) -> str:
    """The steps with what became of them."""
    rows = ["| step | looks | it was |", "| --- | --- | --- |"]
    for step in report.steps:
        looks = "–" if step.health is None else str(step.health.looks)
        told = "not watched" if step.health is None else _HEALTH[step.health.health]
        rows.append(f"| {step.percentage} % | {looks} | {told} |")
    if report.now is not None:
        rows.append(
            f"| {report.deployment.percentage} %, now | {report.now.looks} | {_HEALTH[report.now.health]} so far |"
        )
    return "\n".join(rows)


def render_standing(report: DeploymentReport, health: StageHealth | None) -> str:
    """What is deployed, and how it is, for people who are asked whether it may go on.

    :param health: of the newest step; None if nothing was looked at since.
    """
    percentage = report.deployment.percentage
    deployed = f"{percentage} % of the traffic has it." if percentage else "Nothing of it is deployed yet."
    steps = render_steps(report) if report.steps or report.now is not None else ""
    return "\n\n".join(part for part in (deployed, steps, render_signals(health.signals if health else ())) if part)


def render_signals(signals: Sequence[Signal]) -> str:
    """The figures beside those before the deployment, each with a small picture of its course."""
    if not signals:
        return ""
    rows = ["| watched | before | now | course | it is |", "| --- | --- | --- | --- | --- |"]
    for signal in signals:
        told = _HEALTH[signal.health]
        if signal.was_sick and signal.health is Health.healthy:
            told = "no worse than before, when it was not well"
        if signal.problem and signal.health is not Health.healthy:
            told = f"{told}: {escape(signal.problem, 150)}"
        rows.append(
            f"| {inline_code(signal.name)} | {_figure(signal.before)} | {_figure(signal.now)} | "
            f"{draw_course(signal.history, signal.before)} | {told} |"
        )
    return "\n".join(rows)


def draw_course(history: Sequence[float | None], before: float | None = None) -> str:
    """A row of bars for the newest figures, `·` where nothing was read.

    :param before: the figure before the deployment; its bar stands apart, in front of the others.
    """
    shown = list(history)[-_MOST_BARS:]
    known = [value for value in (before, *shown) if value is not None]
    if not known:
        return "·" * len(shown)
    low, high = min(*known, 0.0) / 2, max(known) / 2  # halves, because the span of huge figures is infinite
    span = high - low
    bars = ["·" if value is None else _bar((value / 2 - low) / span if span else 0.0) for value in (before, *shown)]
    return "".join(bars[1:]) if before is None else f"{bars[0]} {''.join(bars[1:])}"


def _bar(share: float) -> str:
    return _BARS[min(len(_BARS) - 1, int(share * len(_BARS)))]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _explain_question(report: DeploymentReport) -> str:
    """Who has to say what to the question that a deployment waits for."""
    gate = report.question
    if gate is None:
        return ""
    asked = gate.request
    others = ", but not who asked for it" if asked.not_requester else ""
    shown = f" [The question]({report.question_url}) shows what for." if report.question_url else ""
    answers = " or ".join(inline_code(f"/forge {word} {gate.name}") for word in ("approve", "reject"))
    return f"Somebody with the role {asked.role}{others}, answers {answers}.{shown}"


def _explain_next(deployment: Deployment) -> str:
    environment = deployment.environment
    back, unanswered = f"{inline_code(f'/forge rollback {environment}')} takes it back.", "is taken back, too"
    if not deployment.previous_sha:
        back, unanswered = "Forge knows nothing that it could go back to.", "has failed"
    or_back = f" or {inline_code(f'/forge rollback {environment}')}" if deployment.previous_sha else ""
    match deployment.state:
        case DeploymentState.queued | DeploymentState.asking | DeploymentState.preparing:
            return f"{inline_code(f'/forge deploy {environment} cancel')} ends it."
        case DeploymentState.rolling_out:
            return f"{inline_code(f'/forge deploy {environment} hold')} holds it. {back}"
        case DeploymentState.holding:
            go_on = inline_code(f"/forge deploy {environment} go-on")
            return f"{go_on} lets it go on. {back} If nobody answers in time, it {unanswered}."
        case DeploymentState.rolling_back:
            return ""
        case DeploymentState.failed:
            return (
                "Forge cannot say that what runs there now is well, and does nothing more by itself. Look at it, then "
                f"{inline_code(f'/forge deploy {environment}')}{or_back}."
            )
        case DeploymentState.rolled_back:
            return f"{inline_code(f'/forge deploy {environment}')} here deploys the same commit once more."
        case DeploymentState.stopped:
            return f"{inline_code(f'/forge deploy {environment}')} begins anew."
        case _:
            return back


def render_question(report: DeploymentReport, facts: Sequence[str], past: Sequence[Deployment], plan: str) -> str:
    """What a person is shown who has to approve a deployment.

    :param facts: what is known of the change, in Markdown.
    :param past: earlier deployments to the environment, newest first.
    :param plan: how it would be rolled back.
    """
    parts = [_describe(report), "\n".join(f"- {fact}" for fact in facts)]
    if past:
        rows = ["| earlier | commit | how it ended |", "| --- | --- | --- |"]
        rows += [
            f"| {each.created_at:%Y-%m-%d %H:%M} | {inline_code(each.sha[:7])} | {render_title(each)} |"
            for each in past
        ]
        parts.append("\n".join(rows))
    parts.append(f"**If it goes wrong**: {plan}")
    return "\n\n".join(part for part in parts if part)


def explain_rollback_plan(previous_sha: str, *, watches: bool) -> str:
    """How a deployment would be rolled back."""
    if not previous_sha:
        return "Forge deployed nothing here before, so it knows nothing to go back to: a person would have to act."
    back = f"Forge deploys {inline_code(previous_sha[:7])} again in the same way, and watches that."
    if watches:
        return f"{back} It does so by itself if the service becomes unhealthy."
    return f"{back} Nothing watches this environment, so it does that on command only."


def announce_deployment(environment: str, sha: str, text: str, until: str, marker: str) -> str:
    """That Forge deploys by itself in a moment."""
    return (
        f"**Forge deploys {inline_code(sha[:7])} to {inline_code(environment)} at {until}.** {escape(text, 300)}. "
        f"{inline_code(f'/forge deploy {environment} cancel')} stops it.\n\n{marker}"
    )


def render_latest(found: Sequence[Deployment]) -> str:
    """What came of a pull request or an issue in each environment; empty if nothing was deployed.

    :param found: newest first.
    """
    newest = {each.environment: each for each in reversed(found)}
    told = [
        f"- {inline_code(each.environment)}: {render_title(each)} ({inline_code(each.short_id)}, "
        f"{inline_code(each.sha[:7])}, {format_moment(each.finished_at or each.created_at)})"
        for each in sorted(newest.values(), key=lambda each: each.order, reverse=True)
    ]
    return "\n".join(["Deployments:", "", *told]) if told else ""


def render_past(found: Sequence[Deployment]) -> str:
    """Every deployment of a pull request or an issue, newest first; empty if there is none."""
    if not found:
        return ""
    rows = [
        f"| {format_moment(each.created_at)} | {inline_code(each.short_id)} | {inline_code(each.environment)} | "
        f"{inline_code(each.sha[:7])} | {each.cause.value} | {render_title(each)} |"
        for each in found
    ]
    head = ["| ordered | deployment | to | commit | because of | how it is |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


# --- answers to commands ----------------------------------------------------------------------------------------


def confirm_order(environment: str, sha: str, *, is_production: bool) -> str:
    """That something will be deployed."""
    asks = (
        f" Somebody else with the role {STANDARD_GATES['production_deploy'].role} has to approve that."
        if is_production
        else ""
    )
    return f"{inline_code(sha[:7])} is to be deployed to {inline_code(environment)}.{asks}"


def confirm_rollback(environment: str, sha: str, *, under_way: bool) -> str:
    """That an environment goes back."""
    if under_way:
        return f"The deployment under way to {inline_code(environment)} is being rolled back."
    return f"{inline_code(environment)} goes back to {inline_code(sha[:7])}."


def confirm_wish(wanted: Wish, deployment: Deployment) -> str:
    """That a deployment under way will do what was asked."""
    told = {
        Wish.hold: "holds before its next step",
        Wish.go_on: "goes on",
        Wish.roll_back: "is rolled back",
        Wish.cancel: "is stopped" if deployment.is_untouched else "is rolled back",
    }
    where = inline_code(deployment.environment)
    return f"The deployment of {inline_code(deployment.sha[:7])} to {where} {told[wanted]}."


def explain_untouched(environment: str) -> str:
    """That a roll-back stopped what had not begun, and what that leaves."""
    back = inline_code(f"/forge rollback {environment}")
    return f"Nothing of it was deployed, so {inline_code(environment)} runs what it did; {back} again takes that back."


def refuse_environment(environment: str, known: Sequence[str]) -> str:
    """That the configuration knows no such environment."""
    names = ", ".join(inline_code(name) for name in known)
    have = f"It has {names}." if known else "It has none yet."
    return (
        f"`.github/forge.yml` has no environment {inline_code(environment)} under `deploy.environments`. {have} "
        "Add it there, then ask again."
    )


def refuse_never(environment: str) -> str:
    """That the configuration lets nothing be deployed there."""
    return f"`.github/forge.yml` says `trigger: never` for {inline_code(environment)}, so nothing is deployed there."


def refuse_unmerged(environment: str) -> str:
    """That an open pull request is not deployed."""
    return f"Only what is merged is deployed to {inline_code(environment)}. Merge this pull request first."


def refuse_late(deployment: Deployment) -> str:
    """That something newer was ordered since a command was written that would end it or take it back."""
    where = inline_code(deployment.environment)
    return (
        f"{inline_code(deployment.short_id)} was ordered to {where} after this command was written, so it was not "
        "meant, and nothing was done. Write it again if it is meant now."
    )


def refuse_merged_later(environment: str) -> str:
    """That a pull request was open when somebody asked for its deployment."""
    again = inline_code(f"/forge deploy {environment}")
    return f"This pull request was merged after the command was written. Write {again} again to deploy it."


def refuse_moved(environment: str, branch: str, head_sha: str) -> str:
    """That Forge does not know which commit somebody meant, or that something newer was ordered since."""
    again = inline_code(f"/forge deploy {environment}")
    return (
        f"{inline_code(branch)} moved to {inline_code(head_sha[:7])} since this command was written, so that may not "
        f"be what was meant, and nothing was ordered. Write {again} again to deploy {inline_code(head_sha[:7])}."
    )


def tell_moved(branch: str, head_sha: str) -> str:
    """That somebody gets what a branch had when they wrote."""
    return (
        f"That is what {inline_code(branch)} had when the command was written; it moved to "
        f"{inline_code(head_sha[:7])} since."
    )


def refuse_other_branch(environment: str, default_branch: str) -> str:
    """That what was merged elsewhere is not deployed."""
    return f"Only what is merged into {inline_code(default_branch)} is deployed to {inline_code(environment)}."


def refuse_unknown_way_back(environment: str) -> str:
    """That there is nothing to go back to."""
    return (
        f"Forge has deployed nothing to {inline_code(environment)} before what runs there, so it does not know what to "
        "go back to."
    )


def refuse_no_deployment(environment: str) -> str:
    """That nothing is being deployed."""
    return f"Nothing is being deployed to {inline_code(environment)} now."


def refuse_hold(deployment: Deployment) -> str:
    """That a deployment that goes back is not held."""
    return f"The deployment to {inline_code(deployment.environment)} is going back, and cannot be held."


def refuse_wish(wanted: Wish, deployment: Deployment) -> str:
    """That a deployment cannot do what was asked now."""
    told = "does not hold" if wanted is Wish.go_on else "has not begun"
    return f"The deployment to {inline_code(deployment.environment)} {told}."


def refuse_replaced(deployment: Deployment) -> str:
    """That the button of an old deployment does nothing any more."""
    environment = deployment.environment
    return (
        f"{inline_code(environment)} does not run what that deployment brought any more. "
        f"{inline_code(f'/forge rollback {environment}')} takes back what runs there now."
    )
