"""What was deployed where and how it went, and the workflow runs that did it."""

from __future__ import annotations

import re

from simulator.errors import not_found
from simulator.pages.html import Content, Html, div, element, fold, icon, icon_of, link, span
from simulator.pages.layout import count, moment, page, person
from simulator.pages.session import Visit, address
from simulator.state import Deployment, DeploymentStatus, PullRequest, Repository, WorkflowRun

_REFRESH = 3  # seconds
_UNDER_WAY = ("pending", "queued", "in_progress", "waiting")


def show(visit: Visit) -> Html:
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
