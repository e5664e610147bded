"""`forge deployments`: shows what was deployed where, how that went, and the steps and figures of one deployment."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer
from pydantic import JsonValue

from bot.cli.lookup import find_repositories, take_only
from bot.cli.output import print_json, print_lines
from bot.cli.process import run
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.deployments.deployment import Step
from domain.deployments.health import Signal
from domain.text.escaping import flatten_redacted
from memory.deployments import deployments
from memory.deployments.deployments import PastDeployment
from messages.audit import format_duration
from messages.deployments import draw_course

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

_PREFIX = "D-"
_LEAST = 6  # characters of an id


@commands.command("deployments")
def deployments_command(
    shown: Annotated[
        str | None, typer.Argument(metavar="[D-ID]", help="Show this one, with steps and figures.")
    ] = None,
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    environment: Annotated[str | None, typer.Option(metavar="ENV", help="Only this environment.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the latest deployments, or show one."""
    if shown is not None:
        run(lambda settings: show_one(settings, shown, as_json=as_json))
    else:
        run(lambda settings: show_all(settings, repository, environment, limit, as_json=as_json))


async def show_all(
    settings: Installation, repository: str | None, environment: str | None, limit: int, *, as_json: bool
) -> None:
    """Print the latest deployments, newest first.

    :raises UnknownName: if Forge never ran in this repository.
    """
    async with open_database(settings) as database:
        ids = None if repository is None else await find_repositories(database, repository)
        found = await deployments.list_past(database, repository_ids=ids, environment=environment, limit=limit)
    if as_json:
        print_json([to_json(each) for each in found])
        return
    now = SystemClock().now()
    print_lines(*([render_line(each, now) for each in found] or ["Nothing was deployed."]))


async def show_one(settings: Installation, shown_id: str, *, as_json: bool) -> None:
    """Print one deployment with its steps and figures.

    :raises ForgeError: if no deployment, or more than one, has this id.
    """
    async with open_database(settings) as database:
        ending = shown_id.removeprefix(_PREFIX)
        found = await deployments.list_past(database, ending=ending) if len(ending) >= _LEAST else ()
    advice = "`forge deployments` lists the latest."
    one = take_only(found, "deployment", shown_id, advice, lambda past: past.deployment.run_id)
    if as_json:
        print_json({**to_json(one), "steps": [each.model_dump(mode="json") for each in one.steps]})
        return
    print_lines(*render_deployment(one, SystemClock().now()))


def render_line(past: PastDeployment, now: datetime) -> str:
    """One deployment in one line.

    :param now: up to which one counts that is not over.
    """
    deployment = past.deployment
    who = f" by {flatten_redacted(deployment.ordered_by)}" if deployment.ordered_by else ""
    took = format_duration(((deployment.finished_at or now) - deployment.created_at).total_seconds())
    return "  ".join(
        [
            deployment.short_id,
            flatten_redacted(past.repository),
            flatten_redacted(deployment.environment),
            deployment.sha[:7],
            f"{deployment.state.value} ({deployment.percentage} %)",
            f"{deployment.cause.value}{who}",
            f"{deployment.created_at:%Y-%m-%d %H:%M} UTC",
            f"took {took}" if deployment.finished_at else f"for {took}",
        ]
    )


def render_deployment(past: PastDeployment, now: datetime) -> list[str]:
    """One deployment, with its steps and what was watched at each."""
    deployment = past.deployment
    risk = "not known" if deployment.risk is None else deployment.risk.value
    before = f"; before it {deployment.previous_sha[:7]}" if deployment.previous_sha else ""
    return [
        render_line(past, now),
        f"  run {deployment.run_id}, of #{deployment.number}; risk {risk}{before}",
        *([f"  {flatten_redacted(deployment.detail)}"] if deployment.detail else []),
        *(line for step in past.steps for line in _render_step(step)),
    ]


def to_json(past: PastDeployment) -> dict[str, JsonValue]:
    """One deployment, without its steps."""
    deployment = past.deployment
    finished = deployment.finished_at
    return {
        "id": deployment.short_id,
        "run": deployment.run_id,
        "repository": past.repository,
        "number": deployment.number,
        "environment": deployment.environment,
        "production": deployment.is_production,
        "commit": deployment.sha,
        "before": deployment.previous_sha or None,
        "state": deployment.state.value,
        "percentage": deployment.percentage,
        "cause": deployment.cause.value,
        "by": deployment.ordered_by,
        "risk": None if deployment.risk is None else deployment.risk.value,
        "detail": deployment.detail,
        "ordered": deployment.created_at.isoformat(),
        "finished": None if finished is None else finished.isoformat(),
    }


def _render_step(step: Step) -> Iterator[str]:
    if step.health is None:
        yield f"  {step.percentage} %: not watched"
        return
    yield f"  {step.percentage} %: {step.health.health.value}, after {step.health.looks} looks"
    yield from (f"    {_render_signal(signal)}" for signal in step.health.signals)


def _render_signal(signal: Signal) -> str:
    problem = f"  {flatten_redacted(signal.problem)}" if signal.problem else ""
    figures = f"{_format_figure(signal.before)} before, {_format_figure(signal.now)} now"
    course = draw_course(signal.history, signal.before)
    return f"{flatten_redacted(signal.name)}  {signal.health.value}  {figures}  {course}{problem}"


def _format_figure(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.4g}"
