"""Plays GitHub Actions for a repository: its jobs really run, in Forge's sandbox, on every head that is proposed."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from simulator import Simulator
from simulator.state import Repository, WorkflowRun
from workspace.checkout import check_out
from workspace.git import Git
from workspace.objects import Objects
from workspace.sandbox.sandbox import Sandbox

_LOOK = 0.3  # seconds between two looks at the heads
_PATIENCE = 60.0  # seconds that a job may take


@dataclass(frozen=True)
class Builds:
    """The workflow of one repository.

    :param jobs: the command line of each job, by name.
    """

    github: Simulator
    repository: Repository
    sandbox: Sandbox
    name: str
    jobs: Mapping[str, str]

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Build every new head until the end of the context."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _watch(self) -> None:
        while True:
            self._begin()
            for each in self.repository.workflow_runs:
                if each.status != "completed":
                    await self._finish(each)
            await asyncio.sleep(_LOOK)

    def _begin(self) -> None:
        """A run for each head that has none; the base comes first, as others are compared with it."""
        git, opened = self.repository.git, (each for each in self.repository.pulls() if each.state == "open")
        heads = {git.branch(self.repository.default_branch): "push"}
        heads |= {each.head_sha: "pull_request" for each in opened if each.head_repository is each.repository}
        built = {each.head_sha for each in self.repository.workflow_runs}
        for sha, event in heads.items():
            if sha is not None and sha not in built:
                waiting = dict.fromkeys(self.jobs, (None, ""))
                self.github.run_workflow(self.repository, sha, self.name, waiting, event=event)

    async def _finish(self, run: WorkflowRun) -> None:
        """Run what has not ended of its newest attempt."""
        over = {
            each.check.name for each in run.jobs if each.attempt == run.run_attempt and each.check.status == "completed"
        }
        for name in [each for each in self.jobs if each not in over]:
            self.github.advance_workflow(run, {name: await self._build(run.head_sha, self.jobs[name])})

    async def _build(self, sha: str, line: str) -> tuple[str, str]:
        """A job's conclusion, and what it printed."""
        objects = Objects(Git(self.repository.git.path))
        async with check_out(objects, sha, self.sandbox) as checkout:
            done = await checkout.run(("sh", "-c", f"{line} 2>&1"), seconds=_PATIENCE)
        end = "" if done.status == 0 else f"##[error]Process completed with exit code {done.status}.\n"
        log = f"##[group]Run {line}\n##[endgroup]\n{done.stdout.data.decode(errors='replace')}{end}"
        return ("failure" if end else "success"), log
