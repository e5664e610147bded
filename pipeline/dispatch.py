"""What a delivery asks for, done: a short durable workflow that admits, supersedes and ends runs."""

import contextlib
from collections.abc import Sequence
from typing import Any, cast

import structlog
from dbos import DBOS
from pydantic import BaseModel, JsonValue

from domain import texts
from domain.commands import (
    AnyCommand,
    EndInstallation,
    EndPullRequest,
    Repeat,
    ReviewCheckedHead,
    ReviewPullRequest,
)
from domain.errors import Forbidden, ForgeError, NotFound, Superseded, Unauthorized
from domain.ports import PullRequest
from domain.runs import ReasonCode, RepositoryRef, Run
from domain.texts import CheckText
from memory import deliveries, runs
from memory.runs import Candidate
from pipeline.journal import WorkflowJournal
from pipeline.names import APP_VERSION, RUN, RUNS
from pipeline.services import Services
from safety.authority import refusal

log = structlog.get_logger(__name__)


class _Look(BaseModel):
    """The pull request at this moment, and the fencing token from just before."""

    fence: int
    pull_request: PullRequest


class _Admitted(BaseModel):
    run: Run | None
    superseded: tuple[Run, ...]
    stale: bool


class Dispatch:
    """One delivery on its way. Its outcome, in a few words, ends up in the deliveries table."""

    def __init__(self, services: Services, guid: str, command: AnyCommand) -> None:
        self._services = services
        self._guid = guid
        self._command = command
        self._journal = WorkflowJournal(services, guid)

    async def execute(self) -> str:
        """Do what the command asks and record what became of it."""
        try:
            outcome = await self._act(self._command)
        except ForgeError as error:
            log.warning("delivery.failed", guid=self._guid, error=str(error))
            outcome = f"failed: {error.message}"

        async def finish() -> JsonValue:
            await deliveries.finish(self._services.database, self._guid, outcome, self._services.clock.now())
            return None

        await self._journal.step("finish", finish)
        return outcome

    async def _act(self, command: AnyCommand) -> str:
        match command:
            case ReviewPullRequest():
                return await self._review(command)
            case ReviewCheckedHead():
                return await self._review_again(command)
            case EndPullRequest():
                return await self._end(command.repository, command.number, ReasonCode.closed, texts.closed())
            case EndInstallation():
                return await self._end_installation(command)

    async def _review(self, command: ReviewPullRequest) -> str:
        while True:
            look = _Look.model_validate(await self._journal.step("look", lambda: self._look(command)))
            if not look.pull_request.is_open:
                return "the pull request is closed"
            answer = await self._journal.step("admit", lambda look=look: self._admit(command, look))
            admitted = _Admitted.model_validate(answer)
            if not admitted.stale:
                break
        if admitted.run is None:
            return "this head was reviewed before"
        await self._start(admitted.run, admitted.superseded)
        return f"run {admitted.run.id}"

    async def _review_again(self, command: ReviewCheckedHead) -> str:
        refused = await self._journal.step("ask for permission", lambda: self._refusal(command))
        if refused is not None:
            return str(refused)
        numbers = cast(list[int], await self._journal.step("find", lambda: self._numbers(command)))
        again = [
            ReviewPullRequest(
                repository=command.repository,
                number=number,
                head_sha=command.head_sha,
                trigger=command.trigger,
                repeat=Repeat.always,
                sender=command.sender,
            )
            for number in numbers
        ]
        return ", ".join([await self._review(each) for each in again]) or "no open pull request has this head"

    async def _end_installation(self, command: EndInstallation) -> str:
        active = cast(list[list[Any]], await self._journal.step("find", lambda: self._active(command)))
        for repository, number in active:
            await self._end(
                RepositoryRef.model_validate(repository), number, ReasonCode.access_lost, texts.access_lost()
            )
        return f"{len(active)} runs ended"

    async def _start(self, run: Run, superseded: Sequence[Run]) -> None:
        """Show the first sign, stop what the run supersedes, then queue its work."""
        lost = await self._journal.step("first sign", lambda: self._open_check(run))
        await self._stop(superseded, texts.superseded())
        if not lost:
            await DBOS.enqueue_workflow_with_options_async(
                {
                    "workflow_name": RUN,
                    "queue_name": RUNS,
                    "workflow_id": run.id,
                    "app_version": APP_VERSION,
                    "queue_partition_key": f"{run.repository.id}#{run.number}",
                },
                run.id,
            )

    async def _end(self, repository: RepositoryRef, number: int, reason: ReasonCode, text: CheckText) -> str:
        stopped = await self._journal.step("end", lambda: self._end_runs(repository, number, reason))
        ended = [Run.model_validate(run) for run in cast(list[Any], stopped)]
        await self._stop(ended, text)
        return f"{len(ended)} runs ended"

    async def _stop(self, stopped: Sequence[Run], text: CheckText) -> None:
        for run in stopped:
            await DBOS.cancel_workflow_async(run.id)  # changes nothing where it was not queued yet
            await self._journal.step("close the check", lambda run=run: self._close_check(run, text))

    async def _look(self, command: ReviewPullRequest) -> JsonValue:
        fence = await runs.fence(self._services.database, command.repository.id, command.number)
        pull_request = await self._services.host.pull_request(command.repository, command.number)
        return _Look(fence=fence, pull_request=pull_request).model_dump(mode="json")

    async def _admit(self, command: ReviewPullRequest, look: _Look) -> JsonValue:
        candidate = Candidate(
            admitted_by=f"{self._guid}#{command.number}",
            repository=command.repository,
            number=command.number,
            head_sha=look.pull_request.head_sha,
            base_sha=look.pull_request.base_sha,
            trigger=command.trigger,
            repeat=command.repeat,
        )
        admission = await runs.admit(self._services.database, candidate, look.fence, self._services.clock.now())
        return _Admitted.model_validate(admission, from_attributes=True).model_dump(mode="json")

    async def _open_check(self, run: Run) -> JsonValue:
        """Whether the run lost its pull request to a newer one meanwhile."""
        try:
            await self._services.publisher.open_check(run)
        except Superseded:
            return True
        return False

    async def _close_check(self, run: Run, text: CheckText) -> JsonValue:
        with contextlib.suppress(Forbidden, NotFound, Unauthorized):  # where access was lost nothing can be closed
            await self._services.publisher.close(run, text)
        return None

    async def _refusal(self, command: ReviewCheckedHead) -> JsonValue:
        role = await self._services.host.permission(command.repository, command.sender.login, command.sender.id)
        return refusal(role, "triage")

    async def _numbers(self, command: ReviewCheckedHead) -> JsonValue:
        """The pull requests a check belongs to: by its run, by our runs on its head, or by asking GitHub."""
        run = await runs.get(self._services.database, command.run_id) if command.run_id else None
        if run is not None and run.repository.id == command.repository.id:
            return [run.number]
        known = await runs.of_head(self._services.database, command.repository.id, command.head_sha)
        if known:
            return [*sorted({run.number for run in known})]
        found = await self._services.host.open_pull_requests(command.repository, command.head_sha)
        return [pull_request.number for pull_request in found]

    async def _end_runs(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> JsonValue:
        stopped = await runs.end_all(
            self._services.database,
            repository.id,
            number,
            reason,
            f"ended by delivery {self._guid}",
            self._services.clock.now(),
        )
        return [run.model_dump(mode="json") for run in stopped]

    async def _active(self, command: EndInstallation) -> JsonValue:
        found = await runs.active_of_installation(
            self._services.database, command.installation_id, command.repository_ids
        )
        return [[run.repository.model_dump(mode="json"), run.number] for run in found]
