"""Deployments on GitHub, and the workflows of GitHub Actions that carry them out or test a head."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import cast

from pydantic import AwareDatetime, JsonValue

from domain.errors import NotFound
from domain.github.checks import KEY, TASK, HostDeploymentState, Job, WorkflowRun
from domain.runs.run import RepositoryRef
from domain.text.escaping import cut_text
from domain.value import Value
from github.client import quote_segment, repository_path
from github.conversation import GitHubConversation
from github.errors import error_message, to_error
from github.payloads.checks import RunShown
from github.payloads.parsing import AccountShown, Created, parse
from github.transport import Tail

_BAD_STEPS = frozenset({"failure", "timed_out"})


class _Step(Value):
    name: str
    conclusion: str | None


class _JobShown(Value):
    id: int
    name: str
    status: str
    conclusion: str | None
    started_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None
    steps: tuple[_Step, ...] = ()

    def to_domain(self) -> Job:
        return Job(
            id=self.id,
            name=self.name,
            status=self.status,
            conclusion=self.conclusion,
            started_at=self.started_at,
            completed_at=self.completed_at,
            failed_step=next((step.name for step in self.steps if step.conclusion in _BAD_STEPS), ""),
        )


class GitHubActions(GitHubConversation):
    """Reads what workflows did as an installation of the App sees it."""

    async def workflow_runs(self, repository: RepositoryRef, head_sha: str) -> Sequence[WorkflowRun]:
        """All workflow runs on a head, newest first, each in its newest attempt.

        GitHub lists each run once, in that attempt; one that began between two pages may be listed twice.
        """
        purpose = f"read the workflow runs on {head_sha[:7]} of {repository.full_name}"
        shown = await self._list(
            RunShown, repository, "actions/runs", purpose, {"head_sha": head_sha}, key="workflow_runs"
        )
        newest: dict[int, RunShown] = {}
        for one in shown:
            if one.head_sha == head_sha and (one.id not in newest or newest[one.id].run_attempt < one.run_attempt):
                newest[one.id] = one
        return [newest[one].to_domain() for one in sorted(newest, reverse=True)]

    async def jobs(self, repository: RepositoryRef, run_id: int, *, every: bool = False) -> Sequence[Job]:
        """All jobs of the newest attempt of a workflow run.

        :param every: those of its earlier attempts, too.
        :raises NotFound: there is no such run (any more).
        """
        purpose = f"read the jobs of workflow run {run_id} of {repository.full_name}"
        query = {"filter": "all" if every else "latest"}
        return [
            one.to_domain()
            for one in await self._list(
                _JobShown, repository, f"actions/runs/{run_id}/jobs", purpose, query, key="jobs"
            )
        ]

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Begin another attempt of a completed workflow run, with its failed jobs and those that need them.

        GitHub takes it for thirty days after a run began, and not while the run goes on.

        :raises Forbidden: the run goes on, is too old, or the App may not.
        """
        purpose = f"run the failed jobs of workflow run {run_id} of {repository.full_name} once more"
        await self._send(repository, "POST", f"actions/runs/{run_id}/rerun-failed-jobs", purpose, {})

    async def job_log(self, repository: RepositoryRef, job_id: int, most: int) -> str | None:
        """The end of what a job printed, whole lines; None where GitHub has no log of it (any more).

        GitHub keeps logs on another host, for 90 days or as long as the repository sets.

        :param most: bytes at most.
        """
        purpose = f"read the log of job {job_id} of {repository.full_name}"
        address = f"{repository_path(repository)}/actions/jobs/{job_id}/logs"
        try:
            kept = await self._client.tail(repository.installation_id, address, purpose, most)
        except NotFound:
            await self.home(repository)  # it is absent only if the repository is visible
            return None
        return _whole_lines(kept).decode(errors="ignore")


def _whole_lines(kept: Tail) -> bytes:
    """The end without the line that was cut, unless that is all there is."""
    return kept.end.partition(b"\n")[2] or kept.end if kept.is_cut else kept.end


LONGEST_DESCRIPTION = 140
"""https://docs.github.com/rest/deployments/statuses#create-a-deployment-status"""
_CLOCKS_DIFFER = timedelta(minutes=5)
_DETAILS = "return_run_details"


class GitHubDeployments(GitHubActions):
    """Deploys as an installation of the App does it."""

    async def create_deployment(
        self,
        repository: RepositoryRef,
        *,
        sha: str,
        environment: str,
        is_production: bool,
        description: str,
        payload: Mapping[str, str],
        required_contexts: Sequence[str],
    ) -> int:
        """Announce that exactly this commit is to be deployed; the deployment's id. Nothing is merged into it.

        :param is_production: people use the environment directly.
        :param description: cut after 140 characters.
        :param payload: with ``forge`` as the key by which it is found again.
        :param required_contexts: names of checks that must have succeeded; empty: none.
        :raises Unprocessable: one of these did not succeed, which is named, or there is no such commit.
        """
        purpose = f"create a deployment of {sha[:7]} of {repository.full_name} to {environment}"
        wanted: JsonValue = {
            "ref": sha,
            "task": TASK,
            "auto_merge": False,
            "required_contexts": [*required_contexts],
            "payload": {**payload},
            "environment": environment,
            "description": cut_text(description, LONGEST_DESCRIPTION),
            "transient_environment": False,
            "production_environment": is_production,
        }
        return (await self._write(Created, repository, "POST", "deployments", purpose, wanted)).id

    async def find_deployment(self, repository: RepositoryRef, sha: str, environment: str, key: str) -> int | None:
        """The App's own deployment of a commit whose payload has this key as ``forge``; of several the oldest."""
        purpose = f"look for Forge's deployment of {sha[:7]} of {repository.full_name} to {environment}"
        ours = (await self.own_account(repository)).id
        query = {"sha": sha, "environment": environment}
        shown = await self._list(DeploymentShown, repository, "deployments", purpose, query)
        own = [one for one in shown if one.creator is not None and one.creator.id == ours]
        found = [one.id for one in own if (one.sha, one.environment, one.key) == (sha, environment, key)]
        return min(found, default=None)

    async def add_deployment_status(
        self,
        repository: RepositoryRef,
        deployment_id: int,
        state: HostDeploymentState,
        *,
        description: str,
        log_url: str,
        environment_url: str,
        auto_inactive: bool,
    ) -> int:
        """Say how a deployment goes; the id of what was said.

        :param description: cut after 140 characters.
        :param log_url: empty if there is none; so is ``environment_url``.
        :param auto_inactive: a success makes earlier ones of the environment inactive, unless that is transient or
            production.
        :raises NotFound: there is no such deployment (any more).
        """
        purpose = f"say that deployment {deployment_id} of {repository.full_name} is {state}"
        wanted: JsonValue = {
            "state": state.value,
            "description": cut_text(description, LONGEST_DESCRIPTION),
            "log_url": log_url,
            "environment_url": environment_url,
            "auto_inactive": auto_inactive,
        }
        return (
            await self._write(Created, repository, "POST", f"deployments/{deployment_id}/statuses", purpose, wanted)
        ).id

    async def dispatch_workflow(
        self, repository: RepositoryRef, workflow: str, ref: str, inputs: Mapping[str, str]
    ) -> int | None:
        """Start a workflow; the id of its run, None where GitHub does not tell it.

        An older GitHub does not know that details can be asked for. It ignores the question, or refuses it, which has
        no effect; only then is the dispatch sent without it.

        :param workflow: name of its file, such as ``deploy.yml``.
        :param ref: a branch or tag, whose file counts.
        :param inputs: at most 25.
        :raises NotFound: the default branch has no such workflow.
        :raises Unprocessable: no such ref, the workflow cannot be started there, or it has other inputs.
        """
        purpose = f"start the workflow {workflow} of {repository.full_name} on {ref}"
        address = f"{repository_path(repository)}/actions/workflows/{quote_segment(workflow)}/dispatches"
        wanted: dict[str, JsonValue] = {"ref": ref, "inputs": {**inputs}}
        who = repository.installation_id
        asked = await self._client.attempt(who, "POST", address, purpose, {**wanted, _DETAILS: True}, (422,))
        if asked.answer.status == 422:
            if _DETAILS not in error_message(asked.answer):
                raise to_error(asked.answer, purpose)
            asked = await self._client.attempt(who, "POST", address, purpose, wanted)
        if asked.data is None:
            return None
        return parse(Dispatched, asked.data, purpose).workflow_run_id

    async def find_dispatched_run(
        self, repository: RepositoryRef, workflow: str, key: str, since: datetime
    ) -> WorkflowRun | None:
        """The run that somebody started and whose title has ``key``; of several the oldest. It may appear late.

        :param since: when it was started, or earlier.
        :raises NotFound: there is no such workflow.
        """
        purpose = f"look for the run of the workflow {workflow} of {repository.full_name} for {key}"
        earliest = (since - _CLOCKS_DIFFER).astimezone(UTC)
        query = {"event": "workflow_dispatch", "created": f">={earliest:%Y-%m-%dT%H:%M:%SZ}"}
        path = f"actions/workflows/{quote_segment(workflow)}/runs"
        shown = await self._list(RunShown, repository, path, purpose, query, key="workflow_runs")
        found = [one for one in shown if one.event == "workflow_dispatch" and key in (one.display_title or "")]
        oldest = min(found, key=lambda one: (one.id, -one.run_attempt), default=None)
        return None if oldest is None else oldest.to_domain()

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRun:
        """A workflow run in its newest attempt.

        :raises NotFound: there is none (any more).
        """
        purpose = f"read workflow run {run_id} of {repository.full_name}"
        return (await self._get(RunShown, repository, f"actions/runs/{run_id}", purpose)).to_domain()

    async def cancel_workflow_run(self, repository: RepositoryRef, run_id: int) -> None:
        """Ask GitHub to cancel a run, which takes a moment.

        :raises Unprocessable: it is completed.
        :raises NotFound: there is none (any more).
        """
        purpose = f"cancel workflow run {run_id} of {repository.full_name}"
        await self._send(repository, "POST", f"actions/runs/{run_id}/cancel", purpose, {})


class DeploymentShown(Value):
    id: int
    sha: str
    environment: str
    payload: dict[str, JsonValue] | str | None = None
    creator: AccountShown | None

    @property
    def key(self) -> JsonValue:
        """By what Forge finds it again. GitHub gives back a payload that was sent as text, also if the text is JSON."""
        found: object = self.payload
        if isinstance(found, str):
            with suppress(ValueError, RecursionError):
                found = json.loads(found)
        return cast("dict[str, JsonValue]", found).get(KEY) if isinstance(found, dict) else None


class Dispatched(Value):
    """The answer to a dispatch that asked for the details of the run."""

    workflow_run_id: int
