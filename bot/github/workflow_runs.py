"""GitHub Actions as the tester needs it: workflow runs of a head, their jobs, and the end of a job's log."""

from collections.abc import Sequence

from pydantic import AwareDatetime, BaseModel

from bot.github.client import repository_path
from bot.github.conversation import GitHubConversation
from bot.github.payloads.parsing import parse_all
from bot.github.payloads.workflow_runs import RunShown
from bot.github.transport import Tail
from domain.errors import NotFound
from domain.github.workflow_runs import Job, WorkflowRun
from domain.ports import Actions
from domain.runs.run import RepositoryRef

_BAD_STEPS = frozenset({"failure", "timed_out"})


class _Step(BaseModel):
    name: str
    conclusion: str | None


class _JobShown(BaseModel):
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


class GitHubActions(GitHubConversation, Actions):
    """Reads what workflows did as an installation of the App sees it."""

    async def workflow_runs(self, repository: RepositoryRef, head_sha: str) -> Sequence[WorkflowRun]:
        """GitHub lists each run once, in its newest attempt; one that began between two pages may be listed twice."""
        purpose = f"read the workflow runs on {head_sha[:7]} of {repository.full_name}"
        address = f"{repository_path(repository)}/actions/runs"
        items = await self._client.items(
            repository.installation_id, address, purpose, {"head_sha": head_sha}, key="workflow_runs"
        )
        shown = parse_all(RunShown, items, purpose)
        newest: dict[int, RunShown] = {}
        for one in shown:
            if one.head_sha == head_sha and (one.id not in newest or newest[one.id].run_attempt < one.run_attempt):
                newest[one.id] = one
        return [newest[one].to_domain() for one in sorted(newest, reverse=True)]

    async def jobs(self, repository: RepositoryRef, run_id: int, *, every: bool = False) -> Sequence[Job]:
        purpose = f"read the jobs of workflow run {run_id} of {repository.full_name}"
        address = f"{repository_path(repository)}/actions/runs/{run_id}/jobs"
        query = {"filter": "all" if every else "latest"}
        items = await self._client.items(repository.installation_id, address, purpose, query, key="jobs")
        return [one.to_domain() for one in parse_all(_JobShown, items, purpose)]

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """GitHub takes it for thirty days after a run began, and not while the run goes on."""
        purpose = f"run the failed jobs of workflow run {run_id} of {repository.full_name} once more"
        address = f"{repository_path(repository)}/actions/runs/{run_id}/rerun-failed-jobs"
        await self._client.write(repository.installation_id, "POST", address, purpose, {})

    async def job_log(self, repository: RepositoryRef, job_id: int, most: int) -> str | None:
        """GitHub keeps logs on another host, for 90 days or as long as the repository sets."""
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
