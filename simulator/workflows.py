"""GitHub Actions: workflows that run on a head, what their jobs come to, and the host that keeps the logs of these."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from aiohttp import web

from simulator import check_runs
from simulator.errors import Refusal
from simulator.events import Actor, emit
from simulator.faults import RequestInfo
from simulator.http import Api, cut
from simulator.json import checks as check_json
from simulator.state import CheckRun, CheckSuite, Json, Link, Repository, WorkflowJob, WorkflowRun, World

Jobs = Mapping[str, tuple[str | None, str]]
"""By name: the conclusion, None while the job runs, and what it printed."""

STORAGE = "/storage"
_COMMAND = re.compile(
    r"^(?P<time>(?:\S+Z )?)::(?P<level>error|warning|notice) file=(?P<path>[^,\s]+),line=(?P<line>\d+)"
    r"::(?P<message>.+)$",
    re.MULTILINE,
)
_LINK_LASTS = timedelta(minutes=1)
_RERUN_LASTS = timedelta(days=30)
_GOOD = frozenset({"success", "neutral", "skipped"})
_WORST_FIRST = ("failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral", "skipped")


def run(
    world: World, repository: Repository, sha: str, name: str, jobs: Jobs, event: str, conclusion: str | None
) -> WorkflowRun:
    """A workflow starts on a head and goes as far as its jobs do.

    Args:
        conclusion: of the run, where it does not follow from its jobs: `startup_failure` comes without any.
    """
    made = begin(world, repository, sha, name, event)
    announce(world, made, "requested")
    advance(world, made, jobs, conclusion)
    return made


def begin(
    world: World, repository: Repository, sha: str, name: str, event: str, *, branch: str = "", path: str = ""
) -> WorkflowRun:
    """A queued run with a check suite of its own, of which nobody was told yet.

    Args:
        branch: empty: one whose head this is.
        path: of the workflow's file; empty: one that follows from its name.
    """
    app, now = world.other_app("github-actions"), world.now()
    branches = repository.git.refs().items()
    branch = branch or next((ref.removeprefix("refs/heads/") for ref, head in branches if head == sha), "")
    path = path or f".github/workflows/{name.lower().replace(' ', '-')}.yml"
    suite = CheckSuite(world.next_id(), repository, app, sha, branch or None, None, now, now)
    repository.suites.append(suite)
    made = WorkflowRun(
        world.next_id(), repository, name, sha, branch, event, "queued", None, now, now, path=path, suite=suite
    )
    repository.workflow_runs.append(made)
    return made


def rerun(world: World, made: WorkflowRun, jobs: Jobs) -> None:
    """The same run once more: another attempt with jobs of its own."""
    _begin_attempt(world, made)
    advance(world, made, jobs, None)


def rerun_failed(world: World, made: WorkflowRun) -> None:
    """Another attempt, in which the jobs that succeeded keep their result, and the others wait for `advance`.

    :raises Refusal: in GitHub's words.
    """
    if made.status != "completed":
        raise Refusal(403, "The workflow run containing this job is already running")
    if world.now() - made.created_at > _RERUN_LASTS:
        raise Refusal(403, "Unable to retry this workflow run because it was created over a month ago")
    newest = [job for job in made.jobs if job.attempt == made.run_attempt]
    kept = [job for job in newest if job.check.conclusion in _GOOD]
    if len(kept) == len(newest):
        raise Refusal(403, "This workflow run cannot be retried")
    made.jobs += [WorkflowJob(job.check, made.run_attempt + 1, job.log) for job in kept]
    _begin_attempt(world, made)


def _begin_attempt(world: World, made: WorkflowRun) -> None:
    made.run_attempt += 1
    made.status, made.conclusion = "queued", None
    announce(world, made, "requested")


def advance(world: World, made: WorkflowRun, jobs: Jobs, conclusion: str | None) -> None:
    """Begin or end jobs. The run is over when all of them are."""
    if made.status == "queued" and (jobs or conclusion is None):
        made.status = "in_progress"
        announce(world, made, "in_progress")
    for name in jobs:
        _begin(world, made, name)
    for name, (ended, log) in jobs.items():
        if ended is not None:
            _end(world, made, name, ended, log)
    present = [job.check for job in made.jobs if job.attempt == made.run_attempt]
    if conclusion is None and (not present or any(check.status != "completed" for check in present)):
        return
    ends = {check.conclusion for check in present}
    made.status = "completed"
    made.conclusion = conclusion or next(end for end in _WORST_FIRST if end in ends)
    announce(world, made, "completed")


def _actor(world: World) -> Actor:
    app = world.other_app("github-actions")
    return Actor(app.bot, app)


def _find_job(made: WorkflowRun, name: str) -> WorkflowJob | None:
    found = (job for job in made.jobs if job.attempt == made.run_attempt and job.check.name == name)
    return next(found, None)


def _begin(world: World, made: WorkflowRun, name: str) -> None:
    if made.suite is None or _find_job(made, name) is not None:
        return
    check = check_runs.add_run(world, made.suite, _actor(world), {"name": name, "status": "in_progress"})
    made.jobs.append(WorkflowJob(check, made.run_attempt, ""))


def _end(world: World, made: WorkflowRun, name: str, conclusion: str, log: str) -> None:
    job = _find_job(made, name)
    if job is None:
        raise LookupError(f"{made.name} has no job {name!r}")
    job.log = _COMMAND.sub(r"\g<time>##[\g<level>]\g<message>", log)  # as GitHub shows it
    check_runs.annotate(world, job.check, [_annotation(found) for found in _COMMAND.finditer(log)])
    check_runs.update(world, job.check, _actor(world), {"conclusion": conclusion})


def _annotation(found: re.Match[str]) -> Json:
    """What a job prints to have it shown on a line, https://docs.github.com/en/actions/reference/workflow-commands."""
    level, line = found["level"].replace("error", "failure"), int(found["line"])
    place = {"path": found["path"], "start_line": line, "end_line": line}
    return {**place, "annotation_level": level, "message": found["message"]}


def find_log(run: CheckRun) -> str:
    """What a job printed; empty if the check is none of a workflow, or still runs."""
    jobs = (job for made in run.repository.workflow_runs for job in made.jobs)
    return next((job.log for job in jobs if job.check is run), "")


def announce(world: World, made: WorkflowRun, action: str) -> None:
    made.updated_at = world.now()
    shape = check_json.workflow_run(world, made)
    workflow: Json = {
        "id": made.repository.id,
        "name": made.name,
        "path": made.path,
        "state": "active",
        "node_id": f"W_{made.repository.id}",
    }
    sender = _actor(world).account
    emit(world, "workflow_run", action, made.repository, sender, workflow_run=shape, workflow=workflow)


# --- the host that keeps the logs --------------------------------------------------------------------------


def address_of_log(world: World, job: WorkflowJob) -> str:
    key = secrets.token_hex(16)
    world.links[key] = Link(job, world.now() + _LINK_LASTS)
    return f"{world.url}{STORAGE}/{key}?sig={secrets.token_hex(8)}"


@dataclass
class LogStorage:
    """Another company's host: it knows no tokens of GitHub, and refuses a request that shows one."""

    api: Api

    async def handle(self, request: web.Request) -> web.Response:
        world = self.api.world
        info = RequestInfo(world.now(), request.method, request.path, dict(request.query), None)
        info.headers = {name: value for name, value in request.headers.items() if name != "Authorization"}
        self.api.requests.append(info)
        fault = self.api.faults.take(request.method, request.path)
        if fault is not None and fault.kind != "before":
            return cut(request)
        answer = web.Response(status=fault.status) if fault else _serve_log(world, request)
        info.status = answer.status
        return answer


def _serve_log(world: World, request: web.Request) -> web.Response:
    if "Authorization" in request.headers:
        return web.Response(status=400, text="InvalidAuthenticationInfo")
    link = world.links.get(request.match_info["key"])
    if link is None or link.until <= world.now():
        return web.Response(status=403, text="AuthenticationFailed")
    return web.Response(body=link.job.log.encode(), content_type="text/plain")
