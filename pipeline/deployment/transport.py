"""Brings a commit to a share of the traffic, by the repository's own workflow or command."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, repeat

import structlog

from agents.deployment import CommandOutcome, Deployer
from domain.deployments.deployment import Deployment
from domain.errors import CodeHostError, NotFound, RateLimited, Unprocessable
from domain.github.checks import WorkflowRun
from domain.value import Value
from memory.deployments import deployments
from memory.runs import outbox
from pipeline.checkout import fetch_commits
from pipeline.deployment.plan import DeploymentPlan
from pipeline.publishing.publisher import NO_ID, write_once
from pipeline.run_context import RunContext, run_while_current

log = structlog.get_logger(__name__)

_POLLS = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 4, 8, 10))
"""The pauses between the looks at a workflow; the last one is repeated."""
_CANCELLING = 30  # more looks at a run that was cancelled: five minutes in all
_EARLIER = timedelta(minutes=1)  # GitHub's clock may be behind ours
_KIND = "dispatch"


class _Started(Value):
    """A workflow that was started.

    :param github_id: of its run; None where GitHub did not tell it.
    """

    at: datetime
    github_id: int | None


@dataclass(frozen=True)
class DeployTransport:
    """The way to an environment."""

    context: RunContext
    deployment: Deployment
    plan: DeploymentPlan

    async def deploy(self, sha: str, percentage: int, key: str) -> CommandOutcome:
        """Bring a commit to a share of the traffic; how that ended.

        :param key: names this step; the workflow gets it as `deployment` and shows it in its title.
        """
        inputs = {
            "environment": self.deployment.environment,
            "ref": sha,
            "percentage": str(percentage),
            "deployment": key,
        }
        environment = self.plan.environment
        if environment.workflow is None:
            return await self.context.journal.step(f"deploy {percentage} %", self._run_command, sha, inputs)
        return await self._run_workflow(environment.workflow, inputs)

    async def _run_command(self, sha: str, inputs: dict[str, str]) -> CommandOutcome:
        # A rollout that is under way comes to its end during a halt: half of one is worse.
        work = self._execute(sha, inputs)
        return await run_while_current(self.context.services, self.context.run, work, ends_at_halt=False)

    async def _execute(self, sha: str, inputs: dict[str, str]) -> CommandOutcome:
        services, run = self.context.services, self.context.run
        mirror = await fetch_commits(services, run.repository, run.number, sha, sha)
        deployer = Deployer(mirror, services.toolbox, self.plan.configuration.commands)
        access = services.find_deploy_access(run.repository.full_name, self.deployment.environment)
        line, seconds = self.plan.environment.command or "", self.plan.step_time.total_seconds()
        tried = f"tried {inputs['deployment']}"
        was_tried = await deployments.load_kept(services.database, run.id, tried) is not None
        await deployments.keep(services.database, run.id, tried, {})
        outcome = await deployer.deploy(sha, line, inputs, access, seconds, self.plan.build_command)
        return outcome.model_copy(update={"began": True}) if was_tried else outcome  # it may have been killed midway

    async def _run_workflow(self, workflow: str, inputs: dict[str, str]) -> CommandOutcome:
        """Start the workflow once, and wait for its end."""
        journal = self.context.journal
        try:
            started = await journal.step("start the workflow", self._start, workflow, inputs)
        except (NotFound, Unprocessable) as error:
            return CommandOutcome(problem=f"GitHub did not start {workflow}: {error.message.rstrip('.')}", began=False)
        until = started.at + self.plan.step_time
        pauses = chain(_POLLS, repeat(_POLLS[-1]))
        while True:
            ended = await journal.step("how the workflow is", self._look, workflow, inputs["deployment"], started)
            if ended is not None and ended.is_completed:
                return _describe_end(workflow, ended)
            if await journal.step("what time it is", self._read_clock) >= until:
                minutes = self.plan.step_time.total_seconds() / 60
                if ended is None:
                    late = f"{workflow} did not begin within {minutes:.0f} minutes, and may still do so"
                    return CommandOutcome(problem=late, may_go_on=True)
                late = f"{workflow} did not end within {minutes:.0f} minutes"
                is_over = await self._cancel_run(workflow, ended.id)
                return CommandOutcome(
                    problem=late if is_over else f"{late}, nor when it was cancelled", may_go_on=not is_over
                )
            await journal.pause(next(pauses), f"{workflow} runs.")

    async def _cancel_run(self, workflow: str, github_id: int) -> bool:
        """Cancel a workflow's run, and wait for its end: what follows must not overlap it; whether it ended."""
        journal, started = self.context.journal, _Started(at=self.context.now(), github_id=github_id)
        await journal.step("cancel the workflow", self._cancel, github_id)
        for pause in (*_POLLS, *[_POLLS[-1]] * _CANCELLING):
            ended = await journal.step("whether it was cancelled", self._look, workflow, "", started)
            if ended is None or ended.is_completed:
                return True
            await journal.pause(pause, f"{workflow} is being cancelled.")
        return False

    async def _start(self, workflow: str, inputs: dict[str, str]) -> _Started:
        services, run = self.context.services, self.context.run
        key, began = inputs["deployment"], services.clock.now()

        async def find() -> int | None:
            since = began - timedelta(days=1)
            found = await services.host.find_dispatched_run(run.repository, workflow, key, since)
            return None if found is None else found.id

        async def start() -> int:
            branch = self.plan.default_branch
            return await services.host.dispatch_workflow(run.repository, workflow, branch, inputs) or NO_ID

        started = await write_once(services, run, f"workflow {key}", _KIND, start, find=find)
        at = await outbox.get_done_at(services.database, run.id, f"workflow {key}", _KIND)
        return _Started(at=at or began, github_id=started if started != NO_ID else None)

    async def _look(self, workflow: str, key: str, started: _Started) -> WorkflowRun | None:
        host, repository = self.context.services.host, self.context.run.repository
        if started.github_id is not None:
            return await host.workflow_run(repository, started.github_id)
        return await host.find_dispatched_run(repository, workflow, key, started.at - _EARLIER)

    async def _cancel(self, github_id: int) -> None:
        try:
            await self.context.services.host.cancel_workflow_run(self.context.run.repository, github_id)
        except RateLimited:
            raise
        except CodeHostError as error:
            log.warning("deployment.workflow_not_cancelled", run=self.context.run.id, error=str(error))

    async def _read_clock(self) -> datetime:
        return self.context.now()


def _describe_end(workflow: str, ended: WorkflowRun) -> CommandOutcome:
    if ended.conclusion == "success":
        return CommandOutcome(output=ended.url)
    return CommandOutcome(problem=f"{workflow} ended with {ended.conclusion}: {ended.url}", output=ended.url)
