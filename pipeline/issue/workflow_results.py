"""Loads the results of a repository's own workflows on a head."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from agents.testing import actions
from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.workflow_runs import WorkflowRun
from domain.runs.testing import TestRun
from domain.text.redaction import redact_outgoing
from memory.repositories import permits
from memory.runs import outbox
from pipeline.publishing.publisher import NO_ID, write_once
from pipeline.publishing.test_check import HeadTestCheck
from pipeline.run_context import RunContext

_MAX_LOGS = 10  # of failed jobs
GRACE = timedelta(minutes=10)
"""How long GitHub may take to start a workflow on a new head."""
_PATIENCE = timedelta(hours=6)
_NOT_ENDED = "The workflows of the repository did not end within six hours. Look at them, then write `/forge test`."
_NO_WORKFLOW = (
    "GitHub began no workflow on this head within ten minutes. A workflow has to run `on: pull_request` or `on: push` "
    "for this branch; to have Forge run the tests itself, set `testing: {runner: sandbox}`."
)
_LONGEST_SELECTION = 1_000
_AGAIN = "rerun"  # the kind of write
_NOT_AGAIN = "What failed was not run again to see whether it is flaky: {why}."


@dataclass(frozen=True)
class WorkflowResults:
    """The workflows on one head.

    :param check: its creation is the moment from which the waiting time counts.
    :param level: the automation level here.
    :param is_asked: whether a person asked for the test.
    """

    context: RunContext
    check: HeadTestCheck
    level: int
    is_asked: bool = False

    async def load(self) -> TestRun | None:
        """Their results; None while one runs or may still start.

        What failed in its first attempt is run once more, so that flaky jobs are told from failures.
        """
        found = await self.context.services.host.workflow_runs(self.context.run.repository, self.check.head)
        if not actions.find_relevant_runs(found) and await self._has_waited(GRACE):
            return TestRun(not_run=_NO_WORKFLOW)
        ran = await self._read(found)
        if ran is None:
            return TestRun(not_run=_NOT_ENDED) if await self._has_waited(_PATIENCE) else None
        failed = actions.find_failed_once(found)
        if not failed:
            return ran
        why_not = await self._run_again(failed)
        if why_not is None:
            return None
        return ran.model_copy(update={"selection": f"{ran.selection} {why_not}"[:_LONGEST_SELECTION]})

    async def _read(self, found: Sequence[WorkflowRun]) -> TestRun | None:
        host, repository = self.context.services.host, self.context.run.repository
        relevant = actions.find_relevant_runs(found)
        jobs = {each.id: await host.jobs(repository, each.id) for each in relevant}
        flaky = {
            each.id: actions.find_flaky_jobs(jobs[each.id], await host.jobs(repository, each.id, every=True))
            for each in relevant
            if each.attempt > 1
        }
        wanted = [job for each in jobs.values() for job in each if actions.wants_log(job)][:_MAX_LOGS]
        logs = {job.id: await host.job_log(repository, job.id, actions.MOST_LOG) for job in wanted}
        redacted = {number: redact_outgoing(log) for number, log in logs.items() if log is not None}
        return actions.build_test_run(found, jobs, redacted, flaky)

    async def _run_again(self, failed: Sequence[WorkflowRun]) -> str | None:
        """Have the failed jobs run once more; None while that goes on, else why they do not, as a sentence."""
        if not await self._may_run_again():
            return _NOT_AGAIN.format(why="Forge starts nothing here now")
        refused = [await self._find_refusal(each) for each in failed]
        return None if None in refused else _NOT_AGAIN.format(why=refused[0])

    async def _find_refusal(self, failed: WorkflowRun) -> str | None:
        """Ask GitHub once to run it again; None if that begins, else why not."""
        if not failed.attempt:
            return "GitHub does not say how often it ran"
        try:
            in_vain = await self._was_asked_in_vain(failed)
        except (Forbidden, NotFound, Unprocessable) as refused:
            return refused.message.rstrip(".")
        return "GitHub began no second attempt within ten minutes" if in_vain else None

    async def _was_asked_in_vain(self, failed: WorkflowRun) -> bool:
        """Ask GitHub once; whether it began nothing long after that."""
        services, run, step = self.context.services, self.context.run, self.check.step_name(f"again {failed.id}")

        async def find() -> int | None:
            return NO_ID if (await services.host.workflow_run(run.repository, failed.id)).attempt > 1 else None

        async def ask() -> int:
            await services.host.rerun_failed_jobs(run.repository, failed.id)
            return NO_ID

        await write_once(services, run, step, _AGAIN, ask, find=find)
        return await self._has_waited(GRACE, step, _AGAIN)

    async def _may_run_again(self) -> bool:
        """Nothing is begun in a paused repository, nor unasked at automation level 0."""
        pauser = await permits.find_pauser(self.context.database, self.context.run.repository)
        return pauser is None and (self.is_asked or self.level > 0)

    async def _has_waited(self, long: timedelta, step: str = "", kind: str = "check") -> bool:
        """Whether so much time passed since a write, by default the creation of the check."""
        step = step or self.check.step_name("queued")
        started = await outbox.get_done_at(self.context.database, self.context.run.id, step, kind)
        return started is not None and self.context.now() - started >= long
