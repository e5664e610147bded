"""Loads the results of a repository's own workflows on a head."""

from dataclasses import dataclass
from datetime import timedelta

from agents.testing import actions
from domain.runs.testing import TestRun
from domain.text.redaction import redact_outgoing
from memory.runs import outbox
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


@dataclass(frozen=True)
class WorkflowResults:
    """The workflows on one head.

    :param check: its creation is the moment from which the waiting time counts.
    """

    context: RunContext
    check: HeadTestCheck

    async def load(self) -> TestRun | None:
        """Their results; None while one runs or may still start."""
        host, repository, head = self.context.services.host, self.context.run.repository, self.check.head
        found = await host.workflow_runs(repository, head)
        relevant = actions.find_relevant_runs(found)
        if not relevant and await self._has_waited(GRACE):
            return TestRun(not_run=_NO_WORKFLOW)
        jobs = {each.id: await host.jobs(repository, each.id) for each in relevant}
        wanted = [job for each in jobs.values() for job in each if actions.wants_log(job)][:_MAX_LOGS]
        logs = {job.id: await host.job_log(repository, job.id, actions.MOST_LOG) for job in wanted}
        redacted = {number: redact_outgoing(log) for number, log in logs.items() if log is not None}
        ran = actions.build_test_run(found, jobs, redacted)
        return TestRun(not_run=_NOT_ENDED) if ran is None and await self._has_waited(_PATIENCE) else ran

    async def _has_waited(self, long: timedelta) -> bool:
        step = self.check.step_name("queued")
        started = await outbox.get_done_at(self.context.database, self.context.run.id, step, "check")
        return started is not None and self.context.now() - started >= long
