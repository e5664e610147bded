"""Workflows that an App starts: what the file in git allows, and what a test lets them do."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from simulator import workflows
from simulator.errors import Refusal, malformed, not_found
from simulator.state import Json, Play, Repository, WorkflowRun, World

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
    made = workflows.begin(world, repository, sha, file.name, EVENT, branch=branch, path=file.path)
    made.title = file.title(inputs)
    workflows.announce(world, made, "requested")
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
        content: object = YAML(typ="safe").load(text)  # pyright: ignore[reportUnknownMemberType]
    except YAMLError:
        content = None
    return _File(cast(Json, content) if isinstance(content, dict) else {}, path)


def _fill_in(declared: Mapping[str, Json], given: object) -> dict[str, str]:
    """The inputs with their defaults, or GitHub's refusal."""
    if not isinstance(given, dict):
        raise malformed("inputs is not an object.")
    inputs = {str(name): str(value) for name, value in cast(dict[str, Any], given).items()}
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
    workflows.advance(world, made, dict.fromkeys(file.jobs, (None, "")) if file else {}, None)
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
    workflows.advance(world, made, dict.fromkeys(file.jobs, (conclusion, log)) if file else {}, conclusion)


def cancel(world: World, made: WorkflowRun) -> None:
    if made.status == "completed":
        raise Refusal(409, "Cannot cancel a workflow run that is completed.")
    playing = world.stage.playing.pop(made.id, None)
    if playing is not None:
        playing.cancel()
    running = [job for job in made.jobs if job.attempt == made.run_attempt and job.check.status != "completed"]
    workflows.advance(world, made, {job.check.name: ("cancelled", job.log) for job in running}, "cancelled")


async def stop(world: World) -> None:
    """Stop whatever still plays."""
    for playing in world.stage.playing.values():
        playing.cancel()
    await wait(world)


async def wait(world: World) -> None:
    """Wait until nothing plays any more."""
    await asyncio.gather(*world.stage.playing.values(), return_exceptions=True)
    world.stage.playing.clear()
