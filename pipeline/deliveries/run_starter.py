"""Starts and resumes runs: admits them, shows their status, queues them, and closes the runs they supersede."""

from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from domain.commands import ReviewPullRequest
from domain.errors import CodeHostError, Halted, Superseded
from domain.github.installations import EventSnapshot
from domain.runs.run import ExecutionMode, NotStarted, RepositoryRef, Resumed, Run, RunStart, RunState, Started, Trigger
from memory.runs import runs, waits
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.deliveries import retry
from pipeline.deliveries.admission import Admitted, admit_issue, admit_review
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.context import DeliveryContext
from pipeline.durable.queues import enqueue_resume, enqueue_run
from pipeline.gates.actor import PermissionCheck, skip_check
from pipeline.issue.test_command import enqueue_test, find_run_on_head
from pipeline.runs.status import open_status
from pipeline.verdicts.approval import withdraw_approvals
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)


class RunStarter:
    """Starts runs for one delivery.

    :param may: asked again in the step that admits the run (T-P15).
    """

    def __init__(self, context: DeliveryContext, may: PermissionCheck = skip_check) -> None:
        self._context = context
        self._may = may

    async def start_review(self, command: ReviewPullRequest) -> RunStart:
        """Start a run on the live head, unless that head was reviewed before."""
        admitted = await self._admit("admit", partial(self._admit_review, command), command.seen)
        return await self._start(admitted)

    async def start_issue_run(
        self,
        repository: RepositoryRef,
        number: int,
        trigger: Trigger,
        seen: EventSnapshot | None,
        mode: ExecutionMode | None = None,
    ) -> RunStart:
        """Start a run of an issue, unless one works on it."""
        admit = partial(self._admit_issue, repository, number, trigger, mode)
        return await self._start(await self._admit("admit", admit, seen))

    async def resume(self, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> RunStart:
        """Resume the newest run of an issue."""
        return await self._take_up(await self._admit("resume", partial(self._resume, repository, number), seen))

    async def retry(self, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> RunStart:
        """Repeat the failed phase of the newest run of an issue."""
        return await self._take_up(await self._admit("retry", partial(self._retry, repository, number), seen))

    async def start_tests(self, repository: RepositoryRef, number: int, head: str) -> RunStart:
        """Queue the tests of a head for the newest run on the pull request, if it is about that head."""
        run = await self._context.journal.step("whose head it is", self._find_run, repository, number, head)
        if run is None:
            return NotStarted("")
        await enqueue_test(run, self._context.guid)
        return Started(run.id)

    async def _admit(
        self, key: str, admit: Callable[[EventSnapshot | None], Awaitable[Admitted]], seen: EventSnapshot | None
    ) -> Admitted:
        return await read_when_visible(self._context.services, self._context.journal, key, admit, seen)

    async def _admit_review(self, command: ReviewPullRequest, seen: EventSnapshot | None) -> Admitted:
        await self._require_permission(command.number)
        return await admit_review(self._context.services, self._context.guid, command, seen)

    async def _admit_issue(
        self,
        repository: RepositoryRef,
        number: int,
        trigger: Trigger,
        mode: ExecutionMode | None,
        seen: EventSnapshot | None,
    ) -> Admitted:
        await self._require_permission(number)
        return await admit_issue(self._context.services, self._context.guid, repository, number, trigger, seen, mode)

    async def _resume(self, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> Admitted:
        await self._require_permission(number)
        return await retry.resume(self._context.services, self._context.guid, repository, number, seen)

    async def _retry(self, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> Admitted:
        await self._require_permission(number)
        return await retry.retry(self._context.services, self._context.guid, repository, number, seen)

    async def _find_run(self, repository: RepositoryRef, number: int, head: str) -> Run | None:
        await self._may()
        return await find_run_on_head(self._context.services, repository, number, head)

    async def _require_permission(self, number: int) -> None:
        """Ask whether the sender still may, unless an execution of this step that died admitted the run.

        :raises NotAllowed: they may not.
        """
        if await runs.find_admission(self._context.services.database, f"{self._context.guid}#{number}") is None:
            await self._may()

    async def _take_up(self, admitted: Admitted) -> RunStart:
        """Queue the same run again, with all it has; or start the one that was admitted in its place."""
        if admitted.run is None or admitted.run.state is not RunState.waiting:
            return await self._start(admitted)
        await enqueue_resume(admitted.run, self._context.guid)
        return Resumed(admitted.run.id)

    async def _start(self, admitted: Admitted) -> RunStart:
        """Queue an admitted run, also if another one superseded it meanwhile: it closes its own check."""
        run = admitted.run
        if run is None:
            return NotStarted(admitted.why, admitted.is_at_level_0)
        await self._context.journal.step("first sign", _open_status, self._context.services, run)
        await enqueue_run(run)
        await Cancellation(self._context).show_stopped(admitted.superseded)
        return Started(run.id)


async def _open_status(services: Services, run: Run) -> None:
    """Show that the run was admitted, if GitHub allows it now. Otherwise the run shows it, and why it waits.

    Ends all waits on the pull request: their workflows would keep this run waiting.
    """
    await waits.end_for_pull_request(services.database, run.repository.id, run.number, services.clock.now())
    if not run.is_of_issue:
        await _withdraw_approvals(services, run)
    try:
        with use_importance(Importance.informing):
            await open_status(services, run)
    except (CodeHostError, Halted, Superseded) as error:
        log.info("first_sign.put_off", run=run.id, error=str(error))


async def _withdraw_approvals(services: Services, run: Run) -> None:
    """An approval must not outlast the status, which Forge leaves out where it has much to write."""
    try:
        await withdraw_approvals(services, run)
    except (CodeHostError, Halted) as error:
        log.info("approval.withdrawn_later", run=run.id, error=str(error))
