"""GitHub Actions: workflows that run on a head or that an App starts, what their jobs come to, and their logs.

What an App may start the file in git allows, and what it does then a test says.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from aiohttp import web
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from simulator import check_json, check_runs
from simulator.errors import Refusal, RequestInfo, malformed, not_found
from simulator.http import Api, cut
from simulator.state import CheckRun, CheckSuite, Json, Link, Play, Repository, WorkflowJob, WorkflowRun, World
from simulator.webhooks import Actor, emit

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


EVENT = "workflow_dispatch"
FOLDER = ".github/workflows"
MOST_INPUTS = 25
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_INPUT = re.compile(r"(?:github\.event\.)?inputs\.([\w-]+)")


@dataclass(frozen=True)
class _File:
    """A workflow's file at one commit."""

    content: Json
    path: str

    @property
    def name(self) -> str:
        return str(self.content.get("name") or self.path)

    @property
    def jobs(self) -> list[str]:
        jobs = cast(dict[str, Json | None], self.content.get("jobs") or {})
        return [str((job or {}).get("name") or key) for key, job in jobs.items()]

    def inputs(self) -> dict[str, Json] | None:
        """What a dispatch may give; None if the file does not allow one."""
        on = self.content.get("on")
        if not isinstance(on, dict):
            named = cast(list[Any], on) if isinstance(on, list) else [on]
            return {} if EVENT in named else None
        events = cast(dict[str, Json | None], on)
        if EVENT not in events:
            return None
        declared = cast(dict[str, Json | None], (events[EVENT] or {}).get("inputs") or {})
        return {name: told or {} for name, told in declared.items()}

    def title(self, inputs: Mapping[str, str]) -> str:
        """The run's name; of expressions only inputs are known, and all others are empty."""

        def fill(found: re.Match[str]) -> str:
            named = _INPUT.fullmatch(found[1])
            return inputs.get(named[1], "") if named else ""

        return _EXPRESSION.sub(fill, str(self.content.get("run-name") or "")).strip() or self.name


def dispatch(world: World, repository: Repository, workflow: str, body: Json) -> WorkflowRun:
    """Start a workflow as its file at the ref says; it is queued, and then plays what a test arranged for it.

    https://docs.github.com/rest/actions/workflows#create-a-workflow-dispatch-event
    """
    ref = body.get("ref")
    if not isinstance(ref, str) or not ref:
        raise malformed('"ref" wasn\'t supplied.')
    require_known(repository, workflow)
    branch = re.sub(r"^refs/(heads|tags)/", "", ref)
    sha = repository.git.branch(branch) or repository.git.ref(f"refs/tags/{branch}")
    if sha is None:
        raise Refusal(422, f"No ref found for: {ref}")
    sha = repository.git.resolve(sha) or sha
    file = _read(repository, sha, f"{FOLDER}/{workflow}")
    declared = file.inputs() if file else None
    if file is None or declared is None:
        raise Refusal(422, f"Workflow does not have '{EVENT}' trigger")
    inputs = _fill_in(declared, body.get("inputs") or {})
    made = begin(world, repository, sha, file.name, EVENT, branch=branch, path=file.path)
    made.title = file.title(inputs)
    announce(world, made, "requested")
    play = world.stage.plays.get((repository.id, workflow))
    if play is not None:
        world.stage.playing[made.id] = asyncio.get_running_loop().create_task(_play(world, made, play, inputs))
    return made


def require_known(repository: Repository, workflow: str) -> None:
    """:raises Refusal: GitHub knows the workflows that the default branch has, and those that ran."""
    head, path = repository.git.branch(repository.default_branch), f"{FOLDER}/{workflow}"
    is_there = head is not None and repository.git.read(head, path) is not None
    if not is_there and all(run.path != path for run in repository.workflow_runs):
        raise not_found()


def _read(repository: Repository, sha: str, path: str) -> _File | None:
    """A workflow's file; one that cannot be read is like one that names no events."""
    text = repository.git.read(sha, path)
    if text is None:
        return None
    try:
        content: object = YAML(typ="safe").load(text)
    except YAMLError:
        content = None
    return _File(cast(Json, content) if isinstance(content, dict) else {}, path)


def _fill_in(declared: Mapping[str, Json], given: object) -> dict[str, str]:
    """The inputs with their defaults, or GitHub's refusal."""
    if not isinstance(given, dict):
        raise malformed("inputs is not an object.")
    inputs = {name: str(value) for name, value in cast(dict[str, Any], given).items()}
    if len(inputs) > MOST_INPUTS:
        raise malformed(f"No more than {MOST_INPUTS} properties are allowed; {len(inputs)} were supplied.")
    unknown = [name for name in inputs if name not in declared]
    if unknown:
        raise Refusal(422, f"Unexpected inputs provided: {json.dumps(unknown)}")
    for name, told in declared.items():
        if name not in inputs and "default" not in told and told.get("required"):
            raise Refusal(422, f"Required input '{name}' not provided")
        inputs.setdefault(name, str(told.get("default", "")))
        if told.get("type") == "choice" and inputs[name] not in told.get("options", []):
            raise Refusal(422, f"Provided value '{inputs[name]}' for input '{name}' not in the list of allowed values")
    return inputs


async def _play(world: World, made: WorkflowRun, play: Play, inputs: Mapping[str, str]) -> None:
    """A play that raises has failed, and the log of its job says why."""
    file = _read(made.repository, made.head_sha, made.path)
    advance(world, made, dict.fromkeys(file.jobs, (None, "")) if file else {}, None)
    log = ""
    try:
        conclusion = await play(inputs, made.head_sha)
    except Exception as error:
        conclusion, log = "failure", f"{type(error).__name__}: {error}\n"
    if conclusion is not None:
        finish(world, made, conclusion, log)


def finish(world: World, made: WorkflowRun, conclusion: str, log: str = "") -> None:
    """End a run with all its jobs, unless it is over."""
    if made.status == "completed":
        return
    file = _read(made.repository, made.head_sha, made.path)
    advance(world, made, dict.fromkeys(file.jobs, (conclusion, log)) if file else {}, conclusion)


def cancel(world: World, made: WorkflowRun) -> None:
    if made.status == "completed":
        raise Refusal(409, "Cannot cancel a workflow run that is completed.")
    playing = world.stage.playing.pop(made.id, None)
    if playing is not None:
        playing.cancel()
    running = [job for job in made.jobs if job.attempt == made.run_attempt and job.check.status != "completed"]
    advance(world, made, {job.check.name: ("cancelled", job.log) for job in running}, "cancelled")


async def stop(world: World) -> None:
    """Stop whatever still plays."""
    for playing in world.stage.playing.values():
        playing.cancel()
    await wait(world)


async def wait(world: World) -> None:
    """Wait until nothing plays any more."""
    await asyncio.gather(*world.stage.playing.values(), return_exceptions=True)
    world.stage.playing.clear()
