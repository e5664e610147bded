"""Ends runs: because a pull request or an issue was closed, access was lost, or a person stopped them."""

import contextlib
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import structlog

from domain.commands import EndInstallation, EndIssue, EndPullRequest, ResumeInstallation
from domain.errors import Behind, CodeHostError
from domain.github.installations import EventSnapshot, InstallationState
from domain.github.pull_requests import PullRequest
from domain.runs.run import ReasonCode, RepositoryRef, Run
from memory.runs import instructions, outbox, runs
from messages import deliveries as texts
from pipeline.automation.level import learn_from_end
from pipeline.consistent_reads import load_issue, read_when_visible
from pipeline.deliveries.admission import FencedPullRequest, load_with_fence
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.deployments import DeploymentStarter
from pipeline.feedback.reactions import record_thumbs
from pipeline.gates.actor import keep_authors_of_merge
from pipeline.maintenance.purge import list_lost_repositories, purge
from pipeline.runs.closing import close_later, try_to_close
from pipeline.runs.status import wake_owner

log = structlog.get_logger(__name__)

_STALE_AFTER = timedelta(days=14)  # GitHub ends a check that nobody completed by then


AnyEnd = EndPullRequest | EndIssue | EndInstallation | ResumeInstallation


class Cancellation:
    """Ends the runs that a delivery makes void."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context
        self._services = context.services
        self._database = context.services.database
        self._journal = context.journal

    async def carry_out(self, command: AnyEnd) -> str:
        """Do what the command asks; how that ended."""
        match command:
            case EndPullRequest():
                return await self._end_pull_request(command)
            case EndIssue():
                return await self._end_issue(command)
            case EndInstallation():
                return await self._end_installation(command)
            case ResumeInstallation():
                return await self._close_open_checks(command)

    async def end(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> Sequence[Run]:
        """End the runs on a pull request or issue; those that were stopped."""
        return [
            *(await self._end(repository, number, reason) or ()),
            *await self._end_beside(repository, number, reason),
        ]

    async def end_all(self, repository: RepositoryRef, reason: ReasonCode) -> int:
        """End the runs in a repository; how many numbers had one."""
        return await self._end_active(repository.installation_id, (repository.id,), reason)

    async def show_stopped(self, stopped: Sequence[Run]) -> None:
        """Show on GitHub at once that runs were stopped; each ends by itself at its next step or write."""
        for run in stopped:
            is_closed = await self._journal.step("close the check", self._close_check, run)
            if is_closed is False:
                await close_later(run, self._context.guid)  # nothing else closes a run that waited for a person
            if run.trigger.is_of_review:
                await wake_owner(self._services, self._journal, run.repository, run.number, self._context.guid)

    # --- pull requests ------------------------------------------------------------------------------------------

    async def _end_pull_request(self, command: EndPullRequest) -> str:
        """End the runs on a pull request, unless it is open again: the event may be late."""
        ended, look = None, None
        while ended is None:
            look = await self._reload(command)
            if look is not None and look.pull_request.is_open:
                return texts.REOPENED_PULL_REQUEST
            fence = None if look is None else look.fence
            ended = await self._end(command.repository, command.number, ReasonCode.closed, fence)
        ended += await self._end_beside(command.repository, command.number, ReasonCode.closed)
        live = await self._load_ended(command) if look is None else look.pull_request
        if live is not None and not live.is_open:
            if live.is_merged:  # first: whatever GitHub does not say for what follows
                await DeploymentStarter(self._context, self).start_merged(command, live)
                with contextlib.suppress(CodeHostError):
                    keep = keep_authors_of_merge
                    await self._journal.step("keep whose it is", keep, self._services, command.repository, live)
            await self._journal.step("learn from it", learn_from_end, self._services, command, live)
        await wake_owner(self._services, self._journal, command.repository, command.number, self._context.guid)
        if live is not None:
            await self._journal.step("read the thumbs", record_thumbs, self._services, command.repository, live)
        return texts.describe_ended(len(ended))

    async def _reload(self, command: EndPullRequest) -> FencedPullRequest | None:
        """Read the pull request once: its runs must stop soon. None if GitHub does not say; then the event counts."""
        look = partial(load_with_fence, self._services, command.repository, command.number)
        with contextlib.suppress(CodeHostError):
            return await read_when_visible(self._services, self._journal, "look", look, command.seen, is_repeated=False)
        return None

    async def _load_ended(self, command: EndPullRequest) -> PullRequest | None:
        """The pull request, as soon as GitHub says; None if it never does.

        Its runs have ended by now. Forge learns from a merge or a revert, so it can wait for the answer.
        """
        try:
            return await self._journal.step("how it ended", self._load_pull_request, command)
        except CodeHostError as error:
            log.warning("ending.not_learned", guid=self._context.guid, number=command.number, error=str(error))
            return None

    async def _load_pull_request(self, command: EndPullRequest) -> PullRequest:
        return await self._services.host.pull_request(command.repository, command.number)

    # --- issues -------------------------------------------------------------------------------------------------

    async def _end_issue(self, command: EndIssue) -> str:
        """End the runs on an issue, unless it is open again: the event may be late."""
        is_open, look = False, partial(self._is_open, command)
        with contextlib.suppress(CodeHostError):  # if GitHub does not say, the event counts
            is_open = await read_when_visible(
                self._services, self._journal, "look", look, command.seen, is_repeated=False
            )
        if is_open:
            return texts.REOPENED_ISSUE
        if await self._journal.step("was it merged", self._was_merged_by_run, command):
            return texts.MERGED
        return texts.describe_ended(len(await self.end(command.repository, command.number, ReasonCode.closed)))

    async def _is_open(self, command: EndIssue, seen: EventSnapshot | None) -> bool:
        return (await load_issue(self._services, command.repository, command.number, seen)).is_open

    async def _was_merged_by_run(self, command: EndIssue) -> bool:
        """Whether the merge of a run's own pull request closed the issue; then the run notices that by itself."""
        past = await runs.list_for_pull_request(self._database, command.repository.id, command.number)
        newest = past[0].run if past else None
        number = None if newest is None else await outbox.find_proposal(self._database, newest.id)
        if newest is None or newest.state.is_final or number is None:
            return False
        return (await self._services.host.pull_request(command.repository, number)).is_merged

    # --- installations ------------------------------------------------------------------------------------------

    async def _end_installation(self, command: EndInstallation) -> str:
        installation_id, repository_ids = command.installation_id, command.repository_ids
        if repository_ids is None:
            look = partial(self._is_installed, command)
            if await read_when_visible(self._services, self._journal, "is it installed", look, command.why):
                return texts.INSTALLED
        else:
            repository_ids = await self._journal.step("what is lost", self._list_lost, installation_id, repository_ids)
            if not repository_ids:
                return texts.COVERED_AGAIN
        ended = texts.describe_ended(await self._end_active(installation_id, repository_ids, ReasonCode.access_lost))
        if not command.is_for_good:
            return ended
        purged = await self._journal.step("purge", purge, self._services, installation_id, repository_ids)
        return texts.describe_purge(ended, purged)

    async def _is_installed(self, command: EndInstallation, told: str | None) -> bool:
        """Whether GitHub says otherwise than the event, which may be late, or not one of GitHub's.

        :param told: what the event told; None to take any answer.
        :raises Behind: GitHub may not show yet what the event told.
        """
        state = await self._services.host.installation_state(command.installation_id)
        is_active = state is InstallationState.active or (command.is_for_good and state is not InstallationState.gone)
        if is_active and told is not None:
            raise Behind("GitHub shows an installation that it called ended.", "Forge looks again.")
        return is_active

    async def _list_lost(self, installation_id: int, repository_ids: tuple[int, ...]) -> tuple[int, ...]:
        """The repositories that are lost now: the event may be late."""
        return tuple(await list_lost_repositories(self._services, installation_id, repository_ids))

    async def _close_open_checks(self, command: ResumeInstallation) -> str:
        """Close the checks that Forge could not close while it had no access."""
        found = await self._journal.step("find", self._list_unclosed, command.installation_id)
        for run in found:
            await close_later(run, self._context.guid)
        return texts.describe_unclosed(len(found))

    async def _list_unclosed(self, installation_id: int) -> list[Run]:
        since = self._services.clock.now() - _STALE_AFTER
        return [*await runs.list_access_lost(self._database, installation_id, since)]

    async def _end_active(
        self, installation_id: int, repository_ids: tuple[int, ...] | None, reason: ReasonCode
    ) -> int:
        active = await self._journal.step("find", self._list_active, installation_id, repository_ids)
        for repository, number in active:
            await self._end(repository, number, reason)
        return len(active)

    async def _list_active(
        self, installation_id: int, repository_ids: tuple[int, ...] | None
    ) -> list[tuple[RepositoryRef, int]]:
        found = await runs.list_active(self._database, installation_id, repository_ids)
        return [(run.repository, run.fence_number) for run in found]

    # --- one run ------------------------------------------------------------------------------------------------

    async def _end(
        self, repository: RepositoryRef, number: int, reason: ReasonCode, seen_fence: int | None = None
    ) -> list[Run] | None:
        """End the runs on a pull request; None if a run began there since ``seen_fence`` was read."""
        stopped = await self._journal.step("end", self._end_runs, repository, number, reason, seen_fence)
        if stopped is not None:
            await self.show_stopped(stopped)
        return stopped

    async def _end_beside(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> list[Run]:
        """End the instructions on a pull request, whose fencing tokens are their own."""
        lanes = await self._journal.step("what is asked here", self._list_lanes, repository, number)
        return [run for lane in lanes for run in await self._end(repository, lane, reason) or ()]

    async def _list_lanes(self, repository: RepositoryRef, number: int) -> list[int]:
        return [run.fence_number for run in await instructions.list_open(self._database, repository.id, number)]

    async def _end_runs(
        self, repository: RepositoryRef, number: int, reason: ReasonCode, seen_fence: int | None
    ) -> list[Run] | None:
        stopped = await runs.end_all(
            self._database,
            repository.id,
            number,
            reason,
            self._context.guid,
            self._services.clock.now(),
            seen_fence,
        )
        return None if stopped is None else [*stopped]

    async def _close_check(self, run: Run) -> bool | None:
        """Close what shows a run; False if that has to be tried again."""
        return await try_to_close(self._services, run)
