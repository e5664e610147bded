"""The check runs of a head, with annotations and buttons, and the deployments of a repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from simulator import workflows
from simulator.errors import not_found
from simulator.pages import html, pulls
from simulator.pages.html import (
    Content,
    Html,
    Visit,
    address,
    anchor_of,
    button,
    div,
    element,
    fold,
    icon,
    icon_of,
    link,
    render_hidden,
    span,
)
from simulator.pages.layout import count, moment, page, person, verb_form
from simulator.pages.markdown import Scope, render
from simulator.state import CheckRun, Deployment, DeploymentStatus, Json, PullRequest, Repository, WorkflowRun

_UNDER_WAY = ("pending", "queued", "in_progress", "waiting")


_REFRESH = 3  # seconds
_LEVELS = {"failure": "bad", "warning": "warn", "notice": "quiet"}


def show(visit: Visit) -> Html:
    """Loads again by itself while a check is still under way."""
    pull = visit.pull()
    runs = pulls.latest_runs(visit, pull)
    waiting = not runs or any(run.status != "completed" for run in runs)
    run = _choose_run(visit, pull, runs)
    body = _detail(visit, pull, run) if run else element("p", "No check has been reported on this head yet.")
    content = [pulls.heading(visit, pull, "checks"), div("checks", _list(pull, runs, run), body)]
    refresh = _REFRESH if waiting and pull.state == "open" else None
    title = f"Checks · {pull.title}"
    return page(visit, title, *content, repository=pull.repository, issue=pull, refresh=refresh)


def pull_of(visit: Visit) -> str:
    """Where a check run is shown: on the Checks tab of the pull request with that head."""
    run = visit.check_run(visit.repository(), int(visit.params["number"]))
    pulls_with = (pull for pull in visit.world.all_pulls() if run.head_sha in pull.head_history)
    found = next((pull for pull in pulls_with if pull.repository is run.repository), None)
    if found is None:
        raise not_found()
    return address(found, "checks") + f"?check_run_id={run.id}"


def _choose_run(visit: Visit, pull: PullRequest, runs: Sequence[CheckRun]) -> CheckRun | None:
    """The one asked for, which may be on an earlier head, else the first that needs somebody."""
    identifier = visit.query.get("check_run_id", "")
    wanted = visit.world.check_runs.get(int(identifier)) if identifier.isdecimal() else None
    if wanted is not None and wanted.repository is pull.repository and wanted.head_sha in pull.head_history:
        return wanted
    return next((run for run in runs if html.blocks(run)), runs[0] if runs else None)


def _list(pull: PullRequest, runs: Sequence[CheckRun], chosen: CheckRun | None) -> Html:
    ordered = sorted(runs, key=lambda run: run.app.name)
    groups = [(name, list(group)) for name, group in groupby(ordered, key=lambda run: run.app.name)]
    return element("nav", [[element("h3", name), _items(pull, group, chosen)] for name, group in groups])


def _items(pull: PullRequest, runs: Sequence[CheckRun], chosen: CheckRun | None) -> list[Content]:
    target = address(pull, "checks")
    return [
        link(
            f"{target}?check_run_id={run.id}",
            [html.icon(run), " ", run.name],
            class_="current" if run is chosen else None,
        )
        for run in runs
    ]


def _detail(visit: Visit, pull: PullRequest, run: CheckRun) -> Html:
    state = span("quiet", f"{html.state_of(run)} · on ", element("code", run.head_sha[:7]))
    title = element("h2", html.icon(run), " ", run.name, " ", state)
    times = div("quiet", "started ", moment(run.started_at), [" · completed ", moment(run.completed_at)])
    scope = Scope(run.repository)
    text = [render(part, scope) for part in (run.summary, run.text) if part]
    headline = element("h3", run.title) if run.title else None
    parts = [title, times if run.completed_at else None, _buttons(visit, pull, run), headline]
    log = workflows.find_log(run)
    printed = fold("Log", element("pre", log), is_open=True) if log else None
    return element("section", *parts, text, _annotations(pull, run), printed, class_="check")


def _buttons(visit: Visit, pull: PullRequest, run: CheckRun) -> Html | None:
    """GitHub shows them once the run is completed, and only to people who may write; here everybody may press them."""
    if run.status != "completed":
        return None
    press = [
        button(str(action["label"]), title=str(action["description"]), identifier=str(action["identifier"]))
        for action in run.actions
    ]
    again = verb_form(visit, pull, "rerun", render_hidden(run=run.id), button("Re-run"))
    pressed = verb_form(visit, pull, "press", render_hidden(run=run.id), press) if press else None
    viewer = visit.viewer
    reader = viewer is None or not pull.repository.allows(viewer, "write")
    note = "GitHub shows these buttons to people who may write. Here everybody may press them: the App has to ask."
    return div("row", pressed, again, span("why", note) if reader else None)


def _annotations(pull: PullRequest, run: CheckRun) -> Content:
    if not run.annotations:
        return None
    ordered = sorted(run.annotations, key=lambda item: (str(item["path"]), int(item["start_line"])))
    files = groupby(ordered, key=lambda item: str(item["path"]))
    shown = [[_file(pull, path), [annotation(pull, item) for item in group]] for path, group in files]
    return [element("h3", count(len(run.annotations), "annotation")), shown]


def _file(pull: PullRequest, path: str) -> Html:
    return element("h4", link(f"{address(pull, 'files')}#{anchor_of(path)}", element("code", path)))


def annotation(pull: PullRequest, item: Json) -> Html:
    """Plain text, as GitHub shows it."""
    start, end, level = item["start_line"], item["end_line"], str(item["annotation_level"])
    lines = f"line {start}" if start == end else f"lines {start}–{end}"
    place = link(f"{address(pull, 'files')}#{anchor_of(str(item['path']))}R{end}", lines)
    head = [element("b", item["title"] or level.capitalize()), " ", span("quiet", level, " · ", place)]
    raw = fold("Details", element("pre", item["raw_details"])) if item["raw_details"] else None
    return div(f"annotation {_LEVELS[level]}", head, element("p", item["message"]), raw)


def show_deployments(visit: Visit) -> Html:
    """Each environment with its deployments, newest first, or only the one asked for."""
    repository, wanted = visit.repository(), visit.query.get("environment")
    found = [each for each in reversed(repository.deployments) if wanted in (None, each.environment)]
    names = sorted({each.environment for each in found})
    shown = [_environment(name, [each for each in found if each.environment == name]) for name in names]
    refresh = _REFRESH if any(each.state in _UNDER_WAY for each in found) else None
    nothing = None if found else element("p", "Nothing has been deployed yet.")
    title = element("h1", "Deployments")
    return page(visit, "Deployments", title, nothing, shown, repository=repository, refresh=refresh)


def render_summary(repository: Repository) -> Html | None:
    """The way to the page, with the state of each environment."""
    latest = {each.environment: each for each in repository.deployments}
    if not latest:
        return None
    target = link(address(repository, "deployments"), element("b", "Deployments"))
    return div("row", target, [[icon_of(each.state), name] for name, each in latest.items()])


def box(pull: PullRequest) -> Html | None:
    """Where the pull request's commits were deployed: as it is merged, or before from its heads."""
    commits = {pull.head_sha, *pull.head_history, pull.merge_commit_sha if pull.merged_at else None}
    found = [each for each in pull.repository.deployments if each.sha in commits]
    return div("merge-box", element("b", "Deployments"), [_row(each) for each in reversed(found)]) if found else None


def show_run(visit: Visit) -> Html:
    """A workflow run with the logs of its jobs."""
    repository = visit.repository()
    runs = (run for run in repository.workflow_runs if run.id == int(visit.params["number"]))
    run = next(runs, None)
    if run is None:
        raise not_found()
    state = run.conclusion or run.status
    title = run.title or run.name
    heading = element("h1", icon_of(state), " ", title, " ", span("quiet", state))
    commit = link(address(repository, "commit", run.head_sha), element("code", run.head_sha[:7]))
    about = div("subtitle", f"{run.name} · {run.event} on ", commit, " ", moment(run.created_at))
    refresh = None if run.status == "completed" else _REFRESH
    return page(visit, title, heading, about, _jobs(run), repository=repository, refresh=refresh)


def _jobs(run: WorkflowRun) -> list[Html]:
    jobs = [job for job in run.jobs if job.attempt == run.run_attempt]
    shown = [[icon(job.check), " ", element("b", job.check.name)] for job in jobs]
    return [
        fold(name, element("pre", job.log), is_open=True) if job.log else div("row", name)
        for name, job in zip(shown, jobs, strict=True)
    ]


def _environment(name: str, found: list[Deployment]) -> Html:
    heading = element("h2", name, " ", span("quiet", count(len(found), "deployment")))
    rows = [element("li", _row(each), _statuses(each)) for each in found]
    return element("section", heading, element("ul", rows, class_="list"))


def _row(deployment: Deployment) -> Html:
    where = deployment.repository
    commit = link(address(where, "commit", deployment.sha), element("code", deployment.sha[:7]))
    target = f"{address(where, 'deployments')}#deployment-{deployment.id}"
    newest = deployment.statuses[-1] if deployment.statuses else None
    said = newest.description if newest else deployment.description
    return div(
        "row",
        icon_of(deployment.state),
        link(target, element("b", deployment.environment)),
        span("quiet", deployment.state),
        commit,
        said,
        _links(newest) if newest else None,
        element("small", "by ", person(deployment.creator), " ", moment(deployment.created_at)),
    )


def _statuses(deployment: Deployment) -> Html:
    rows = [
        div(
            "row",
            icon_of(status.state),
            status.state,
            element("span", status.description, class_="quiet"),
            _links(status),
            element("small", "by ", person(status.creator), " ", moment(status.created_at)),
        )
        for status in reversed(deployment.statuses)
    ]
    return element("div", rows, id=f"deployment-{deployment.id}")


def _links(status: DeploymentStatus) -> list[Content]:
    """An address that is not of the web is shown and leads nowhere."""
    named = [("View deployment", status.environment_url), ("Log", status.log_url)]
    return [
        link(target, name) if re.match(r"https?://", target) else element("code", target)
        for name, target in named
        if target
    ]
