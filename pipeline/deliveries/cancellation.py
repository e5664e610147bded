"""Ends runs: because a pull request or an issue was closed, access was lost, or a person said so."""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, cast

import structlog
from pydantic import JsonValue

from domain.commands import EndInstallation, EndIssue, EndPullRequest, ResumeInstallation
from domain.errors import CodeHostError, Recovery
from domain.github.pull_requests import PullRequest
from domain.github.seen import EventSnapshot
from domain.runs.run import ReasonCode, RepositoryRef, Run
from memory.runs import outbox, runs, waits
from pipeline import consistent_reads
from pipeline.automation.level import learn_from_end
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.deliveries.admission import FencedPullRequest, load_with_fence
from pipeline.durable.journal import WorkflowJournal
from pipeline.feedback.reactions import record_thumbs
from pipeline.gates.ask import show_closed_gates
from pipeline.maintenance.purge import list_lost_repositories, purge
from pipeline.publishing import run_check
from pipeline.runs.closing import close_later
from pipeline.runs.owner import wake_owner
from pipeline.runs.status import close_status

log = structlog.get_logger(__name__)

_STALE_AFTER = timedelta(days=14)  # GitHub itself ends a check that was not completed by then

AnyEnd = EndPullRequest | EndIssue | EndInstallation | ResumeInstallation


class Cancellation:
    """Ends what a delivery puts an end to."""

    def __init__(self, services: Services, journal: WorkflowJournal, guid: str) -> None:
        self._services = services
        self._journal = journal
        self._guid = guid

    async def carry_out(self, command: AnyEnd) -> str:
        """Do what the command asks; what became of it."""
        match command:
            case EndPullRequest():
                return await self._end_pull_request(command)
            case EndIssue():
                return await self._end_issue(command)
            case EndInstallation():
                return await self._end_installation(command)
            case ResumeInstallation():
                return await self._close_open_checks(command)

    async def _end_pull_request(self, command: EndPullRequest) -> str:
        """End what runs on a pull request, unless it is open again: the event may be late."""
        ended, look = None, None
        while ended is None:
            look = None
            with contextlib.suppress(CodeHostError):  # if GitHub does not say, the event counts
                answer = await self._read_when_visible("look", lambda seen: self._reload(command, seen), command.seen)
                look = FencedPullRequest.model_validate(answer)
            if look is not None and look.pull_request.is_open:
                return "the pull request is open again"
            fence = None if look is None else look.fence
            ended = await self._end(command.repository, command.number, ReasonCode.closed, fence)
        live = await self._load_ended(command) if look is None else look.pull_request
        if live is not None and not live.is_open:
            await self._learn(command, live)
        await wake_owner(self._services, self._journal, command.repository, command.number, self._guid)
        if live is not None:
            await self._read_thumbs(command.repository, live)
        return _describe_count(len(ended))

    async def _load_ended(self, command: EndPullRequest) -> PullRequest | None:
        """The pull request, as soon as GitHub says; None if it never does.

        What runs there was ended at once. What its end teaches, a merge or a revert, is worth waiting for.
        """

        async def look() -> JsonValue:
            live = await self._services.host.pull_request(command.repository, command.number)
            return live.model_dump(mode="json")

        try:
            return PullRequest.model_validate(await self._journal.step("how it ended", look))
        except CodeHostError as error:
            log.warning("ending.not_learned", guid=self._guid, number=command.number, error=str(error))
            return None

    async def _read_when_visible(
        self, key: str, look: Callable[[EventSnapshot | None], Awaitable[JsonValue]], seen: EventSnapshot | None
    ) -> JsonValue:
        """Look without repeating what fails: what runs is not to go on meanwhile."""
        return await read_when_visible(self._services, self._journal.step_once, key, look, seen)

    async def _end_issue(self, command: EndIssue) -> str:
        """End what runs on an issue, unless it is open again: the event may be late."""
        is_open = False
        with contextlib.suppress(CodeHostError):  # if GitHub does not say, the event counts
            is_open = bool(
                await self._read_when_visible("look", lambda seen: self._is_open(command, seen), command.seen)
            )
        if is_open:
            return "the issue is open again"
        if await self._journal.step("was it merged", lambda: self._was_merged_by_run(command)):
            return "its pull request was merged"
        return _describe_count(len(await self.end(command.repository, command.number, ReasonCode.closed)))

    async def _end_installation(self, command: EndInstallation) -> str:
        installation_id, repository_ids = command.installation_id, command.repository_ids
        if repository_ids is not None and await self._journal.has_patch("what is lost is looked up"):
            repository_ids = await self._find_lost(installation_id, repository_ids)
            if not repository_ids:
                return "it is covered again"
        ended = _describe_count(await self._end_active(installation_id, repository_ids, ReasonCode.access_lost))
        if not command.is_for_good:
            return ended
        purged = await self._journal.step("purge", lambda: self._purge(installation_id, repository_ids))
        return f"{ended}, {purged} purged"

    async def _close_open_checks(self, command: ResumeInstallation) -> str:
        """Have the checks closed that could not be while Forge had no access."""
        answer = await self._journal.step("find", lambda: self._list_unclosed(command.installation_id))
        found = [Run.model_validate(run) for run in cast(list[Any], answer)]
        for run in found:
            await close_later(run, self._guid)
        return f"{len(found)} checks to close"

    async def end(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> Sequence[Run]:
        """End what runs on a pull request; the runs that were stopped."""
        return await self._end(repository, number, reason) or ()

    async def end_all(self, repository: RepositoryRef, reason: ReasonCode) -> int:
        """End what runs in a repository; how many runs that were."""
        return await self._end_active(repository.installation_id, (repository.id,), reason)

    async def _end_active(
        self, installation_id: int, repository_ids: tuple[int, ...] | None, reason: ReasonCode
    ) -> int:
        found = await self._journal.step("find", lambda: self._list_active(installation_id, repository_ids))
        active = cast(list[list[Any]], found)
        for repository, number in active:
            await self._end(RepositoryRef.model_validate(repository), number, reason)
        return len(active)

    async def _end(
        self, repository: RepositoryRef, number: int, reason: ReasonCode, seen_fence: int | None = None
    ) -> list[Run] | None:
        """End what runs on a pull request; None if something began there since ``seen_fence`` was seen."""
        stopped = await self._journal.step("end", lambda: self._end_runs(repository, number, reason, seen_fence))
        if stopped is None:
            return None
        ended = [Run.model_validate(run) for run in cast(list[Any], stopped)]
        await self.show_stopped(ended)
        return ended

    async def show_stopped(self, stopped: Sequence[Run]) -> None:
        """Show on GitHub at once that runs were stopped; each ends by itself at its next step or write."""
        for run in stopped:
            is_said = await self._journal.step("close the check", lambda run=run: self._close_check(run))
            if is_said is False:  # what waited for a person has nothing else that would
                await close_later(run, self._guid)
            if not run.is_of_issue:
                await wake_owner(self._services, self._journal, run.repository, run.number, self._guid)

    async def _reload(self, command: EndPullRequest, seen: EventSnapshot | None) -> JsonValue:
        return (await load_with_fence(self._services, command.repository, command.number, seen)).model_dump(mode="json")

    async def _was_merged_by_run(self, command: EndIssue) -> JsonValue:
        """Whether the issue was closed by merging what its run proposed: then the run finds that out by itself."""
        past = await runs.list_for_pull_request(self._services.database, command.repository.id, command.number)
        newest = past[0].run if past else None
        number = None if newest is None else await outbox.find_proposal(self._services.database, newest.id)
        if newest is None or newest.state.is_final or number is None:
            return False
        return (await self._services.host.pull_request(command.repository, number)).is_merged

    async def _is_open(self, command: EndIssue, seen: EventSnapshot | None) -> JsonValue:
        return (await consistent_reads.load_issue(self._services, command.repository, command.number, seen)).is_open

    async def _learn(self, command: EndPullRequest, live: PullRequest) -> None:
        await self._journal.step("learn from it", lambda: learn_from_end(self._services, command, live))

    async def _read_thumbs(self, repository: RepositoryRef, live: PullRequest) -> None:
        await self._journal.step("read the thumbs", lambda: record_thumbs(self._services, repository, live))

    async def _list_unclosed(self, installation_id: int) -> JsonValue:
        since = self._services.clock.now() - _STALE_AFTER
        found = await runs.list_access_lost(self._services.database, installation_id, since)
        return [run.model_dump(mode="json") for run in found]

    async def _find_lost(self, installation_id: int, repository_ids: tuple[int, ...]) -> tuple[int, ...]:
        """Which of these are lost now: the event may be late."""
        found = await self._journal.step("what is lost", lambda: self._list_lost(installation_id, repository_ids))
        return tuple(cast(list[int], found))

    async def _list_lost(self, installation_id: int, repository_ids: Sequence[int]) -> JsonValue:
        return [*await list_lost_repositories(self._services, installation_id, repository_ids)]

    async def _purge(self, installation_id: int, repository_ids: Sequence[int] | None) -> JsonValue:
        return await purge(self._services, installation_id, repository_ids)

    async def _close_check(self, run: Run) -> JsonValue:
        """Whether what shows a run is closed, or cannot be; if not, it is to be tried again."""
        await waits.end(self._services.database, run.id, self._services.clock.now())
        is_void = await _try_write(show_closed_gates(self._services, run))
        if run.reason is ReasonCode.closed and await run_check.has_concluded(self._services, run):
            return is_void  # its verdict came first, or the run finds that it did not
        return await _try_write(close_status(self._services, run)) and is_void

    async def _end_runs(
        self, repository: RepositoryRef, number: int, reason: ReasonCode, seen_fence: int | None
    ) -> JsonValue:
        stopped = await runs.end_all(
            self._services.database,
            repository.id,
            number,
            reason,
            self._guid,
            self._services.clock.now(),
            seen_fence,
        )
        return None if stopped is None else [run.model_dump(mode="json") for run in stopped]

    async def _list_active(self, installation_id: int, repository_ids: tuple[int, ...] | None) -> JsonValue:
        found = await runs.list_active(self._services.database, installation_id, repository_ids)
        return [[run.repository.model_dump(mode="json"), run.number] for run in found]


async def _try_write(saying: Awaitable[None]) -> bool:
    """Whether a last word was said, tried once; also where GitHub never takes it."""
    try:
        await saying
    except CodeHostError as error:
        return error.recovery not in {Recovery.wait, Recovery.retry}
    return True


def _describe_count(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'} ended"
